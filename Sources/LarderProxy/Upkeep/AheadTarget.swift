// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
package import LarderRules
import LarderSettings

/// A resource as it would be loaded without a client.
struct AheadTarget: Sendable {
    let key: ResourceKey
    let subject: ResourceSubject

    /// Nil if the URL of the resource is not a URL of an origin.
    init?(_ resource: Resource, _ service: RoutedService) {
        guard let subject = ResourceSubject(resource.key, service) else { return nil }
        (key, self.subject) = (resource.key, subject)
    }

    /// The resource at `uri` for requests without a client.
    init(_ uri: TargetURI, _ service: RoutedService) {
        subject = ResourceSubject(service: service, uri: uri)
        key = subject.key(in: service.partition(of: Fields(), for: uri, from: .machine))
    }

    private init(key: ResourceKey, subject: ResourceSubject) { (self.key, self.subject) = (key, subject) }

    /// The same by another configuration.
    func of(_ service: RoutedService) -> AheadTarget {
        AheadTarget(
            key: key,
            subject: ResourceSubject(service: service, uri: subject.uri, spelling: subject.spelling))
    }

    /// - Parameter sent: the request of the client whose response it is; nil if that is not known any more.
    func eligibility(of variant: Variant, sent: Fields?, _ configuration: EffectiveConfiguration) -> AheadEligibility {
        let own = subject.service.partition(of: Fields(), for: subject.uri, from: .machine)
        return AheadEligibility.decide(
            variant, of: key.plainURL, isOfUser: key.partitionName != own.name, isKeyedByContent: key.hasMark,
            sent: sent, policy: configuration.policy, configured: configuration.frozen.configuration.fields)
    }
}

/// The eligibility of a stored response for validation without a client, and the request to send.
package enum AheadEligibility: Sendable, Equatable {
    /// The request has these fields besides the fields of the configuration.
    case eligible(Fields)
    case ineligible(Reason)

    package enum Reason: String, Sendable {
        /// It is a part, an error, an override, or the response to one request alone.
        case notRepeatable
        /// Content is part of its key, and not kept.
        case keyedByContent
        /// It is in the partition of a user, or of clients elsewhere.
        case ofOneUser
        /// A client's credentials were part of the request or its URL, or may have been.
        case credentials
    }

    /// - Parameters:
    ///   - url: as the client wrote it.
    ///   - sent: the request of the client whose response it is; nil if that is not known any more.
    ///   - configured: the fields that the configuration sets and removes: clients' own are not sent.
    package static func decide(
        _ variant: Variant, of url: String, isOfUser: Bool, isKeyedByContent: Bool, sent: Fields?, policy: CachePolicy,
        configured: ConfiguredFields
    ) -> AheadEligibility {
        let stored = variant.stored
        guard !stored.isPartial, !stored.status.isError, !variant.isOverride, !stored.variance.matchesNothing else {
            return .ineligible(.notRepeatable)
        }
        if isKeyedByContent { return .ineligible(.keyedByContent) }
        if isOfUser { return .ineligible(.ofOneUser) }
        if SecretText.scrubbed(url: url) != url { return .ineligible(.credentials) }
        let own = configured.removed.union(configured.set.names)
        if let sent {
            guard Credentials.all(in: sent).allSatisfy(own.contains) else { return .ineligible(.credentials) }
        } else {
            // With one user, nothing tells whether a stored response is that user's.
            guard policy.role == .shared, !stored.facts.isPersonal,
                !stored.requestWasAuthorized || own.contains(.authorization)
            else { return .ineligible(.credentials) }
        }
        var fields: Fields = ["Accept": "*/*", "User-Agent": "larder/\(LarderVersion.current)"]
        for selector in stored.variance.selectors where !own.contains(selector.name) {
            guard !SecretName.isOne(field: selector.name) || selector.value == nil else {
                return .ineligible(.credentials)
            }
            fields.remove(selector.name)
            selector.value?.withUnsafeBytes { fields.append(selector.name, bytes: $0) }
        }
        return .eligible(fields)
    }
}
