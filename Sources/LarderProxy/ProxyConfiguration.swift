// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO
package import LarderSettings
package import LarderUpstream

/// The proxy's configuration until the next reload: the settings and everything derived from them once.
package final class ProxyConfiguration: Sendable {
    package let settings: Settings
    package let router: Router
    /// The name of this Larder in requests.
    package let pseudonym: Pseudonym
    /// The variables used by services; nil where there are none.
    package let variables: VariableStore?
    /// `Via` in responses: the same for every Larder, as pages can read it.
    package static let via = "1.1 larder"
    package let parseLimits: ParseLimits
    /// A response field that is removed for clients.
    let hiddenField: FieldName?
    let upstreamSettings: UpstreamSettings
    /// The largest content in the memory tier: a sixteenth of it, and never more than 4 MiB or `cache.maxObject`.
    let memoryObjectLimit: Int
    /// The largest content that is collected for the pipeline.
    let transformedContentLimit: Int
    /// The TLS configuration of `tls.listen`.
    let tls: TLSServerContext?
    /// Stands for the content of `tls.clientCA`; nil without one.
    let clientAuthorities: String?
    /// The users who may use the proxy; nil if clients need no credentials.
    let users: UserGate?
    /// The https hosts that are intercepted.
    package let interception: InterceptionRules

    package init(
        settings: Settings, router: Router, pseudonym: Pseudonym, upstreamSettings: UpstreamSettings,
        variables: VariableStore? = nil, tls: TLSServerContext? = nil, clientAuthorities: String? = nil,
        users: UserGate? = nil
    ) {
        self.tls = tls
        self.clientAuthorities = clientAuthorities
        self.users = users
        self.variables = variables
        self.settings = settings
        self.router = router
        self.pseudonym = pseudonym
        self.upstreamSettings = upstreamSettings
        memoryObjectLimit = ProxyConfiguration.memoryObjectLimit(settings.cache)
        transformedContentLimit = settings.limits.transformedContent.bytes
        interception = InterceptionRules(settings)
        hiddenField = settings.cache.hideSurrogateKey ? settings.cache.surrogateKey : nil
        parseLimits = ParseLimits(
            startLine: settings.limits.targetLength.bytes + 64, headerSection: settings.limits.headSize.bytes,
            fieldLines: settings.limits.fieldLines)
    }

    /// The largest content in the memory tier.
    package static func memoryObjectLimit(_ cache: Settings.Cache) -> Int {
        min(4 << 20, cache.memory.bytes / 16, cache.maxObject.bytes)
    }

    /// Distinguishes it from every other existing configuration.
    var address: UInt { UInt(bitPattern: Unmanaged.passUnretained(self).toOpaque()) }
    /// `Via` in a request to the origin of `uri`.
    func via(to uri: TargetURI) -> String { "1.1 \(pseudonym.name(for: uri.origin))" }

    /// True if a connection whose requests are all of one client may go on.
    func admits(_ principal: Principal?) -> Bool {
        guard let users, let principal else { return true }
        return users.admits(principal)
    }

    /// True if a client at `address` is served: on this machine always, elsewhere if the access list contains it.
    func allows(_ address: SocketAddress) -> Bool {
        address.isLoopback || settings.access.allow.contains { $0.contains(address) }
    }
}
