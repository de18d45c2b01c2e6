// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderSettings
import LarderShared

/// The rules for sharing with other daemons, as functions of values.
struct SharingRules: Sendable {
    let choice: SharedCacheChoice
    /// Bytes of content.
    let limit: Int64

    /// The detail in `Cache-Status` of a response that another daemon had stored.
    static let detail = "shared"

    /// True if responses of a service may be shared, as far as its settings say. Not where clients are told apart, and
    /// not where requests or responses depend on this daemon's configuration.
    func mayAllow(_ settings: ServiceSettings, isUnclaimed: Bool) -> Bool {
        if isUnclaimed { return choice != .services }
        guard settings.declare == nil else { return false }
        return settings.privacy == .partitioned
            ? settings.sharesPartitions : choice != .unclaimed && settings.privacy == .shared
    }

    /// True if responses of a service may be shared at all.
    func allows(_ service: RoutedService) -> Bool {
        guard mayAllow(service.settings, isUnclaimed: service.base == nil) else { return false }
        if service.base == nil { return true }
        return service.settings.privacy == .partitioned ? service.isIdentifiedByFields : !service.hasPartitions
    }

    /// The key in the shared tier of the Resource for a URL in its normal form; nil if the Resource is not shared.
    ///
    /// - Parameter fields: the fields of the request, which identify its user.
    func key(
        of uri: TargetURI, in partition: Larder.Partition, for fields: Fields, _ service: RoutedService,
        _ configuration: EffectiveConfiguration, _ state: SharedState
    ) -> SharedKey? {
        guard allows(service), configuration.caches, configuration.fingerprint == 0,
            !configuration.mayTransform,
            !configuration.hasOwnCaches, !configuration.isProgrammed, configuration.decorators == nil,
            !service.addsCredentials(to: uri, method: .get), service.base != nil || !SharingRules.isOwn(uri),
            !SharingRules.hasSecret(uri)
        else { return nil }
        let key = SharingRules.key(of: uri, service)
        if partition == .shared { return key }
        guard service.settings.privacy == .partitioned else { return nil }
        return service.identity(of: fields, in: partition).map { state.own(key, of: $0) }
    }

    static func key(of uri: TargetURI, _ service: RoutedService) -> SharedKey {
        SharedKey(service: service.name, base: service.base?.string ?? "", url: Array(uri.string.utf8))
    }

    /// True if a URL contains a credential, by the names of its parameters or as user information: neither its
    /// responses nor the URL itself leaves this daemon.
    static func hasSecret(_ uri: TargetURI) -> Bool { SecretText.scrubbed(url: uri.string) != uri.string }

    /// True if a URL means another place on each machine.
    static func isOwn(_ uri: TargetURI) -> Bool {
        if Router.isLoopbackName(uri.host) { return true }
        guard let address = SocketAddress(host: uri.host, port: 0) else { return false }
        return address.isLoopback || address.isUnspecified || address.isLinkLocal
    }

    /// True if a request may wait for another daemon's request: any client could have sent it, so the response is for
    /// all clients.
    static func mayWait(_ head: RequestHead, policy: CachePolicy) -> Bool {
        head.method == .get && !Credentials.areIn(head.fields) && policy.personalField(of: head.fields) == nil
    }

    /// True if a stored response may be given to others.
    ///
    /// - Parameters:
    ///   - request: the client's that it is the answer to; nil where it is made of the answers to several, or credentials
    ///     of the configuration were added.
    ///   - isOwn: whether it is given to the same user alone, and was stored by the rules of a private cache.
    func mayGive(_ stored: StoredResponse, to request: RequestHead?, isOwn: Bool = false, length: Int64) -> Bool {
        let flags = stored.facts.directives.flags
        // Stored all the same where its status is understood (RFC 9111 §5.2.2.3).
        let isForNobody = flags.contains(.noStore) && !flags.contains(.mustUnderstand)
        guard !flags.contains(.isPrivate) || isOwn else { return false }
        return !isForNobody && stored.standing == .asReceived
            && stored.requestMethod == .get && length <= limit && !stored.fields.contains(.setCookie)
            && !stored.variance.isByCredential
            && (isOwn || !SharingRules.neededCredentials(stored) || SharingRules.isForAll(stored, despite: request))
    }

    /// True if the origin saw credentials, so that its answer may be for their owners only.
    private static func neededCredentials(_ stored: StoredResponse) -> Bool {
        !stored.traces.isDisjoint(with: [.anyCredential, .authorization]) || stored.facts.isPersonal
    }

    /// True if the answer to a request with `Authorization`, and no other credential, is for all caches (RFC 9111 §3.5).
    private static func isForAll(_ stored: StoredResponse, despite request: RequestHead?) -> Bool {
        guard let request else { return false }
        return stored.facts.allowsAuthorized && Credentials.all(in: request.fields) == [.authorization]
    }

    /// The entities that this daemon would have stored itself.
    static func candidates(in look: SharedLook, at uri: TargetURI, policy: CachePolicy) -> [SharedCandidate] {
        look.entities.compactMap { candidate($0, at: uri, isOwn: !look.key.owner.isEmpty, policy: policy) }
    }

    /// True if a daemon may have written a head: it answers GET, and its length equals the content's. A reader of
    /// stored responses always leaves out connection fields, and a shared cache leaves out cookies.
    private static func isPlausible(_ stored: StoredResponse) -> Bool {
        // A private cache would keep cookies, but they are not shared.
        guard stored.requestMethod == .get, !stored.fields.contains(.setCookie) else { return false }
        guard !stored.isPartial, let length = stored.contentLength else { return true }
        if stored.status.isSentEmpty, length > 0 { return false }
        guard stored.fields.contains(.contentLength) else { return true }
        return (try? BodyFraming.contentLength(stored.fields)) == UInt64(exactly: length)
    }

    /// Nil for an entity that this daemon would not have stored itself.
    ///
    /// - Parameter isOwn: whether it was found under a key of the user's own.
    static func candidate(
        _ entity: SharedEntity, at uri: TargetURI, isOwn: Bool = false, policy: CachePolicy
    ) -> SharedCandidate? {
        let decoded = StoredResponseCoding.decode(
            entity.head, requestTime: entity.requestTime, responseTime: entity.responseTime,
            contentLength: entity.content.length, policy: policy)
        guard let stored = decoded, stored.isPartial == entity.isPart, stored.standing == .asReceived,
            isOwn
                ? policy.role == .private
                : !neededCredentials(stored) || stored.requestWasAuthorized && stored.facts.allowsAuthorized,
            StoredResponseCoding.variantKey(stored.variance) == entity.variant, isPlausible(stored)
        else { return nil }
        let head = ResponseHead(status: stored.status, fields: stored.fields)
        // Any client could have sent the request, apart from these fields.
        var fields = Fields()
        if stored.requestWasAuthorized { fields[.authorization] = "" }
        if let range = stored.requestedRange { fields[.range] = String(decoding: range, as: UTF8.self) }
        let request = RequestHead(method: .get, target: uri.pathAndQuery, fields: fields)
        let storability = Storability.decide(
            request: request, target: uri, response: head, policy: policy, responseTime: stored.responseTime)
        guard case .store(_, let durability) = storability else { return nil }
        return SharedCandidate(entity: entity, stored: stored, durability: durability)
    }
}

/// An entity, and the response that it represents.
struct SharedCandidate {
    let entity: SharedEntity
    let stored: StoredResponse
    /// How long this daemon may store it.
    let durability: StorabilityDecision.Durability
}
