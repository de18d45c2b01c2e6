// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderStores

/// A response that an operator sets in place of the origin's.
package struct Override: Sendable {
    package var content: [UInt8]
    package var type: MediaType
    /// How long the origin is not asked; nil for the configured lifetime of responses without one.
    package var lifetime: Duration?

    package init(content: [UInt8], type: MediaType, lifetime: Duration? = nil) {
        self.content = content
        self.type = type
        self.lifetime = lifetime
    }

    /// The lifetime if neither the override nor the configuration specifies one: the lifetime of a service's data.
    package static let usualLifetime = Duration.seconds(30)
}

extension Proxy {
    /// Sets `override` as the response of a resource: for clients whose requests contain `fields`, where the service
    /// separates clients, else for all.
    ///
    /// It is in memory only, and stored responses are removed. Loads under way do not replace it; later ones, which do
    /// not validate it, end it. So do wipes and writes.
    package func override(
        _ subject: ResourceSubject, with override: Override, fields: Fields, from network: ClientNetwork
    ) throws(Problem) -> (variant: Variant, partition: Larder.Partition) {
        let service = subject.service
        let partition = service.partition(of: fields, for: subject.uri, from: network)
        let configuration = service.configuration(for: subject.uri, method: subject.method)
        guard configuration.caches else { throw .notOverridden(by: service.name) }
        let limit = self.configuration.memoryObjectLimit
        guard override.content.count <= limit else {
            throw .overrideTooLarge(override.content.count, limit: limit)
        }
        let variant = variant(of: override, for: subject, configuration)
        let resource = subject.resource(in: partition, of: registry)
        guard overrides.place(variant, in: resource, of: registry) else { throw .tooManyOverrides }
        // A load that ended just before has written its response; loads that end later are superseded.
        diskTier?.removeAll(of: resource, service: service, because: .superseded)
        emptyOwnCaches(of: resource, service)
        return (variant, partition)
    }

    /// The variant has no validators for the origin. Clients get tags of the override and must revalidate each time:
    /// otherwise they could not notice the end of the override (T-17).
    func variant(
        of override: Override, for subject: ResourceSubject, _ configuration: EffectiveConfiguration
    ) -> Variant {
        let now = now
        let length = override.content.count
        let lasting = override.lifetime ?? configuration.policy.expirationTime ?? Override.usualLifetime
        var policy = configuration.policy
        policy.expirationMode = .fallback
        var fields: Fields = ["Content-Type": "\(override.type)", "Date": HTTPDate.string(now)]
        var shown = fields
        fields[.cacheControl] = "max-age=\(lasting.wholeSeconds)"
        shown[.cacheControl] = "private, no-cache"
        shown[.eTag] = "\"override-\(ContentDigest(of: override.content).hexadecimal.prefix(32))\""
        let stored = StoredResponse(
            requestMethod: subject.method, status: 200, fields: fields, requestTime: now, responseTime: now,
            contentLength: Int64(length), policy: policy)
        return Variant(
            stored: stored, content: .memory(length == 0 ? [] : [ContentChunk(override.content)], length: length),
            storedAt: now, via: ProxyConfiguration.via, fingerprint: configuration.fingerprint,
            rendition: Rendition(
                status: 200, fields: shown, originStatus: 200, isPromoted: false, isOverride: true))
    }
}

extension Problem {
    fileprivate static func notOverridden(by service: String) -> Problem {
        Problem(
            status: 409, title: "Not cached", proxyError: .proxyConfigurationError,
            detail: "The configuration of ‘\(service)’ keeps nothing for this URL (`cache: none`), so nothing can "
                + "stand in for what the origin says.",
            advice: "Take `cache: none` out of its configure block, or answer with `respond` in `decorate`.")
    }

    fileprivate static func overrideTooLarge(_ octets: Int, limit: Int) -> Problem {
        Problem(
            status: 413, title: "Too large", proxyError: .httpRequestError,
            detail: "The content has \(octets) octets; in memory, where overrides are, a content may have \(limit).",
            advice: "Override with less, or raise `cache.memory`.")
    }

    fileprivate static let tooManyOverrides = Problem(
        status: 409, title: "Too many overrides", proxyError: .proxyInternalResponse,
        detail: "Overrides are never evicted, so there may be 1024 of them, in a quarter of `cache.memory`.",
        advice: "End some with `larder wipe URL` or `larder load URL`.")
}

extension Override {
    private static let longestLifetime = Duration.seconds(365 * 86_400)

    /// The reason why a text is no lifetime of an override.
    package struct NotALifetime: Error {
        /// Names `longestLifetime`.
        package static let expected = "a duration from 1 s to 365 days with its unit"

        /// The text that was probably meant.
        package var suggestion: String?
    }

    /// A lifetime in the format of the configuration; at least a second, the unit of HTTP.
    package static func lifetime(_ text: String) throws(NotALifetime) -> Duration {
        switch UnitText.duration.read(text) {
        case .success(let nanoseconds):
            let lifetime = Duration.nanoseconds(nanoseconds)
            guard Duration.seconds(1)...longestLifetime ~= lifetime else { throw NotALifetime() }
            return lifetime
        case .failure(.noUnit(let suggestion)): throw NotALifetime(suggestion: suggestion)
        case .failure(.unknownUnit(_, let suggestion)): throw NotALifetime(suggestion: suggestion)
        case .failure: throw NotALifetime()
        }
    }
}
