// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// The owner of data: resources, memory and caches of different partitions are separate.
public struct Partition: Sendable, Hashable, CustomStringConvertible {
    /// Identifies the partition; empty for the shared one.
    public let name: String
    /// Names a partition.
    public init(_ name: String) { self.name = name }
    /// Data that anyone may see.
    public static let shared = Partition("")
    public var description: String { name.isEmpty ? "shared" : name }
}

/// The subject of a cache entry: one stage of one resource.
public struct CacheSubject: Sendable, Hashable {
    /// The name of the service.
    public let service: String
    /// The owner of the data.
    public let partition: Partition
    /// The resource's URL.
    public let url: TargetURI
    /// The values of the fields named by `Vary`, in a canonical form; empty for one variant.
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
/// Calls for one key are made one after the other, in the order of the changes that cause them; calls for different
/// keys at any time. Errors are logged and count as a miss or as nothing done: a broken cache never fails a request.
/// After five seconds an operation is not waited for any more: a read is a miss then.
public protocol EntityCache<Content>: Sendable {
    /// The type that identifies entries.
    associatedtype Key: Hashable & Sendable
    /// The content that can be stored. Entities with other content are not written.
    associatedtype Content: Sendable

    /// The key for a subject, or nil to store nothing. Must be at least as distinctive as the subject; called when a
    /// request is made, so that its result is stored for the identity that asked. It may look at the subject's resource,
    /// whose data it does not find there before its own caches have been read; it must not `load` or wipe it.
    func key(for subject: CacheSubject) -> Key?

    /// The entity last written, unchanged, or nil.
    func readEntity(for key: Key) async throws -> Entity<Content>?

    /// Stores an entity, replacing the previous one.
    func writeEntity(_ entity: Entity<Content>, for key: Key) async throws

    /// Changes the time of the stored entity and, after a 304, its fields; does nothing when there is none, and never
    /// restores a removed one.
    func updateEntity(for key: Key, timestamp: Timestamp, fields: Fields?) async throws

    /// Removes the entity; reads return nil until the next write.
    func removeEntity(for key: Key) async throws
}

extension EntityCache {
    /// Reads, changes and writes back. Calls for one key are serialised, so none comes in between.
    public func updateEntity(for key: Key, timestamp: Timestamp, fields: Fields?) async throws {
        guard var entity = try await readEntity(for: key) else { return }
        entity.timestamp = timestamp
        if let fields { entity.fields = fields }
        try await writeEntity(entity, for: key)
    }
}

/// A cache with its types erased, as stages hold it.
public struct AnyEntityCache: Sendable {
    private let bind: @Sendable (CacheSubject) -> CacheEntry?

    /// Erases the types of a cache.
    public init<Cache: EntityCache>(_ cache: Cache) {
        bind = { subject in
            cache.key(for: subject).map { CacheEntry(cache, key: $0, stage: subject.stage) }
        }
    }

    /// The entry for one subject, or nil when the cache stores nothing for it.
    func entry(for subject: CacheSubject) -> CacheEntry? { bind(subject) }
}

/// One entry of one cache with all its operations; its key is chosen once.
struct CacheEntry: Sendable {
    /// The identity of operations that must not overtake each other.
    struct ID: Hashable, Sendable {
        /// The type, and the instance where caches have identities.
        fileprivate let cache: [ObjectIdentifier]
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
    /// False when the cache does not store content of that type.
    let write: @Sendable (AnyEntity) async throws -> Bool
    let update: @Sendable (Timestamp, Fields?) async throws -> Void
    let remove: @Sendable () async throws -> Void

    init<Cache: EntityCache>(_ cache: Cache, key: Cache.Key, stage: PipelineStageKey) {
        let instance = Cache.self is AnyClass ? [ObjectIdentifier(cache as AnyObject)] : []
        id = ID(cache: [ObjectIdentifier(Cache.self)] + instance, stage: stage, key: AnyHashableKey(value: key))
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
