// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderIO

/// A cache that lives as long as the process: the output of one stage, for resources that are no longer in memory.
///
/// It holds a number of entities, whatever their size. When it is full, entities that were used once or not recently
/// are evicted first, so that a scan of many resources does not displace the ones in constant use.
public final class MemoryCache<Content: Sendable>: EntityCache {
    private struct Entry {
        let subject: CacheSubject
        var entity: Entity<Content>
        var isUsed = false
    }

    private struct State {
        var places: [CacheSubject: Int] = [:]
        var queue = EvictionQueue<Entry>()
    }

    private let limit: Int
    private let state = Lock(State())

    /// Makes an empty cache.
    ///
    /// - Parameter limit: the most entities it holds.
    public init(limit: Int = 1000) { self.limit = max(1, limit) }

    /// How many entities there are.
    public var count: Int { state.withLock { $0.places.count } }

    /// The key is the subject itself.
    public func key(for subject: CacheSubject) -> CacheSubject? { subject }

    /// The entity last written, or nil.
    public func readEntity(for key: CacheSubject) -> Entity<Content>? {
        state.withLock { state in
            guard let place = state.places[key] else { return nil }
            state.queue[place].isUsed = true
            return state.queue[place].entity
        }
    }

    /// Stores an entity, evicting another one if the cache is full.
    public func writeEntity(_ entity: Entity<Content>, for key: CacheSubject) {
        // Released after the lock: their content may have a deinitializer that uses the cache.
        _ = state.withLock { state -> [Entity<Content>] in
            if let place = state.places[key] {
                defer { state.queue[place].entity = entity }
                return [state.queue[place].entity]
            }
            var evicted: [Entity<Content>] = []
            let hash = UInt64(bitPattern: Int64(key.hashValue))
            state.places[key] = state.queue.insert(Entry(subject: key, entity: entity), hash: hash, cost: 1)
            while state.places.count > limit, let place = state.queue.nextVictim(Self.takeUsed) {
                let gone = state.queue.remove(place, isEvicted: true)
                state.places[gone.entry.subject] = nil
                evicted.append(gone.entry.entity)
            }
            return evicted
        }
    }

    /// Changes time and fields of the stored entity.
    public func updateEntity(for key: CacheSubject, timestamp: Timestamp, fields: Fields?) {
        state.withLock { state in
            guard let place = state.places[key] else { return }
            state.queue[place].entity.timestamp = timestamp
            if let fields { state.queue[place].entity.fields = fields }
        }
    }

    /// Removes an entity.
    public func removeEntity(for key: CacheSubject) {
        _ = state.withLock { state in state.places.removeValue(forKey: key).map { state.queue.remove($0) } }
    }

    private static func takeUsed(_ entry: inout Entry) -> EvictionQueue<Entry>.Standing {
        defer { entry.isUsed = false }
        return entry.isUsed ? .used : .idle
    }
}
