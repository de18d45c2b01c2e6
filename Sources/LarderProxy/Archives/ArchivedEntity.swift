// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
package import LarderRules
package import LarderStores

/// A stored response as another installation can take it: its request as far as it matters, and its head, without its
/// content.
package struct ArchivedEntity: Sendable {
    /// A request field that `Vary` names, and its value.
    package struct Selector: Sendable {
        package var name: FieldName
        package var value: [UInt8]?

        package init(name: FieldName, value: [UInt8]?) {
            self.name = name
            self.value = value
        }
    }

    /// The stored URL. Content that is part of the cache key follows `#`.
    package var url: String
    /// The name of the service in the exporting installation, for display.
    package var service: String
    /// The name of the user's partition; empty for the shared partition.
    package var partition: String
    /// Identifies the service's user, without whose credentials no client may receive it; empty if it is shared.
    package var owner: String
    package var method: Method
    package var status: Status
    package var fields: Fields
    package var selectors: [Selector]
    package var requestTime, responseTime: Timestamp
    package var wasAuthorized, wasPersonal, hadCredentials: Bool
    /// True if it has traces of a user, even if the exporting installation shared it with all clients.
    package var hasTraces: Bool
    package var standing: StoredResponse.Standing
    /// The bytes of the content.
    package var length: Int64

    package init(
        url: String, service: String, partition: String, owner: String, method: Method, status: Status,
        fields: Fields, selectors: [Selector], requestTime: Timestamp, responseTime: Timestamp, wasAuthorized: Bool,
        wasPersonal: Bool,
        hadCredentials: Bool, hasTraces: Bool, standing: StoredResponse.Standing, length: Int64
    ) {
        self.url = url
        self.service = service
        self.partition = partition
        self.owner = owner
        self.method = method
        self.status = status
        self.fields = fields
        self.selectors = selectors
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.wasAuthorized = wasAuthorized
        self.wasPersonal = wasPersonal
        self.hadCredentials = hadCredentials
        self.hasTraces = hasTraces
        self.standing = standing
        self.length = length
    }

    package var isPersonal: Bool { personalReason != nil }

    /// The reason why the entity may be private to one user, judged without a configuration; nil if it is shared.
    package var personalReason: PersonalReason? {
        if !partition.isEmpty { return .partition }
        if SecretText.scrubbed(url: url) != url { return .secretURL }
        let directives = CacheControl.Response(fields)
        if fields.contains(.setCookie) || directives.flags.contains(.isPrivate) || !directives.privateFields.isEmpty {
            return .origin
        }
        if selectors.contains(where: { $0.value != nil && SecretName.isOne(field: $0.name) }) { return .credentials }
        return (wasAuthorized || wasPersonal || hadCredentials) && !isForAll(directives) ? .credentials : nil
    }

    /// An origin that says `public` or `s-maxage` to a request with credentials says it of all its clients.
    private func isForAll(_ directives: CacheControl.Response) -> Bool {
        directives.flags.contains(.isPublic) || directives.sMaxage != nil
    }

    /// The same where the configuration here may add credentials to each request.
    func personalReason(under configuration: EffectiveConfiguration) -> PersonalReason? {
        if let personalReason { return personalReason }
        if hasTraces, configuration.policy.isPersonal(.credentialBesideKey), !isForAll(CacheControl.Response(fields)) {
            return .credentials
        }
        let sends = configuration.policy.sendsCredentials(with: Fields())
        return sends && !isForAll(CacheControl.Response(fields)) ? .configured : nil
    }
}

/// Why a stored response is not for everybody who has an archive. The raw values are words of `summary.json`.
package enum PersonalReason: String, Sendable, CaseIterable {
    /// It is in a user's partition.
    case partition
    /// The origin says `private`, or set a cookie.
    case origin
    /// The origin saw credentials.
    case credentials
    /// The configuration adds credentials to requests for its URL by now.
    case configured
    /// Its URL has a parameter that is a secret by its name.
    case secretURL = "url"
    /// Clients get another answer by now.
    case refused
}

/// The fate of one line of the store's list in an export.
package enum ArchivedLine: Sendable {
    case entity(ArchivedEntity, ContentReference)
    /// Private to a user, requested with credentials, or refused to clients by now; exported only on request.
    case personal(PersonalReason)
    /// A part of a representation, which is useful only to this cache.
    case partial
    /// Replaced, removed or damaged since it was listed.
    case gone
    /// The store cannot read it just now.
    case unreadable
}

extension Proxy {
    /// Identifies the installation. The value is constant as long as the cache directory exists.
    package var installation: String { configuration.router.table.unclaimed.installation }

    /// The stored response of a line, for an archive.
    package func archived(_ line: EntityListing, includesPrivate: Bool) async -> ArchivedLine {
        guard let diskTier, let uri = ResourceURL(line.key.url).target else { return .gone }
        guard let records = try? await diskTier.store.read(line.key) else { return .unreadable }
        let service = configuration.router.table.named(line.key.service) ?? configuration.router.table.unclaimed
        let method = ContentMark.split(line.key.url).mark?.method ?? .get
        let partition = Larder.Partition(line.key.partition)
        let settled = service.configuration(for: uri, method: method, in: partition)
        guard let record = records.first(where: { $0.variant == line.variant && $0.storedAt == line.storedAt }),
            let stored = diskTier.variant(of: record, policy: settled.policy)?.stored
        else { return .gone }
        var fields = stored.fields
        // Its validators are about the URL it came from, which is not exported.
        if stored.place != nil { for name: FieldName in [.eTag, .lastModified] { fields.remove(name) } }
        var entity = ArchivedEntity(
            url: line.key.url, service: line.key.service, partition: line.key.partition, owner: "",
            method: stored.requestMethod, status: stored.status, fields: fields,
            selectors: stored.variance.selectors.map { ArchivedEntity.Selector(name: $0.name, value: $0.value) },
            requestTime: stored.requestTime, responseTime: stored.responseTime,
            wasAuthorized: stored.requestWasAuthorized, wasPersonal: stored.facts.isPersonal || stored.facts.isForOne,
            hadCredentials: stored.traces.contains(.anyCredential),
            hasTraces: !stored.traces.isDisjoint(with: [.credentialBesideKey, .cookie]), standing: stored.standing,
            length: record.content.length)
        let isRefused =
            configuration.router.table.hardWiredAnswer(to: uri, method: method, of: service, settled) != nil
        var reason = entity.personalReason(under: settled)
        // The cookie itself is not stored.
        if reason == .credentials, stored.traces == .cookie { reason = .origin }
        if !includesPrivate, let reason = reason ?? (isRefused ? .refused : nil) { return .personal(reason) }
        if reason != nil { entity.owner = service.owner }
        guard stored.extent == .whole else { return .partial }
        return .entity(entity, record.content)
    }
}
