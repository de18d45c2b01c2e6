// SPDX-License-Identifier: Apache-2.0

/// The order in which what is kept goes when there is no room: which entry is next, and nothing else.
///
/// This is S3-FIFO with one mark for each entry. Whatever comes is on probation first, in a queue that is given a
/// tenth of all octets. When it reaches the end of that queue, it goes, unless it was used meanwhile: then it moves
/// to the main queue, round which a hand walks from old to new that drops the first entry that was not used since
/// it last came by. What fell out of probation is remembered for a while by its hash (`GhostTable`), and if it is
/// wanted again in that time, it goes straight to the main queue. So a scan only ever passes through a tenth of the
/// room, and what is used at least twice within the span of everything kept stays.
///
/// Entries that have nothing yet, or never will, stand in a row of their own before all others, so that they never take
/// room from those that have something.
///
/// How it compares with other policies is measured by `LarderBenchmarks policy`.
package struct EvictionQueue<Entry> {
    /// What the owner says about an entry that may go.
    package enum Standing {
        /// It was used since it was last asked about; the owner has forgotten that now.
        case used
        /// It cannot go now.
        case held
        /// It may go.
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

    /// The rows an entry passes through.
    private enum Stage: Int { case blank, probation, main }

    /// Nodes in a row, linked both ways.
    private struct Row {
        var newest = -1
        var oldest = -1
        var count = 0
        var cost = 0
    }

    private var nodes: [Node] = []
    private var free: [Int] = []
    private var blank = Row()
    private var probation = Row()
    private var main = Row()
    /// The place in the main queue that the hand looks at next; -1 is its old end.
    private var hand = -1
    private var ghosts = GhostTable()

    package init() {}

    /// How many entries there are.
    package var count: Int { blank.count + probation.count + main.count }
    /// What they cost together.
    package var cost: Int { blank.cost + probation.cost + main.cost }
    /// What those cost that have nothing.
    package var blankCost: Int { blank.cost }
    /// The places of all entries, in no order.
    package var places: [Int] { nodes.indices.filter { nodes[$0].entry != nil } }

    /// The entry at a place that is taken.
    package subscript(place: Int) -> Entry {
        // Holds: a place is known to whoever has an entry there, and given up with it.
        get { nodes[place].entry! }
        _modify { yield &nodes[place].entry! }
    }

    package func cost(at place: Int) -> Int { nodes[place].cost }

    /// Takes an entry in, and says at which place it can be found from now on.
    ///
    /// - Parameters:
    ///   - hash: by which it is known again after it has gone.
    ///   - isBlank: whether it has nothing yet; `charge` says so when it has.
    package mutating func insert(_ entry: Entry, hash: UInt64, cost: Int, isBlank: Bool = false) -> Int {
        let place = free.popLast() ?? nodes.count
        let node = Node(entry: entry, hash: hash, cost: cost, stage: isBlank ? .blank : firstStage(hash))
        if place == nodes.count { nodes.append(node) } else { nodes[place] = node }
        link(place)
        return place
    }

    /// Changes what an entry costs, and returns by how much. One that had nothing and has something now begins as if it
    /// had just come.
    package mutating func charge(_ place: Int, cost: Int, isBlank: Bool = false) -> Int {
        let difference = cost - nodes[place].cost
        nodes[place].cost = cost
        switch nodes[place].stage {
        case .blank: blank.cost += difference
        case .probation: probation.cost += difference
        case .main: main.cost += difference
        }
        if nodes[place].stage == .blank, !isBlank { move(place, to: firstStage(nodes[place].hash)) }
        return difference
    }

    /// Takes an entry out, and returns it and what it cost.
    ///
    /// - Parameter isEvicted: whether it goes for want of room, and may be wanted again.
    @discardableResult
    package mutating func remove(_ place: Int, isEvicted: Bool = false) -> (entry: Entry, cost: Int) {
        unlink(place)
        let gone = nodes[place]
        if isEvicted, gone.stage == .probation { ghosts.insert(gone.hash, among: count) }
        nodes[place] = Node()
        free.append(place)
        // Holds: the place was linked, so an entry is there.
        return (gone.entry!, gone.cost)
    }

    /// The entry that goes next; nil if none can. It stays until it is removed.
    ///
    /// - Parameter standing: asked about one entry after the other, about each a few times at most.
    package mutating func nextVictim(_ standing: (inout Entry) -> Standing) -> Int? {
        if let place = nextBlank(standing) { return place }
        var probationSteps = probation.count
        var mainSteps = 2 * (main.count + probation.count)
        while true {
            let isCrowded = probation.cost * EvictionQueue.probationShare > cost
            if probationSteps > 0, probation.count > 0, isCrowded || mainSteps == 0 || main.count == 0 {
                probationSteps -= 1
                let place = probation.oldest
                // Holds: the rows link places that have entries, which `checkInvariants` looks at.
                switch standing(&nodes[place].entry!) {
                case .idle: return place
                case .used: move(place, to: .main)
                // Its time begins anew: that it is held now says nothing about later.
                case .held: move(place, to: .probation)
                }
            } else if mainSteps > 0, main.count > 0 {
                mainSteps -= 1
                if hand < 0 { hand = main.oldest }
                let place = hand
                // Holds: the hand is on a place of the row, which has an entry.
                if case .idle = standing(&nodes[place].entry!) { return place }
                hand = nodes[place].newer
            } else {
                return nil
            }
        }
    }

    /// The entry with nothing that goes next; nil if none can.
    package mutating func nextBlank(_ standing: (inout Entry) -> Standing) -> Int? {
        for _ in 0..<blank.count {
            let place = blank.oldest
            // Holds: the rows link places that have entries, which `checkInvariants` looks at.
            switch standing(&nodes[place].entry!) {
            case .idle: return place
            case .used: move(place, to: .main)
            case .held: move(place, to: .blank)
            }
        }
        return nil
    }

    /// What a part of all octets is for entries on probation.
    private static var probationShare: Int { 10 }

    /// Where an entry with something begins: what went not long ago is not on probation again.
    private mutating func firstStage(_ hash: UInt64) -> Stage { ghosts.take(hash, among: count) ? .main : .probation }

    private mutating func move(_ place: Int, to stage: Stage) {
        unlink(place)
        nodes[place].stage = stage
        link(place)
    }

    private mutating func link(_ place: Int) {
        switch nodes[place].stage {
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

    /// What does not hold although it always should; empty when all is well. For tests.
    package func checkInvariants() -> [String] {
        var found =
            problems(of: blank, .blank) + problems(of: probation, .probation) + problems(of: main, .main)
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
