// SPDX-License-Identifier: Apache-2.0
package import LarderIO

/// A loop's way to the engine: one node, or the nodes of a cluster by the slots of keys. Confined to that loop.
package final class Engine {
    private let loop: EventLoop
    package let settings: EngineSettings
    private let dial: EngineDial
    private let changed: (EngineNode, Bool, String) -> Void
    private var connections: [EngineNode: NodeConnection] = [:]
    private var slots = SlotMap()
    private var isReadingSlots = false
    private var slotsReadAt = Int64.min
    private var isClosed = false

    /// How often a command follows the engine to another node.
    private static let redirectionLimit = 3
    /// How long a node is waited for that is asked for the slots.
    private static let slotsTime = Duration.milliseconds(250)
    /// A cluster has at most so many nodes.
    private static let nodeLimit = 1000

    package init(
        on loop: EventLoop, _ settings: EngineSettings, dial: @escaping EngineDial,
        changed: @escaping (EngineNode, Bool, String) -> Void = { _, _, _ in }
    ) {
        self.loop = loop
        self.settings = settings
        self.dial = dial
        self.changed = changed
    }

    /// True if a command for `key` would be sent.
    package func isUsable(for key: [UInt8]) -> Bool {
        if connection(to: node(for: key))?.isUsable ?? false { return true }
        // Another node may have its slots by now.
        if settings.isCluster { readSlots() }
        return false
    }

    package func close() {
        isClosed = true
        for connection in connections.values { connection.close() }
    }

    /// The instant `duration` from now.
    package func instant(after duration: Duration) -> Int64 { loop.monotonicHere().advanced(by: duration) }

    /// Sends a command and waits for its reply, at most until `deadline`.
    package func perform(_ command: Command, until deadline: Int64) async -> EngineOutcome {
        await perform([command], until: deadline)[0]
    }

    /// Sends commands, those for one node together, and waits for all replies. An error reply is a failure.
    package func perform(_ commands: [Command], until deadline: Int64) async -> [EngineOutcome] {
        let sent = send(commands, until: deadline)
        var outcomes: [EngineOutcome] = []
        for (command, (node, reply)) in zip(commands, sent) {
            outcomes.append(await follow(command, from: node, await reply.outcome(), until: deadline))
        }
        return outcomes
    }

    private func send(_ commands: [Command], until deadline: Int64) -> [(EngineNode, PendingReply)] {
        if settings.isCluster, slots.isEmpty { readSlots() }
        let nodes = commands.map { node(for: $0.key) }
        var sent: [(EngineNode, PendingReply)?] = commands.map { _ in nil }
        for node in Set(nodes) {
            let places = nodes.indices.filter { nodes[$0] == node }
            guard let connection = connection(to: node) else { continue }
            let replies = connection.send(places.map { commands[$0] }, until: deadline)
            for (place, reply) in zip(places, replies) { sent[place] = (node, reply) }
        }
        return zip(sent, nodes).map { $0 ?? ($1, PendingReply(.closed)) }
    }

    private func follow(
        _ command: Command, from first: EngineNode, _ outcome: EngineOutcome, until deadline: Int64
    ) async -> EngineOutcome {
        var node = first
        var outcome = outcome
        for _ in 0..<Engine.redirectionLimit {
            guard case .success(.refusal(let refusal)) = outcome, settings.isCluster else { break }
            let isMoved: Bool
            switch refusal.kind {
            case .moved(let slot, let next):
                isMoved = true
                node = next.completed(from: node)
                slots.move(slot, to: node)
                readSlots()
            case .ask(_, let next):
                isMoved = false
                node = next.completed(from: node)
            default: return .failure(.refused(refusal))
            }
            guard let connection = connection(to: node) else { return .failure(.refused(refusal)) }
            let commands = isMoved ? [command] : [Command("ASKING"), command]
            let replies = connection.send(commands, until: deadline)
            outcome = await replies[replies.count - 1].outcome()
        }
        switch outcome {
        case .success(.refusal(let refusal)): return .failure(.refused(refusal))
        case .failure(.unreachable), .failure(.timedOut), .failure(.resting):
            // Another node may have its slots by now.
            if settings.isCluster { readSlots() }
            return outcome
        default: return outcome
        }
    }

    // MARK: Nodes

    private func node(for key: [UInt8]?) -> EngineNode {
        if settings.isCluster, let key, let known = slots.node(of: HashSlot.slot(of: key)) { return known }
        // Any of them says where to go.
        return settings.nodes.first { connection(to: $0)?.isUsable ?? false } ?? settings.nodes[0]
    }

    private func connection(to node: EngineNode) -> NodeConnection? {
        if let known = connections[node] { return known }
        guard !isClosed, connections.count < Engine.nodeLimit else { return nil }
        let made = NodeConnection(node, on: loop, settings, dial: dial, changed: changed)
        connections[node] = made
        return made
    }

    /// Asks for the slots in the background, at most once a second.
    private func readSlots() {
        let now = loop.monotonicHere()
        guard !isReadingSlots, !isClosed, slotsReadAt == .min || now >= slotsReadAt.advanced(by: .seconds(1)) else {
            return
        }
        isReadingSlots = true
        slotsReadAt = now
        loop.startHere {
            await self.askForSlots()
            self.isReadingSlots = false
        }
    }

    private func askForSlots() async {
        var asked: Set<EngineNode> = []
        for node in slots.nodes + settings.nodes where asked.insert(node).inserted {
            guard let connection = connection(to: node), connection.isUsable else { continue }
            // A node that hangs must not keep the others from being asked.
            let deadline = instant(after: max(settings.timeout, Engine.slotsTime))
            let reply = await connection.send([Command("CLUSTER", "SLOTS")], until: deadline)[0].outcome()
            guard case .success(let answer) = reply, let map = SlotMap(answer, from: node), !map.isEmpty else {
                continue
            }
            slots = map
            forgetNodes(besides: map.nodes)
            return
        }
    }

    /// Closes the connections to nodes that the cluster no longer has.
    private func forgetNodes(besides nodes: [EngineNode]) {
        let kept = Set(nodes + settings.nodes)
        for (node, connection) in connections where !kept.contains(node) {
            connection.close()
            connections[node] = nil
        }
    }
}
