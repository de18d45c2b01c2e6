// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderRules

/// One API: its URL, how clients reach it, and how its resources are handled.
package struct ServiceSettings: Sendable {
    /// Lower-case letters, digits and `-`; it is a host label (`<name>.localhost`) and a path segment.
    package var name = ""
    /// The preset that supplies this service's initial settings.
    package var preset: String?
    /// The service's own credential, until the preset has placed it.
    package var token: Secret?
    package var baseURL = BaseURL.placeholder
    /// Path prefix of the service in gateway mode, with a slash at both ends; nil means `/<name>/`.
    package var mount: String?
    package var privacy = ServicePrivacy.shared
    /// The parts of a request that identify a client; nil means all fields that look like credentials.
    package var identity: [Identity.Part]?
    /// True if users' own parts of the cache are shared with other daemons.
    package var sharesPartitions = false
    /// Query parameters to remove, by their names or globs of these.
    package var ignoreQuery: [NamePattern] = []
    /// Hosts besides the host of `baseURL` for resources of this service.
    package var allowHosts: [HostPattern] = []
    /// TLS settings for the origin of `baseURL`.
    package var tls = ServiceTLS()
    package var browsers = BrowserSettings()
    /// The proxy through which the origin is reached; nil means `upstream.parent`.
    package var parent: ParentProxy?
    /// The service's offline mode; nil means the global setting.
    package var offline: OfflineMode?
    /// How many superseded responses are kept of each variant.
    package var history = 0
    /// Parse responses before the transformers of any block.
    package var standardTransformers: [StandardName] = []
    /// In the order of the file; the first that matches a request is applied.
    package var routes: [RouteRule] = []
    /// How many requests of a quota are reserved for writes and operators; nil for none.
    package var quotaReserve: Int?
    /// Prices of language models, for the report of savings.
    package var prices: [ModelPrice] = []
    /// In the order of the file; a later one overrides an earlier one.
    package var configure: [ConfigureBlock] = []
    /// The configuration by the program that supplies the service, before `configure`; not settable in files.
    package var declare: (@Sendable (Service) -> Void)?

    package init() {}

    /// The path prefix, given or by default.
    package var effectiveMount: String { mount ?? "/\(name)/" }
}

/// A service's TLS settings for its origin.
package struct ServiceTLS: Sendable, Hashable {
    /// PEM certificates of additional trusted authorities.
    package var caFile: String?
    /// PEM files of Larder's client certificate and its key.
    package var certificate: String?
    package var key: String?
    /// The name that the origin must prove, in place of the host of `baseURL`.
    package var serverName: String?

    package init() {}
}

/// The web pages that may use a service.
package struct BrowserSettings: Sendable {
    /// The origins of pages that may use it through the gateway.
    package var allow: [WebOrigin] = []
}

/// The clients that may get a stored response.
package enum ServicePrivacy: String, Sendable, CaseIterable {
    /// All clients, as RFC 9111 §3.5 permits a shared cache.
    case shared
    /// Clients recognised as the same user, by `identity`.
    case partitioned
    /// One user: responses marked `private` are stored too.
    case `private`
}
