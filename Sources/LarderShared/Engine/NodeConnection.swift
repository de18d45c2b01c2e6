// SPDX-License-Identifier: Apache-2.0

package import LarderIO

/// A loop's connection to one node, made when it is needed and made anew when it broke. Confined to that loop.
///
/// No command waits longer than its own deadline: commands that arrive while the connection is being made wait for it
/// that long, and while the circuit is open none waits at all.
package final class NodeConnection {
    private enum State {
        case none
        /// These are sent when there is a connection.
        case connecting([(Command, PendingReply)])
        case open(EngineLink)
        case closed
    }

    package let node: EngineNode
    private let loop: EventLoop
    private let settings: EngineSettings
    private let dial: EngineDial
    /// Called when the circuit opens or closes, with the reason; without one when the node is given up.
    private let changed: (EngineNode, Bool, String) -> Void
    private var state = State.none
    private var circuit: EngineCircuit
    private var probeTimer: Timer?
    /// The last reason for a failure, for the log.
    package private(set) var lastFailure = ""

    /// Commands that may wait for a connection.
    private static let waitingLimit = 1024

    package init(
        _ node: EngineNode, on loop: EventLoop, _ settings: EngineSettings, dial: @escaping EngineDial,
        changed: @escaping (EngineNode, Bool, String) -> Void = { _, _, _ in }
    ) {
        self.node = node
        self.loop = loop
        self.settings = settings
        self.dial = dial
        self.changed = changed
        circuit = EngineCircuit(limits: settings.circuit, haste: Double.random(in: 0...settings.haste))
    }

    /// True if commands are sent.
    package var isUsable: Bool { circuit.isClosed }

    /// Sends commands together; each reply comes by `deadline`, in monotonic nanoseconds, or fails.
    package func send(_ commands: [Command], until deadline: Int64) -> [PendingReply] {
        guard circuit.isClosed else { return commands.map { _ in PendingReply(.resting) } }
        return post(commands, until: deadline)
    }

    package func close() {
        probeTimer?.cancel()
        if !circuit.isClosed { changed(node, true, "") }
        let old = state
        state = .closed
        switch old {
        case .open(let link): link.close()
        case .connecting(let waiting): for (_, reply) in waiting { reply.settle(.failure(.closed)) }
        case .none, .closed: break
        }
    }

    // MARK: Sending

    private func post(_ commands: [Command], until deadline: Int64) -> [PendingReply] {
        let replies = commands.map { _ in PendingReply() }
        let posted = Array(zip(commands, replies))
        switch state {
        case .closed: for reply in replies { reply.settle(.failure(.closed)) }
        case .open(let link):
            for (command, reply) in posted { link.send(command, reply) }
            link.flush()
        case .connecting(let waiting):
            if waiting.count < NodeConnection.waitingLimit {
                state = .connecting(waiting + posted)
            } else {
                for reply in replies { reply.settle(.failure(.overloaded)) }
            }
        case .none:
            state = .connecting(posted)
            loop.startHere { await self.connect() }
        }
        watch(replies, until: deadline)
        return replies
    }

    private func watch(_ replies: [PendingReply], until deadline: Int64) {
        guard !replies.allSatisfy(\.isSettled) else { return }
        let left = max(0, deadline.subtractingReportingOverflow(loop.monotonicHere()).partialValue)
        loop.timerHere(after: .nanoseconds(left)) { [weak self] in
            var isLate = false
            for reply in replies where reply.settle(.failure(.timedOut)) { isLate = true }
            if isLate {
                self?.failed("no reply in time")
            } else if replies.allSatisfy(\.isAnswered) {
                self?.circuit.answered()
            }
        }
    }

    // MARK: Connecting

    private func connect() async {
        let deadline = loop.monotonicHere().advanced(by: settings.connectTimeout)
        let stream: ByteStream
        do throws(IOError) {
            stream = try await dial(node, settings.connectTimeout)
        } catch {
            return refused("\(error)")
        }
        guard case .connecting = state else { return stream.close() }
        let link = EngineLink(stream, on: loop) { [weak self] link, reason in self?.ended(link, reason) }
        link.start()
        // No other command is sent before the engine has authenticated the connection.
        for command in settings.greeting {
            let reply = PendingReply()
            link.send(command, reply)
            link.flush()
            let left = max(0, deadline.subtractingReportingOverflow(loop.monotonicHere()).partialValue)
            let timer = loop.timerHere(after: .nanoseconds(left)) { reply.settle(.failure(.timedOut)) }
            let outcome = await reply.outcome()
            timer.cancel()
            if let reason = NodeConnection.objection(to: outcome) {
                link.close()
                return refused(reason)
            }
        }
        guard case .connecting(let waiting) = state, link.isOpen else {
            link.close()
            return refused("the engine closed the connection")
        }
        state = .open(link)
        for (command, reply) in waiting where !reply.isSettled { link.send(command, reply) }
        link.flush()
    }

    private static func objection(to outcome: EngineOutcome) -> String? {
        switch outcome {
        case .success(.refusal(let refusal)): refusal.text
        case .success: nil
        case .failure(let failure): "\(failure)"
        }
    }

    private func refused(_ reason: String) {
        guard case .connecting(let waiting) = state else { return }
        state = .none
        for (_, reply) in waiting { reply.settle(.failure(.unreachable(reason))) }
        failed(reason)
    }

    private func ended(_ link: EngineLink, _ reason: String) {
        guard case .open(let current) = state, current === link else { return }
        state = .none
        // An idle connection may be closed by the engine at any time.
        failed(reason)
    }

    // MARK: The circuit

    private func failed(_ reason: String) {
        lastFailure = reason
        guard circuit.failed(at: loop.monotonicHere()) else { return }
        rest()
        changed(node, false, reason)
    }

    /// Gives the connection up, so that no late replies pile up, and asks again later.
    private func rest() {
        if case .open(let link) = state {
            state = .none
            link.close()
        }
        scheduleProbe()
    }

    private func scheduleProbe() {
        guard let instant = circuit.probeAt else { return }
        let left = max(0, instant.subtractingReportingOverflow(loop.monotonicHere()).partialValue)
        probeTimer = loop.timerHere(after: .nanoseconds(left)) { [weak self] in
            guard let self else { return }
            loop.startHere { await self.probe() }
        }
    }

    private func probe() async {
        if case .closed = state { return }
        guard circuit.beginProbe(at: loop.monotonicHere()) else { return }
        // The first makes the connection, which may take its time; the second says how fast the engine is.
        let patient = loop.monotonicHere().advanced(by: settings.connectTimeout)
        var outcome = await post([Command("PING")], until: patient)[0].outcome()
        if case .success = outcome {
            let soon = loop.monotonicHere().advanced(by: settings.timeout)
            outcome = await post([Command("PING")], until: soon)[0].outcome()
        }
        if case .closed = state { return }
        let isGood = outcome == .success(.status("PONG"))
        if circuit.endProbe(isGood: isGood, at: loop.monotonicHere()) {
            changed(node, true, "the engine answers again")
        } else {
            rest()
        }
    }
}

/// Why there is no reply to a command.
package enum EngineFailure: Error, Sendable, Equatable {
    /// The deadline passed first.
    case timedOut
    /// The node could not be reached, or the connection broke.
    case unreachable(String)
    /// The node has failed too often, and is not asked for the moment.
    case resting
    /// So much is waiting to be sent that no more is taken.
    case overloaded
    /// The engine replied with an error.
    case refused(Refusal)
    /// The connection was closed on our side.
    case closed
}

package typealias EngineOutcome = Result<Reply, EngineFailure>

/// A reply that one task waits for. It comes once; later ones are dropped. Confined to its loop.
package final class PendingReply {
    private let promise = Promise<EngineOutcome>()
    package private(set) var isSettled = false
    /// True if the engine replied, with any reply.
    package private(set) var isAnswered = false

    package init() {}

    package convenience init(_ failure: EngineFailure) {
        self.init()
        settle(.failure(failure))
    }

    /// False when there is an outcome already, which stays.
    @discardableResult
    package func settle(_ outcome: EngineOutcome) -> Bool {
        if isSettled { return false }
        isSettled = true
        if case .success = outcome { isAnswered = true }
        return promise.fulfil(outcome)
    }

    /// Waits for the outcome. One task may call this, once.
    package func outcome() async -> EngineOutcome { await promise.value() }
}
