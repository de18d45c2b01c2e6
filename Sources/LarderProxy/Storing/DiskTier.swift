// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderIO
import LarderRules
package import LarderStores

/// Between Resources in memory and entities in the store: the `rawData` stage's cache.
package final class DiskTier: Sendable {
    /// The origin's response.
    package static let stage = "rawData"
    /// All stages stored for a URL.
    package static let stages = [stage, servedStage]

    package let store: SQLiteStore
    let via: String
    /// The longest content that the store accepts.
    package let maxObject: Int64

    package init(store: SQLiteStore, via: String) {
        self.store = store
        self.via = via
        maxObject = store.longestContent
    }

    /// True if so much content is queued for writing that its producers should wait.
    var isBehind: Bool { store.pendingBytes > 8 << 20 }

    func key(of resource: Resource, _ service: RoutedService, stage: String = DiskTier.stage) -> EntityKey {
        key(resource.key, resource.partition, service, stage: stage)
    }

    private func key(
        _ key: ResourceKey, _ partition: Larder.Partition, _ service: RoutedService, stage: String
    ) -> EntityKey {
        key.withURL { EntityKey(service: service.name, partition: partition.name, stage: stage, url: $0) }
    }

    /// True if the store may contain the Resource with this key.
    func mayContain(_ key: ResourceKey, _ partition: Larder.Partition, _ service: RoutedService) -> Bool {
        store.mayContain(self.key(key, partition, service, stage: DiskTier.stage))
    }

    // MARK: Reading

    /// Loads stored responses of a Resource into memory, once for any number of requests that need them.
    ///
    /// - Parameter isOutdated: whether what was stored at an instant must not be used.
    func load(
        _ resource: Resource, service: RoutedService, _ configuration: EffectiveConfiguration,
        isOutdated: (Timestamp) -> Bool = { _ in false }
    ) async {
        let memory = resource.memory
        let key = key(of: resource, service)
        let mark = memory.mark
        guard store.mayContain(key) else { return memory.storeHasNothing(since: mark) }
        guard await memory.beginStoreRead() == .begin else { return }
        let found = try? await variants(of: resource, service: service, configuration)
        memory.storeWasRead(found?.filter { !isOutdated($0.storedAt) }, since: mark)
    }

    /// The stored responses of a Resource, newest first.
    func variants(
        of resource: Resource, service: RoutedService, _ configuration: EffectiveConfiguration
    ) async throws(StoreUnavailable) -> [Variant] {
        let records = try await store.read(key(of: resource, service), skippingUnread: true)
        let renditions =
            configuration.mayTransform
            ? try await store.read(key(of: resource, service, stage: DiskTier.servedStage), skippingUnread: true) : []
        return variants(of: records, renditions: renditions, configuration)
    }

    func variant(of record: EntityRecord, policy: CachePolicy) -> Variant? {
        let stored = StoredResponseCoding.decode(
            record.head, requestTime: record.requestTime, responseTime: record.responseTime,
            contentLength: record.content.length, policy: policy)
        guard let stored else { return nil }
        return Variant(
            stored: stored, content: content(of: record), storedAt: record.storedAt, via: via,
            pace: StoredResponseCoding.pace(in: record.head, contentLength: record.content.length))
    }

    func content(of record: EntityRecord) -> VariantContent {
        switch record.content.location {
        case .empty: .empty
        case .inline(let chunk): .memory([chunk], length: chunk.count)
        case .file:
            .store(
                ContentSource(length: record.content.length) {
                    [store, content = record.content] () throws(StoreUnavailable) in
                    try await store.openContent(content)
                })
        }
    }

    // MARK: Writing

    /// Begins to store a response; its content follows.
    func begin(
        _ stored: StoredResponse, of resource: Resource, service: RoutedService, length: Int64?,
        _ configuration: EffectiveConfiguration
    ) -> EntityWriter {
        let key = key(of: resource, service)
        let isVersion = stored.status == 200 && !stored.isPartial
        return store.beginWrite(
            key, variant: StoredResponseCoding.variantKey(stored.variance),
            head: StoredResponseCoding.encode(stored),
            requestTime: stored.requestTime,
            responseTime: stored.responseTime, storedAt: stored.responseTime, expires: stored.facts.freshUntil,
            expectedLength: length, labels: labels(of: stored, key, resource),
            history: EntityHistory(limit: configuration.history, isVersion: isVersion))
    }

    /// The labels by which a stored response is found besides its key: its URL where that is in partitions or content
    /// is part of the key, the normal form of its URL where it is stored under another, and its groups.
    func labels(of stored: StoredResponse, _ key: EntityKey, _ resource: Resource) -> [EntityLabel] {
        var labels = stored.facts.groups.map(EntityLabel.group) + [EntityLabel.partitioned(key)].compactMap(\.self)
        let (plain, contentMark) = ContentMark.split(key.url)
        if let url = resource.url.target, !resource.key.isFor(url) {
            labels.append(.spelling(of: url.string, service: key.service, stage: key.stage))
        }
        if contentMark != nil { labels.append(.url(plain, service: key.service, stage: key.stage)) }
        return labels
    }

    /// Writes a freshened head.
    func update(_ variant: Variant, of resource: Resource, service: RoutedService, policy: CachePolicy) {
        updateRendition(of: variant, resource, service: service)
        // The head is stored with the origin's status, which may differ from the status that the response counts as.
        let stored =
            variant.rendition.map { variant.stored.counting(as: $0.originStatus, policy: policy) }
            ?? variant.stored
        let key = key(of: resource, service)
        store.updateHead(
            key, variant: StoredResponseCoding.variantKey(stored.variance),
            head: StoredResponseCoding.encode(stored, pace: variant.pace),
            requestTime: stored.requestTime,
            responseTime: stored.responseTime, expires: stored.facts.freshUntil, ifStoredAt: variant.storedAt,
            labels: labels(of: stored, key, resource))
    }

    // MARK: Removing

    func remove(
        _ variant: Variant, of resource: Resource, service: RoutedService, because reason: RemovalReason = .unusable
    ) {
        remove(variant.stored.variance, of: resource, service: service, because: reason)
    }

    /// Removes a variant that is of no use, unless another one has replaced it.
    func discard(_ variant: Variant, of resource: Resource, service: RoutedService) {
        for stage in DiskTier.stages {
            store.remove(
                key(of: resource, service, stage: stage),
                variant: StoredResponseCoding.variantKey(variant.stored.variance), because: .unusable,
                ifStoredAt: variant.storedAt)
        }
    }

    func remove(
        _ variance: Variance, of resource: Resource, service: RoutedService, because reason: RemovalReason = .unusable
    ) {
        for stage in DiskTier.stages {
            store.remove(
                key(of: resource, service, stage: stage), variant: StoredResponseCoding.variantKey(variance),
                because: reason)
        }
    }

    package func removeAll(of resource: Resource, service: RoutedService, because reason: RemovalReason) {
        for stage in DiskTier.stages { store.remove(key(of: resource, service, stage: stage), because: reason) }
    }

    /// Removes the responses stored for `url` in the given partition, whether or not they are in memory.
    package func removeAll(
        of url: String, partition: Larder.Partition, service: RoutedService, because reason: RemovalReason
    ) {
        for stage in DiskTier.stages {
            store.remove(
                EntityKey(service: service.name, partition: partition.name, stage: stage, url: url), because: reason)
        }
    }

    /// Removes the responses stored for `url` in all partitions, as something newer is there.
    func removePartitions(of url: String, service: String) { supersede(DiskTier.partitions(of: url, service: service)) }

    private func supersede(_ match: EntityMatch) {
        for match in DiskTier.withRenditions(match) { store.beginRemoval(match, because: .superseded) }
    }

    /// Removes the responses stored for other spellings of `uri`, in all partitions.
    func removeSpellings(of uri: TargetURI, service: String) {
        let match = EntityMatch(
            service: service, stage: DiskTier.stage, urlPrefix: uri.origin + "/",
            label: .spelling(of: uri.string, service: service, stage: DiskTier.stage))
        supersede(match)
    }

    /// Removes the members of groups, at one origin or at all.
    func removeAll(inGroups groups: [String], origin: String?) {
        let match = EntityMatch(stage: DiskTier.stage, urlPrefix: origin.map { $0 + "/" })
        let labels = groups.map(EntityLabel.group)
        for match in DiskTier.withRenditions(match) {
            store.beginRemoval(match, labels: labels, because: .superseded)
        }
    }

    /// The stored members of a group.
    package static func match(group: String, origin: String?) -> EntityMatch {
        EntityMatch(stage: DiskTier.stage, urlPrefix: origin.map { $0 + "/" }, label: .group(group))
    }

    /// The responses stored for a URL in partitions.
    package static func partitions(of url: String, service: String) -> EntityMatch {
        EntityMatch(
            service: service, stage: DiskTier.stage, urlPrefix: url,
            label: .url(url, service: service, stage: DiskTier.stage))
    }

    /// Removes variants from the store that `variant` replaced in memory under another variance.
    func removeReplaced(_ replaced: [Variant], by variant: Variant, of resource: Resource, service: RoutedService) {
        let current = StoredResponseCoding.variantKey(variant.stored.variance)
        for other in replaced where StoredResponseCoding.variantKey(other.stored.variance) != current {
            remove(other, of: resource, service: service, because: .superseded)
        }
    }
}
