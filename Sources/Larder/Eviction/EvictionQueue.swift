// SPDX-License-Identifier: Apache-2.0

/// The order in which entries are evicted: which entry is next, and nothing else.
///
/// This is S3-FIFO with one bit for each entry. New entries start in the probation queue, which is given a tenth of all
/// bytes. At the end of that queue, an entry is evicted unless it was used meanwhile: then it moves to the main queue,
/// round which a hand moves from old to new and evicts the first entry that was not used since its last pass. Entries
/// evicted from probation are remembered for a while by their hash (`GhostSet`), and if one is inserted again in that
/// time, it starts in the main queue. So a scan only ever passes through a tenth of the room, and entries that are used
/// at least twice within the span of the queue stay.
///
/// Entries without content, yet or for good, have a queue of their own that is evicted first, so that they never
/// displace entries with content. Those that are known to get none have another one before that.
///
/// `LarderBenchmarks policy` compares it with other policies.
package struct EvictionQueue<Entry> {
    /// The owner's answer about an eviction candidate.
    package enum Standing {
        /// It was used since the last query; the query clears the bit.
        case used
        /// It cannot be evicted now.
        case held
        /// It may be evicted.
        case idle
    }

    private struct Node {
        var entry: Entry?
        var hash: UInt64 = 0
        var cost = 0
        var newer = -1
        var older = -1
        var stage = Stage.probation
    }

    /// The queues an entry passes through.
    private enum Stage: Int {
        case passing, blank, probation, main

        var isBlank: Bool { self == .passing || self == .blank }
    }

    /// A doubly linked list of nodes.
    private struct Row {
        var newest = -1
        var oldest = -1
        var count = 0
        var cost = 0
    }

    private var nodes: [Node] = []
    private var free: [Int] = []
    private var passing = Row()
    private var blank = Row()
    private var probation = Row()
    private var main = Row()
    /// The place in the main queue that the hand examines next; -1 is its old end.
    private var hand = -1
    private var ghosts = GhostSet()

    package init() {}

    /// How many entries there are.
    package var count: Int { passing.count + blank.count + probation.count + main.count }
    /// The total cost.
    package var cost: Int { passing.cost + blank.cost + probation.cost + main.cost }
    /// How many entries are known to get no content.
    package var passingCount: Int { passing.count }
    /// The cost of entries without content.
    package var blankCost: Int { blank.cost }
    /// The places of all entries, in no order.
    package var places: [Int] { nodes.indices.filter { nodes[$0].entry != nil } }

    /// The entry at an occupied place.
    package subscript(place: Int) -> Entry {
        // Holds: the owner of an entry knows its place, and forgets it when the entry is removed; and the rows and the
        // hand are on places that have entries, which `checkInvariants` verifies.
        get { nodes[place].entry! }
        _modify { yield &nodes[place].entry! }
    }

    package func cost(at place: Int) -> Int { nodes[place].cost }

    /// Inserts an entry and returns its place.
    ///
    /// - Parameters:
    ///   - hash: identifies it after its eviction.
    ///   - isBlank: whether it has no content yet; `charge` is called when it has.
    package mutating func insert(_ entry: Entry, hash: UInt64, cost: Int, isBlank: Bool = false) -> Int {
        let place = free.popLast() ?? nodes.count
        let node = Node(entry: entry, hash: hash, cost: cost, stage: isBlank ? .blank : firstStage(hash))
        if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
        link(place)
        return place
    }

    /// Changes the cost of an entry, and returns the difference. An entry that had no content and has some now starts
    /// like a new one.
    package mutating func charge(_ place: Int, cost: Int, isBlank: Bool = false) -> Int {
        let difference = cost - nodes[place].cost
        nodes[place].cost = cost
        switch nodes[place].stage {
        case .passing: passing.cost += difference
        case .blank: blank.cost += difference
        case .probation: probation.cost += difference
        case .main: main.cost += difference
        }
        if nodes[place].stage.isBlank, !isBlank { move(place, to: firstStage(nodes[place].hash)) }
        return difference
    }

    /// Says that an entry without content is known to get none, until `charge` says otherwise.
    package mutating func pass(_ place: Int) {
        if nodes[place].stage.isBlank { move(place, to: .passing) }
    }

    /// Removes an entry, and returns it and its cost.
    ///
    /// - Parameter isEvicted: whether it is evicted for room, and may be inserted again.
    @discardableResult
    package mutating func remove(_ place: Int, isEvicted: Bool = false) -> (entry: Entry, cost: Int) {
        unlink(place)
        let (entry, gone) = (self[place], nodes[place])
        if isEvicted, gone.stage == .probation { ghosts.insert(gone.hash, among: count) }
        nodes[place] = Node()
        free.append(place)
        return (entry, gone.cost)
    }

    /// The entry to evict next; nil if none can be. It stays until it is removed.
    ///
    /// - Parameter standing: called for one entry after the other, for each a few times at most.
    package mutating func nextVictim(_ standing: (inout Entry) -> Standing) -> Int? {
        if let place = nextPassing(standing) ?? nextBlank(standing) { return place }
        var probationSteps = probation.count
        var mainSteps = 2 * (main.count + probation.count)
        while true {
            let isCrowded = probation.cost * EvictionQueue.probationShare > cost
            if probationSteps > 0, probation.count > 0, isCrowded || mainSteps == 0 || main.count == 0 {
                probationSteps -= 1
                let place = probation.oldest
                switch standing(&self[place]) {
                case .idle: return place
                case .used: move(place, to: .main)
                // It starts anew: that it cannot be evicted now says nothing about later.
                case .held: move(place, to: .probation)
                }
            } else if mainSteps > 0, main.count > 0 {
                mainSteps -= 1
                if hand < 0 { hand = main.oldest }
                let place = hand
                if case .idle = standing(&self[place]) { return place }
                hand = nodes[place].newer
            } else {
                return nil
            }
        }
    }

    /// The next entry to evict among entries known to get no content; nil if the oldest of them cannot be evicted. A
    /// used entry counts as blank from now on.
    package mutating func nextPassing(_ standing: (inout Entry) -> Standing) -> Int? {
        for _ in 0..<min(passing.count, EvictionQueue.passingSteps) {
            let place = passing.oldest
            switch standing(&self[place]) {
            case .idle: return place
            case .used: move(place, to: .blank)
            case .held: move(place, to: .passing)
            }
        }
        return nil
    }

    /// The entry without content to evict next; nil if none can be.
    package mutating func nextBlank(_ standing: (inout Entry) -> Standing) -> Int? {
        for _ in 0..<blank.count {
            let place = blank.oldest
            switch standing(&self[place]) {
            case .idle: return place
            case .used: move(place, to: .main)
            case .held: move(place, to: .blank)
            }
        }
        return nil
    }

    /// The number of entries examined per eviction. Without a limit, each new entry would examine all entries in use.
    private static var passingSteps: Int { 4 }

    /// One part in this many of all bytes is for entries on probation.
    private static var probationShare: Int { 10 }

    /// The queue in which an entry with content starts: recently evicted ones skip probation.
    private mutating func firstStage(_ hash: UInt64) -> Stage { ghosts.take(hash, among: count) ? .main : .probation }

    private mutating func move(_ place: Int, to stage: Stage) {
        unlink(place)
        nodes[place].stage = stage
        link(place)
    }

    private mutating func link(_ place: Int) {
        switch nodes[place].stage {
        case .passing: EvictionQueue.link(place, of: &nodes, in: &passing)
        case .blank: EvictionQueue.link(place, of: &nodes, in: &blank)
        case .probation: EvictionQueue.link(place, of: &nodes, in: &probation)
        case .main: EvictionQueue.link(place, of: &nodes, in: &main)
        }
    }

    private static func link(_ place: Int, of nodes: inout [Node], in row: inout Row) {
        nodes[place].older = row.newest
        nodes[place].newer = -1
        if row.newest >= 0 { nodes[row.newest].newer = place } else { row.oldest = place }
        row.newest = place
        row.count += 1
        row.cost += nodes[place].cost
    }

    private mutating func unlink(_ place: Int) {
        if hand == place { hand = nodes[place].newer }
        switch nodes[place].stage {
        case .passing: EvictionQueue.unlink(place, of: &nodes, from: &passing)
        case .blank: EvictionQueue.unlink(place, of: &nodes, from: &blank)
        case .probation: EvictionQueue.unlink(place, of: &nodes, from: &probation)
        case .main: EvictionQueue.unlink(place, of: &nodes, from: &main)
        }
    }

    private static func unlink(_ place: Int, of nodes: inout [Node], from row: inout Row) {
        let (newer, older) = (nodes[place].newer, nodes[place].older)
        if newer >= 0 { nodes[newer].older = older } else { row.newest = older }
        if older >= 0 { nodes[older].newer = newer } else { row.oldest = newer }
        row.count -= 1
        row.cost -= nodes[place].cost
    }

    // MARK: Invariants

    /// The violated invariants; empty when all hold. For tests.
    package func checkInvariants() -> [String] {
        var found =
            problems(of: passing, .passing) + problems(of: blank, .blank) + problems(of: probation, .probation)
            + problems(of: main, .main)
        let taken = places
        if taken.count != count { found.append("\(taken.count) places are taken, \(count) are in rows") }
        if Set(free).count != free.count || !Set(free).isDisjoint(with: taken)
            || free.count + taken.count != nodes.count
        {
            found.append("\(free.count) places are free, \(taken.count) taken, of \(nodes.count)")
        }
        if hand >= 0, nodes[hand].entry == nil || nodes[hand].stage != .main {
            found.append("the hand points to nothing")
        }
        return found
    }

    private func problems(of row: Row, _ stage: Stage) -> [String] {
        func walk(from start: Int, by step: (Node) -> Int) -> [Int] {
            var places: [Int] = []
            var place = start
            while place >= 0, places.count <= nodes.count {
                places.append(place)
                place = step(nodes[place])
            }
            return places
        }
        let forwards = walk(from: row.oldest, by: \.newer)
        let backwards = walk(from: row.newest, by: \.older)
        var found: [String] = []
        if forwards != backwards.reversed() {
            found.append("a row differs by direction: \(forwards), \(backwards)")
        }
        if forwards.count != row.count { found.append("a row counts \(row.count) and has \(forwards.count)") }
        if forwards.contains(where: { nodes[$0].stage != stage || nodes[$0].entry == nil }) {
            found.append("a row has what is not its own")
        }
        let cost = forwards.reduce(0) { $0 + nodes[$1].cost }
        if cost != row.cost { found.append("a row costs \(cost) and says \(row.cost)") }
        return found
    }
}
