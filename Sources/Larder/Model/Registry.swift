// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// The Resources in memory, one for each key, bounded in bytes.
///
/// Sixty-four shards, each a lock over an index and an `EvictionQueue`, which selects the next eviction. Eviction skips
/// Resources that are referenced elsewhere, and Resources that an operator has overridden, as these could not be
/// restored. Empty Resources are evicted first, and get an eighth of the capacity at most.
///
/// A few hundred Resources whose last response was not stored stay in memory, which a processor's cache can hold.
/// Earlier ones have left a trace of 48 bytes with the reason. So requests for any number of URLs without storable
/// responses evict no stored responses, and use little memory.
package final class Registry: Sendable {
    private let shards: [Lock<Shard>]
    private let total = Atomic<Int>(0)
    private let population = Atomic<Int>(0)
    private let filled = Atomic<Int>(0)
    private let limitBytes: Atomic<Int>
    private let evictions = Atomic<Int>(0)
    private let loading = Atomic<Int>(0)
    /// Counts up, so that the shards free memory for loads in turn.
    private let turn = Atomic<Int>(0)
    /// Resources that programs look at.
    let followers = Followers()
    /// The Resources publish their changes to it.
    package let feed = ChangeFeed()

    /// - Parameter limit: bytes of all Resources together; a soft limit, as Resources in use always stay.
    package init(limit: Int) {
        shards = (0..<64).map { _ in Lock(Shard()) }
        limitBytes = Atomic(limit)
    }

    /// Bytes taken by all Resources and the loads under way, as charged.
    package var bytes: Int { total.load(ordering: .relaxed) }
    /// How many Resources are in memory.
    package var count: Int { population.load(ordering: .relaxed) }
    /// How many of them keep something.
    package var keeping: Int { filled.load(ordering: .relaxed) }
    /// How many Resources were dropped for room since the start.
    package var evicted: Int { evictions.load(ordering: .relaxed) }

    package var limit: Int {
        get { limitBytes.load(ordering: .relaxed) }
        set {
            let old = limitBytes.exchange(newValue, ordering: .relaxed)
            // Traces are never evicted one by one, and may take more than their part of less.
            if newValue < old { forgetUnstored() }
        }
    }

    /// The Resource of `key`, if it is in memory.
    package func resource(for key: borrowing ResourceKey) -> Resource? {
        shards[Registry.shard(key.hash)].withLock { shard in
            shard.find(key).map { shard.queue[$0].resource }
        }
    }

    /// The Resource of `key`; `make` is called, under the shard's lock, when there is none.
    package func resource(for key: borrowing ResourceKey, make: (ResourceKey) -> Resource) -> Resource {
        let copy = copy key
        let blankLimit = max(limit / (8 * shards.count), Registry.leastBlank)
        // The dropped Resources are released after the lock.
        let (resource, isNew, dropped) = shards[Registry.shard(copy.hash)].withLock { shard in
            if let place = shard.find(copy) { return (shard.queue[place].resource, false, [] as [Removed]) }
            let resource = make(copy)
            if let unstored = shard.takeTrace(copy.hash) { resource.memory.unstored = unstored }
            // Its own copy of the key: the caller's is written anew for each request.
            resource.memory.attach(ChangePublisher(feed: feed, key: resource.key, service: resource.service))
            shard.insert(resource, cost: Registry.overhead + copy.bytes.count)
            return (resource, true, shard.evictBlank(above: blankLimit))
        }
        settle(dropped, areEvicted: true)
        if isNew {
            population.add(1, ordering: .relaxed)
            charged(Registry.overhead + copy.bytes.count, startingAt: Registry.shard(copy.hash))
        }
        return resource
    }

    /// Records the size of a Resource's variants, and evicts if the total exceeds the limit. Does nothing for a
    /// Resource that was dropped in the meantime.
    ///
    /// - Parameter content: the bytes to count; by default the Resource's own count. It is read under the lock: of two
    ///   concurrent calls, the last one knows all.
    package func charge(_ resource: Resource, content: Int? = nil) {
        let least = Registry.overhead + resource.key.bytes.count
        let (difference, keeping) = shards[Registry.shard(resource.key.hash)].withLock { shard -> (Int, Int) in
            guard let place = shard.find(resource.key), shard.queue[place].resource === resource else { return (0, 0) }
            let bytes = content ?? resource.memory.cost
            let kept = shard.queue.cost(at: place) > least ? 1 : 0
            return (shard.queue.charge(place, cost: least + bytes, isBlank: bytes == 0), (bytes > 0 ? 1 : 0) - kept)
        }
        if keeping != 0 { filled.add(keeping, ordering: .relaxed) }
        charged(difference, startingAt: Registry.shard(resource.key.hash))
    }

    /// Says that nothing was kept of a Resource's last response: it leaves memory soon, unless it is used again.
    package func pass(_ resource: Resource) {
        let traceLimit = limit / (Registry.traceShare * shards.count)
        let number = Registry.shard(resource.key.hash)
        // The dropped Resources are released after the lock.
        let (first, second, grown) = shards[number].withLock { shard -> (Removed?, Removed?, Int) in
            guard let place = shard.find(resource.key), shard.queue[place].resource === resource else {
                return (nil, nil, 0)
            }
            shard.queue.pass(place)
            let before = shard.traces.bytes
            // Evict two at most for each added Resource: Resources that stayed because they were in use leave later.
            let first = shard.evictPassing(above: Registry.passing, traceLimit: traceLimit)
            let second = shard.evictPassing(above: Registry.passing, traceLimit: traceLimit)
            return (first, second, shard.traces.bytes - before)
        }
        if let first { settle(CollectionOfOne(first), areEvicted: true) }
        if let second { settle(CollectionOfOne(second), areEvicted: true) }
        if grown > 0 { charged(grown, startingAt: number) }
    }

    /// Why nothing was kept of the last response to the request of `key`, if its Resource has left memory since.
    package func unstored(for key: borrowing ResourceKey) -> UnstoredResponse? {
        shards[Registry.shard(key.hash)].withLock { $0.trace(key.hash) }
    }

    /// Forgets why the response of a Resource that has left memory was not stored.
    package func forgetUnstored(for key: borrowing ResourceKey) {
        shards[Registry.shard(key.hash)].withLock { _ = $0.takeTrace(key.hash) }
    }

    /// Forgets why nothing was kept of Resources that have left memory.
    package func forgetUnstored() {
        for shard in shards {
            let bytes = shard.withLock { $0.removeTraces() }
            total.subtract(bytes, ordering: .relaxed)
        }
    }

    /// Bytes reserved for loads under way.
    package var reserved: Int { loading.load(ordering: .relaxed) }

    /// Takes room for the content of a load under way. False when loads have half of all there is already, or when
    /// what cannot be evicted has taken the rest: then such content passes through without being kept.
    package func reserve(_ octets: Int) -> Bool {
        guard loading.add(octets, ordering: .relaxed).newValue <= limit / 2 else {
            loading.subtract(octets, ordering: .relaxed)
            return false
        }
        charged(octets, startingAt: turn.add(1, ordering: .relaxed).newValue)
        if bytes <= limit { return true }
        release(octets)
        return false
    }

    /// Gives room back that `reserve` took.
    package func release(_ octets: Int) {
        loading.subtract(octets, ordering: .relaxed)
        total.subtract(octets, ordering: .relaxed)
    }

    /// Drops every unreferenced Resource and, if given, that `isRemovable` accepts.
    package func flushUnused(where isRemovable: (Resource) -> Bool = { _ in true }) {
        for shard in shards {
            // The dropped Resources are released after the lock.
            let dropped = shard.withLock { shard in
                shard.queue.places.compactMap { place in
                    guard shard.queue[place].isUnused, isRemovable(shard.queue[place].resource) else { return nil }
                    return shard.remove(place, isEvicted: false)
                } as [Removed]
            }
            settle(dropped)
        }
    }

    /// All Resources at this moment, shard by shard.
    package func forEach(_ body: (Resource) -> Void) {
        for shard in shards {
            let resources = shard.withLock { shard in shard.queue.places.map { shard.queue[$0].resource } }
            resources.forEach(body)
        }
    }

    /// The violated invariants; empty when all hold. For tests, called while no thread changes the registry.
    package func checkInvariants() -> [String] {
        var found: [String] = []
        var cost = 0
        var population = 0
        var keeping = 0
        for (number, shard) in shards.enumerated() {
            shard.withLock { shard in
                found += shard.checkInvariants().map { "shard \(number): \($0)" }
                cost += shard.queue.cost + shard.traces.bytes
                population += shard.queue.count
                keeping += shard.queue.places.count {
                    shard.queue.cost(at: $0) > Registry.overhead + shard.queue[$0].resource.key.bytes.count
                }
            }
        }
        if cost + reserved != bytes { found.append("\(bytes) octets are counted, \(cost + reserved) are there") }
        if keeping != self.keeping { found.append("\(self.keeping) are said to keep something, \(keeping) do") }
        if population != count { found.append("\(count) Resources are counted, \(population) are there") }
        return found
    }

    /// The memory of a Resource besides its content, as measured with many empty ones: its objects, its lock, why its
    /// response was not stored, its entry here.
    static let overhead = 1008

    /// How many Resources whose last response was not kept stay in a shard.
    private static let passing = 4
    /// The traces of others get one part in this many of the room.
    private static let traceShare = 64

    /// The memory that empty Resources may use in a shard even if it is full.
    private static let leastBlank = 16 * 1_200

    private static func shard(_ hash: UInt64) -> Int { Int(hash >> 58) }

    private func charged(_ difference: Int, startingAt first: Int) {
        let now = total.add(difference, ordering: .relaxed).newValue
        guard difference > 0, now > limit else { return }
        for isThorough in [false, true] {
            for step in 0..<shards.count {
                let excess = total.load(ordering: .relaxed) - limit
                if excess <= 0 { return }
                makeRoom(excess, in: (first &+ step) & (shards.count - 1), whateverItHas: isThorough)
            }
        }
    }

    /// Evicts from a shard. At first only shards that exceed their share evict. Otherwise evictions would always hit a
    /// few shards, which would end up empty, while the contents of the others grow old.
    private func makeRoom(_ excess: Int, in number: Int, whateverItHas: Bool) {
        let share = (total.load(ordering: .relaxed) - reserved) / shards.count
        let dropped = shards[number].withLock { shard in
            whateverItHas || shard.queue.cost >= share ? shard.evict(excess: excess) : []
        }
        settle(dropped, areEvicted: true)
    }

    private func settle(_ dropped: some Collection<Removed>, areEvicted: Bool = false) {
        guard !dropped.isEmpty else { return }
        if areEvicted { evictions.add(dropped.count, ordering: .relaxed) }
        total.subtract(dropped.reduce(0) { $0 + $1.cost }, ordering: .relaxed)
        population.subtract(dropped.count, ordering: .relaxed)
        filled.subtract(dropped.count(where: \.keepsSomething), ordering: .relaxed)
    }
}

/// A Resource taken out of its shard, to be released once the lock is.
private struct Removed {
    let resource: Resource
    let cost: Int

    var keepsSomething: Bool { cost > Registry.overhead + resource.key.bytes.count }
}

/// One shard: its eviction queue, and the index of keys into it.
private struct Shard {
    struct Entry {
        var resource: Resource
        /// The place of the next Resource whose key has the same hash.
        var chain = -1

        /// True if there is no other reference to the Resource.
        var isUnused: Bool {
            mutating get { isKnownUniquelyReferenced(&resource) }
        }
    }

    var queue = EvictionQueue<Entry>()
    private var index: [KeyHash: Int] = [:]
    /// Why nothing was kept of Resources that have left memory.
    fileprivate(set) var traces = GhostTable<UnstoredResponse.Trace>()
    /// How many of them there are at least, up to the limit; it grows with them.
    private var traceCount = 0

    func find(_ key: borrowing ResourceKey) -> Int? {
        guard var place = index[KeyHash(key.hash)] else { return nil }
        while place >= 0 {
            if queue[place].resource.key == key { return place }
            place = queue[place].chain
        }
        return nil
    }

    mutating func insert(_ resource: Resource, cost: Int) {
        let hash = resource.key.hash
        let place = queue.insert(Entry(resource: resource), hash: hash, cost: cost, isBlank: true)
        if let before = index.updateValue(place, forKey: KeyHash(hash)) { queue[place].chain = before }
    }

    mutating func remove(_ place: Int, isEvicted: Bool) -> Removed {
        unchain(place, hash: queue[place].resource.key.hash)
        let gone = queue.remove(place, isEvicted: isEvicted)
        gone.entry.resource.memory.leave()
        return Removed(resource: gone.entry.resource, cost: gone.cost)
    }

    /// Evicts until `excess` bytes are released or nothing more can be evicted.
    mutating func evict(excess: Int) -> [Removed] {
        var dropped: [Removed] = []
        var freed = 0
        while freed < excess, let victim = queue.nextVictim(Shard.standing) {
            let removed = remove(victim, isEvicted: true)
            freed += removed.cost
            dropped.append(removed)
        }
        return dropped
    }

    /// Drops Resources that keep nothing when they take more than `limit`: some at once, as each is little.
    mutating func evictBlank(above limit: Int) -> [Removed] {
        guard queue.blankCost > limit else { return [] }
        var dropped: [Removed] = []
        while queue.blankCost > limit - limit / 16, let victim = queue.nextBlank(Shard.standing) {
            dropped.append(remove(victim, isEvicted: true))
        }
        return dropped
    }

    /// Drops a Resource of whose last response nothing was kept, when there are more than `limit`, and keeps a trace of
    /// it in `traceLimit` bytes.
    mutating func evictPassing(above limit: Int, traceLimit: Int) -> Removed? {
        guard queue.passingCount > limit, let victim = queue.nextPassing(Shard.passingStanding) else { return nil }
        let removed = remove(victim, isEvicted: true)
        if let unstored = removed.resource.memory.unstored {
            keepTrace(of: unstored, removed.resource.key.hash, in: traceLimit)
        }
        return removed
    }

    private mutating func keepTrace(of unstored: UnstoredResponse, _ hash: UInt64, in octets: Int) {
        let most = octets / GhostTable<UnstoredResponse.Trace>.octetsOfPlace
        let places = most > 16 ? 1 << (most.bitWidth - 1 - most.leadingZeroBitCount) : 16
        traceCount = min(traceCount + 1, places)
        // Twice as many until it is full: few are lost then because others take their places.
        traces.insert(
            hash, UnstoredResponse.Trace(of: unstored, hash: hash), among: min(2 * traceCount, places / 5 * 4))
    }

    func trace(_ hash: UInt64) -> UnstoredResponse? {
        guard let trace = traces.trace(of: hash, among: .max), trace.hash == hash else { return nil }
        return trace.response
    }

    mutating func takeTrace(_ hash: UInt64) -> UnstoredResponse? {
        guard let found = trace(hash) else { return nil }
        _ = traces.take(hash, among: .max)
        return found
    }

    /// Returns the bytes they had.
    mutating func removeTraces() -> Int {
        defer { (traces, traceCount) = (GhostTable(), 0) }
        return traces.bytes
    }

    /// One whose load has failed since then stays as long as other empty ones: it says when to ask again.
    private static func passingStanding(_ entry: inout Entry) -> EvictionQueue<Entry>.Standing {
        entry.resource.memory.remembersFailure ? .used : standing(&entry)
    }

    private static func standing(_ entry: inout Entry) -> EvictionQueue<Entry>.Standing {
        if entry.resource.memory.takeVisited() { return .used }
        return entry.isUnused && !entry.resource.memory.isOverridden ? .idle : .held
    }

    /// The queue is whole, and each of its Resources is found by its key.
    func checkInvariants() -> [String] {
        var found = queue.checkInvariants()
        for place in queue.places where find(queue[place].resource.key) != place {
            found.append("\(place) is not found by its key")
        }
        let chained = index.values.reduce(0) { count, first in
            var length = 0
            var place = first
            while place >= 0, length <= queue.count {
                length += 1
                place = queue[place].chain
            }
            return count + length
        }
        if chained != queue.count { found.append("\(chained) are in chains of \(queue.count)") }
        return found
    }

    private mutating func unchain(_ place: Int, hash: UInt64) {
        guard let first = index[KeyHash(hash)] else { return }
        let next = queue[place].chain
        if first == place {
            index[KeyHash(hash)] = next >= 0 ? next : nil
            return
        }
        var before = first
        while queue[before].chain != place { before = queue[before].chain }
        queue[before].chain = next
    }
}
