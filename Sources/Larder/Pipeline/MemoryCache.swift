// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
import LarderIO

/// A cache that lives as long as the process: what came out of one stage, for resources that were let go.
///
/// It holds a number of entities, whatever their size. When there is no room, those go first that were used once or not
/// for a while, so that going through many resources once does not push out what is used all the time.
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
    /// - Parameter limit: how many entities it holds at most.
    public init(limit: Int = 1000) { self.limit = max(1, limit) }

    /// How many entities there are.
    public var count: Int { state.withLock { $0.places.count } }

    /// Everything that tells subjects apart tells entries apart.
    public func key(for subject: CacheSubject) -> CacheSubject? { subject }

    /// What was last written, or nil.
    public func readEntity(for key: CacheSubject) -> Entity<Content>? {
        state.withLock { state in
            guard let place = state.places[key] else { return nil }
            state.queue[place].isUsed = true
            return state.queue[place].entity
        }
    }

    /// Keeps an entity, in the place of another one if there is no room.
    public func writeEntity(_ entity: Entity<Content>, for key: CacheSubject) {
        state.withLock { state in
            if let place = state.places[key] {
                state.queue[place].entity = entity
                return
            }
            let hash = UInt64(bitPattern: Int64(key.hashValue))
            state.places[key] = state.queue.insert(Entry(subject: key, entity: entity), hash: hash, cost: 1)
            while state.places.count > limit, let place = state.queue.nextVictim(Self.takeUsed) {
                let gone = state.queue.remove(place, isEvicted: true)
                state.places[gone.entry.subject] = nil
            }
        }
    }

    /// Changes time and fields of what is there.
    public func updateEntity(for key: CacheSubject, timestamp: Timestamp, fields: Fields?) {
        state.withLock { state in
            guard let place = state.places[key] else { return }
            state.queue[place].entity.timestamp = timestamp
            if let fields { state.queue[place].entity.fields = fields }
        }
    }

    /// Lets go of an entity.
    public func removeEntity(for key: CacheSubject) {
        state.withLock { state in
            guard let place = state.places.removeValue(forKey: key) else { return }
            state.queue.remove(place)
        }
    }

    private static func takeUsed(_ entry: inout Entry) -> EvictionQueue<Entry>.Standing {
        defer { entry.isUsed = false }
        return entry.isUsed ? .used : .idle
    }
}
