// SPDX-License-Identifier: Apache-2.0

/// Which node has which slots, as a cluster says. Without an entry any node is asked, and its `MOVED` tells.
package struct SlotMap: Sendable, Equatable {
    private struct Run: Sendable, Equatable {
        let slots: ClosedRange<Int>
        let node: EngineNode
    }

    /// Ascending and disjoint.
    private var runs: [Run] = []

    package init() {}

    /// Reads the reply to `CLUSTER SLOTS`; nil if the reply has another form.
    ///
    /// - Parameter asked: the node that replied. Its host replaces an empty host in the reply.
    package init?(_ reply: Reply, from asked: EngineNode) {
        guard let entries = reply.elements, entries.count <= HashSlot.range.count else { return nil }
        for entry in entries {
            guard let parts = entry.elements, parts.count >= 3, let first = parts[0].number, let last = parts[1].number,
                let slots = SlotMap.slots(first, last), let master = parts[2].elements, master.count >= 2,
                let port = master[1].number.flatMap({ UInt16(exactly: $0) }), port > 0
            else { return nil }
            let host = master[0].text ?? ""
            guard host.utf8.count <= 255 else { return nil }
            let named = EngineNode.tcp(host: host == "?" ? "" : host, port: port)
            runs.append(Run(slots: slots, node: named.completed(from: asked)))
        }
        runs.sort { $0.slots.lowerBound < $1.slots.lowerBound }
        guard zip(runs, runs.dropFirst()).allSatisfy({ $0.slots.upperBound < $1.slots.lowerBound }) else { return nil }
    }

    private static func slots(_ first: Int64, _ last: Int64) -> ClosedRange<Int>? {
        guard 0 <= first, first <= last, last < 16_384 else { return nil }
        return Int(first)...Int(last)
    }

    package var isEmpty: Bool { runs.isEmpty }

    /// All nodes with slots.
    package var nodes: [EngineNode] {
        var seen: Set<EngineNode> = []
        return runs.map(\.node).filter { seen.insert($0).inserted }
    }

    package func node(of slot: Int) -> EngineNode? {
        var low = 0
        var high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].slots.upperBound < slot { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count, runs[low].slots.contains(slot) else { return nil }
        return runs[low].node
    }

    /// The slot belongs to `node` from now on (`MOVED`).
    package mutating func move(_ slot: Int, to node: EngineNode) {
        var changed: [Run] = []
        for run in runs {
            guard run.slots.contains(slot) else {
                changed.append(run)
                continue
            }
            if run.slots.lowerBound < slot {
                changed.append(Run(slots: run.slots.lowerBound...(slot - 1), node: run.node))
            }
            if slot < run.slots.upperBound {
                changed.append(Run(slots: (slot + 1)...run.slots.upperBound, node: run.node))
            }
        }
        changed.append(Run(slots: slot...slot, node: node))
        runs = changed.sorted { $0.slots.lowerBound < $1.slots.lowerBound }
    }
}
