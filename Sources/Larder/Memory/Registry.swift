// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// The Resources in memory, one for each key, bounded in octets.
///
/// Sixty-four shards, each a lock over an index and a queue. Eviction is SIEVE: Resources stand in the order they
/// came, a hit marks one visited, and a hand that walks from old to new drops the first that was not visited since
/// it last came by. A scan's Resources are never visited, so the hand takes them first. A Resource that anybody
/// still holds is passed over: its identity is being relied on. So is one that an operator has overridden, which
/// nothing could bring back.
package final class Registry: Sendable {
    private let shards: [Lock<Shard>]
    private let total = Atomic<Int>(0)
    private let population = Atomic<Int>(0)
    private let limitBytes: Atomic<Int>
    private let evictions = Atomic<Int>(0)
    private let loading = Atomic<Int>(0)
    /// Where the Resources tell their changes.
    package let feed = ChangeFeed()

    /// - Parameter limit: octets the Resources may take together; a soft limit, as what is in use always stays.
    package init(limit: Int) {
        shards = (0..<64).map { _ in Lock(Shard()) }
        limitBytes = Atomic(limit)
    }

    /// Octets taken by all Resources and the loads under way, as charged.
    package var bytes: Int { total.load(ordering: .relaxed) }
    /// How many Resources are in memory.
    package var count: Int { population.load(ordering: .relaxed) }
    /// How many Resources were dropped for room since the start.
    package var evicted: Int { evictions.load(ordering: .relaxed) }

    package var limit: Int {
        get { limitBytes.load(ordering: .relaxed) }
        set { limitBytes.store(newValue, ordering: .relaxed) }
    }

    /// The Resource of `key`, if it is in memory.
    package func resource(for key: borrowing ResourceKey) -> Resource? {
        shards[Registry.shard(key.hash)].withLock { shard in
            guard let slot = shard.find(key) else { return nil }
            return shard.slots[slot].resource
        }
    }

    /// The Resource of `key`; `make` is called, under the shard's lock, when there is none.
    package func resource(for key: borrowing ResourceKey, make: (ResourceKey) -> Resource) -> Resource {
        let copy = copy key
        let (resource, isNew) = shards[Registry.shard(copy.hash)].withLock { shard -> (Resource, Bool) in
            if let slot = shard.find(copy), let resource = shard.slots[slot].resource { return (resource, false) }
            let resource = make(copy)
            resource.memory.attach(ChangeTeller(feed: feed, key: copy, service: resource.service))
            shard.insert(resource, cost: Registry.overhead + copy.bytes.count)
            return (resource, true)
        }
        if isNew {
            population.add(1, ordering: .relaxed)
            charged(Registry.overhead + copy.bytes.count, startingAt: Registry.shard(copy.hash))
        }
        return resource
    }

    /// Says what a Resource's variants take now, and makes room when that is too much. Nothing happens for a
    /// Resource that was dropped in the meantime.
    package func charge(_ resource: Resource, content bytes: Int) {
        let cost = Registry.overhead + resource.key.bytes.count + bytes
        let difference = shards[Registry.shard(resource.key.hash)].withLock { shard -> Int in
            guard let slot = shard.find(resource.key), shard.slots[slot].resource === resource else { return 0 }
            defer { shard.slots[slot].cost = cost }
            return cost - shard.slots[slot].cost
        }
        charged(difference, startingAt: Registry.shard(resource.key.hash))
    }

    /// Octets reserved for loads under way.
    package var reserved: Int { loading.load(ordering: .relaxed) }

    /// Takes room for the content of a load under way. False when loads have half of all there is already, or when
    /// what cannot be evicted has taken the rest: then such content passes through without being kept.
    package func reserve(_ octets: Int) -> Bool {
        guard loading.add(octets, ordering: .relaxed).newValue <= limit / 2 else {
            loading.subtract(octets, ordering: .relaxed)
            return false
        }
        charged(octets, startingAt: octets)
        if bytes <= limit { return true }
        release(octets)
        return false
    }

    /// Gives room back that `reserve` took.
    package func release(_ octets: Int) {
        loading.subtract(octets, ordering: .relaxed)
        total.subtract(octets, ordering: .relaxed)
    }

    /// Drops every Resource that nobody holds and, if given, that `isRemovable` accepts.
    package func flushUnused(where isRemovable: (Resource) -> Bool = { _ in true }) {
        for shard in shards {
            // The dropped Resources are released after the lock.
            let dropped = shard.withLock { shard in
                shard.occupied.compactMap { slot in
                    guard isKnownUniquelyReferenced(&shard.slots[slot].resource!) else { return nil }
                    guard isRemovable(shard.slots[slot].resource!) else { return nil }
                    return shard.remove(slot)
                } as [Removed]
            }
            settle(dropped)
        }
    }

    /// All Resources at this moment, shard by shard.
    package func forEach(_ body: (Resource) -> Void) {
        for shard in shards {
            let resources = shard.withLock { shard in shard.occupied.compactMap { shard.slots[$0].resource } }
            resources.forEach(body)
        }
    }

    /// What does not hold although it should whenever nobody is changing anything; empty when all is well. For tests.
    package func checkInvariants() -> [String] {
        var found: [String] = []
        var cost = 0
        var population = 0
        for (number, shard) in shards.enumerated() {
            shard.withLock { shard in
                found += shard.checkInvariants().map { "shard \(number): \($0)" }
                cost += shard.occupied.reduce(0) { $0 + shard.slots[$1].cost }
                population += shard.occupied.count
            }
        }
        if cost + reserved != bytes { found.append("\(bytes) octets are counted, \(cost + reserved) are there") }
        if population != count { found.append("\(count) Resources are counted, \(population) are there") }
        return found
    }

    /// What a Resource costs besides its content, as measured with many small ones: the objects it is made of, its
    /// locks, its configuration, its place here.
    static let overhead = 1024

    private static func shard(_ hash: UInt64) -> Int { Int(hash >> 58) }

    private func charged(_ difference: Int, startingAt first: Int) {
        let now = total.add(difference, ordering: .relaxed).newValue
        guard difference > 0, now > limit else { return }
        for step in 0..<shards.count {
            let dropped = shards[(first + step) % shards.count].withLock { shard in
                shard.evict(excess: total.load(ordering: .relaxed) - limit)
            }
            settle(dropped)
            evictions.add(dropped.count, ordering: .relaxed)
            if total.load(ordering: .relaxed) <= limit { return }
        }
    }

    private func settle(_ dropped: [Removed]) {
        guard !dropped.isEmpty else { return }
        total.subtract(dropped.reduce(0) { $0 + $1.cost }, ordering: .relaxed)
        population.subtract(dropped.count, ordering: .relaxed)
    }
}

/// A Resource taken out of its shard, to be released once the lock is.
private struct Removed {
    let resource: Resource
    let cost: Int
}

/// One shard: slots in a doubly linked queue (old at `tail`, new at `head`) and chains of equal hashes.
private struct Shard {
    struct Slot {
        var resource: Resource?
        var cost = 0
        var newer = -1
        var older = -1
        /// The next slot whose key has the same hash.
        var chain = -1
    }

    var slots: [Slot] = []
    private var index: [UInt64: Int] = [:]
    private var free: [Int] = []
    private var head = -1
    private var tail = -1
    private var hand = -1

    var occupied: [Int] { slots.indices.filter { slots[$0].resource != nil } }

    func find(_ key: borrowing ResourceKey) -> Int? {
        guard var slot = index[key.hash] else { return nil }
        while slot >= 0 {
            if slots[slot].resource?.key.bytes == key.bytes { return slot }
            slot = slots[slot].chain
        }
        return nil
    }

    mutating func insert(_ resource: Resource, cost: Int) {
        var slot = Slot(resource: resource, cost: cost)
        slot.older = head
        slot.chain = index[resource.key.hash] ?? -1
        let place = free.popLast() ?? slots.count
        if place == slots.count { slots.append(slot) } else { slots[place] = slot }
        if head >= 0 { slots[head].newer = place }
        head = place
        if tail < 0 { tail = place }
        index[resource.key.hash] = place
    }

    mutating func remove(_ slot: Int) -> Removed {
        let gone = slots[slot]
        if gone.newer >= 0 { slots[gone.newer].older = gone.older } else { head = gone.older }
        if gone.older >= 0 { slots[gone.older].newer = gone.newer } else { tail = gone.newer }
        if hand == slot { hand = gone.newer }
        unchain(slot, hash: gone.resource!.key.hash)
        gone.resource!.memory.leave()
        slots[slot] = Slot()
        free.append(slot)
        return Removed(resource: gone.resource!, cost: gone.cost)
    }

    /// Drops unvisited, unused Resources until `excess` octets are gone or the hand has been round twice: once
    /// to clear the marks, once to use them.
    mutating func evict(excess: Int) -> [Removed] {
        var dropped: [Removed] = []
        var freed = 0
        var steps = 2 * (slots.count - free.count)
        while freed < excess, steps > 0 {
            steps -= 1
            if hand < 0 { hand = tail }
            guard hand >= 0 else { break }
            let slot = hand
            if slots[slot].resource!.memory.takeVisited() || !isKnownUniquelyReferenced(&slots[slot].resource!)
                || slots[slot].resource!.memory.isOverridden
            {
                hand = slots[slot].newer
                continue
            }
            let removed = remove(slot)
            freed += removed.cost
            dropped.append(removed)
        }
        return dropped
    }

    /// The queue holds every Resource once, the same way round in both directions, and each is found by its key.
    func checkInvariants() -> [String] {
        var found: [String] = []
        var forwards: [Int] = []
        var slot = tail
        while slot >= 0, forwards.count <= slots.count {
            forwards.append(slot)
            slot = slots[slot].newer
        }
        var backwards: [Int] = []
        slot = head
        while slot >= 0, backwards.count <= slots.count {
            backwards.append(slot)
            slot = slots[slot].older
        }
        if forwards != backwards.reversed() {
            found.append("the queue differs by direction: \(forwards), \(backwards)")
        }
        if forwards.sorted() != occupied { found.append("the queue has \(forwards), the slots \(occupied)") }
        if Set(free).count != free.count || !Set(free).isDisjoint(with: occupied)
            || free.count + occupied.count != slots.count
        {
            found.append("\(free.count) places are free, \(occupied.count) taken, of \(slots.count)")
        }
        if hand >= 0, slots[hand].resource == nil { found.append("the hand points to nothing") }
        for slot in occupied where find(slots[slot].resource!.key) != slot {
            found.append("\(slot) is not found by its key")
        }
        let chained = index.values.reduce(0) { count, first in
            var length = 0
            var slot = first
            while slot >= 0, length <= slots.count {
                length += 1
                slot = slots[slot].chain
            }
            return count + length
        }
        if chained != occupied.count { found.append("\(chained) are in chains of \(occupied.count)") }
        return found
    }

    private mutating func unchain(_ slot: Int, hash: UInt64) {
        guard let first = index[hash] else { return }
        if first == slot {
            index[hash] = slots[slot].chain >= 0 ? slots[slot].chain : nil
            return
        }
        var before = first
        while slots[before].chain != slot { before = slots[before].chain }
        slots[before].chain = slots[slot].chain
    }
}
