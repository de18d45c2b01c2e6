// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// Whose data it is: resources, memory and caches of different partitions never meet.
public struct Partition: Sendable, Hashable, CustomStringConvertible {
    /// What tells partitions apart; empty for the one that is shared.
    public let name: String
    /// Names a partition.
    public init(_ name: String) { self.name = name }
    /// Data that anyone may see.
    public static let shared = Partition("")
    public var description: String { name.isEmpty ? "shared" : name }
}

/// What a cache is asked about: one stage of one resource.
public struct CacheSubject: Sendable, Hashable {
    /// The name of the service.
    public let service: String
    /// Whose data it is.
    public let partition: Partition
    /// The resource's URL.
    public let url: TargetURI
    /// What the fields named by `Vary` were, in a form that is equal when they are; empty for one variant.
    public let variant: String
    /// The stage whose output is kept.
    public let stage: PipelineStageKey

    /// Makes a subject of its parts.
    public init(service: String, partition: Partition, url: TargetURI, variant: String = "", stage: PipelineStageKey) {
        self.service = service
        self.partition = partition
        self.url = url
        self.variant = variant
        self.stage = stage
    }
}

/// A store that outlives the process, attached to a stage of a pipeline.
///
/// Calls for one key come one after the other, in the order of the changes they stem from; calls for different
/// keys at any time. Whatever is thrown is logged and counts as a miss or as nothing done: a broken cache never
/// fails a request.
public protocol EntityCache<Content>: Sendable {
    /// What the cache finds its entries by.
    associatedtype Key: Hashable & Sendable
    /// What can be kept. Entities with other content are not written.
    associatedtype Content: Sendable

    /// The key for a subject, or nil to keep nothing of it. Must be at least as distinctive as the subject; called
    /// when a request is made, so that what it brings is filed under who asked.
    func key(for subject: CacheSubject) -> Key?

    /// What was last written, exactly, or nil.
    func readEntity(for key: Key) async throws -> Entity<Content>?

    /// Keeps an entity in the place of what was there.
    func writeEntity(_ entity: Entity<Content>, for key: Key) async throws

    /// Changes the time of what is there and, after a 304, its fields; does nothing when nothing is there, and
    /// never brings back what was removed.
    func updateEntity(for key: Key, timestamp: Timestamp, fields: Fields?) async throws

    /// Afterwards nothing is there until the next write.
    func removeEntity(for key: Key) async throws
}

extension EntityCache {
    /// Reads, changes and writes back. Calls for one key come one after the other, so nothing gets in between.
    public func updateEntity(for key: Key, timestamp: Timestamp, fields: Fields?) async throws {
        guard var entity = try await readEntity(for: key) else { return }
        entity.timestamp = timestamp
        if let fields { entity.fields = fields }
        try await writeEntity(entity, for: key)
    }
}

/// A cache with its types forgotten, as stages hold them.
public struct AnyEntityCache: Sendable {
    private let bind: @Sendable (CacheSubject) -> CacheEntry?

    /// Forgets the types of a cache.
    public init<Cache: EntityCache>(_ cache: Cache) {
        bind = { subject in
            cache.key(for: subject).map { CacheEntry(cache, key: $0, stage: subject.stage) }
        }
    }

    /// The place for one subject, or nil when the cache keeps nothing of it.
    func entry(for subject: CacheSubject) -> CacheEntry? { bind(subject) }
}

/// One place in one cache: everything that can be done with it, its key chosen once.
struct CacheEntry: Sendable {
    /// What operations that must not overtake each other have in common.
    struct ID: Hashable, Sendable {
        fileprivate let cache: ObjectIdentifier
        fileprivate let stage: PipelineStageKey
        fileprivate let key: AnyHashableKey
    }

    fileprivate struct AnyHashableKey: Hashable, Sendable {
        let value: any (Hashable & Sendable)
        static func == (a: Self, b: Self) -> Bool { AnyHashable(a.value) == AnyHashable(b.value) }
        func hash(into hasher: inout Hasher) { value.hash(into: &hasher) }
    }

    let id: ID
    let stage: PipelineStageKey
    let read: @Sendable () async throws -> AnyEntity?
    /// False when the content is of a type that the cache does not keep.
    let write: @Sendable (AnyEntity) async throws -> Bool
    let update: @Sendable (Timestamp, Fields?) async throws -> Void
    let remove: @Sendable () async throws -> Void

    init<Cache: EntityCache>(_ cache: Cache, key: Cache.Key, stage: PipelineStageKey) {
        id = ID(cache: ObjectIdentifier(Cache.self), stage: stage, key: AnyHashableKey(value: key))
        self.stage = stage
        read = { try await cache.readEntity(for: key)?.erased }
        write = { entity in
            guard let entity = entity.withContentRetyped(as: Cache.Content.self) else { return false }
            try await cache.writeEntity(entity, for: key)
            return true
        }
        update = { try await cache.updateEntity(for: key, timestamp: $0, fields: $1) }
        remove = { try await cache.removeEntity(for: key) }
    }
}
