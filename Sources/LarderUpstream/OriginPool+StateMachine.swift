// SPDX-License-Identifier: Apache-2.0

import DequeModule

/// Decides which request gets which connection to one origin: reuse one, make one, wait in line, or be refused.
///
/// A request first uses the idle connection used last. Otherwise an attempt to connect is begun for it, if the limit
/// leaves room, or it waits for its turn. The next free connection serves the request that has waited longest: a
/// request does not depend on its own attempt, and an attempt outlives the request it was begun for.
///
/// Connections and requests are numbers here, unique for the life of the machine. Instants are monotonic
/// nanoseconds.
struct OriginPoolStateMachine {
    struct Limits: Equatable {
        /// Connections in use, idle and being made.
        var connections = 256
        /// Connections kept idle.
        var idle = 64
        /// Requests that wait while no attempt is made for them.
        var waiters = 1024
        /// How long a connection is kept idle, in nanoseconds.
        var idleTime: Int64 = 60_000_000_000
        /// How long a connection stays idle after a response before its reuse, in nanoseconds. Bytes received in that
        /// time belong to no request, and are detected.
        var restTime: Int64 = 0
        /// How long no connection is used again after the origin has said something that answers nothing, in
        /// nanoseconds.
        var distrustTime: Int64 = 300_000_000_000
    }

    /// The fitness of an idle connection for a request.
    enum Fitness: Equatable {
        case fit
        /// Unfit for this request: the request's rules forbid the address that the connection leads to.
        case forbidden
        /// Unfit for any request: the peer closed the connection, or sent bytes unasked.
        case broken
    }

    enum Action: Equatable {
        /// The connection carries the request from now on.
        case lease(Int, to: Int)
        /// Begin to connect under the rules of the request; `connected` or `connectFailed` follows.
        case connect(for: Int)
        /// The request waits for its turn, and not for ever.
        case wait(Int)
        /// The number of waiting requests has reached its limit.
        case refuse(Int)
        /// The attempt that was begun for the request failed, and it still waits.
        case fail(Int)
        /// The connection waits for another request; watch it.
        case park(Int)
        case close(Int)
    }

    private struct Idle: Equatable {
        let connection: Int
        /// When it has rested.
        let from: Int64
        /// When it is too old, by our limit or the origin's word.
        let until: Int64
    }

    private struct Waiter: Equatable {
        let request: Int
        /// Wants a connection that carried nothing before.
        let freshOnly: Bool
        var hasAttempt: Bool
    }

    /// The one used last is at the end.
    private var idle: [Idle] = []
    private var leased: Set<Int> = []
    /// The requests for which attempts were begun that have not ended; some may be served or gone.
    private var attempts: Set<Int> = []
    private var waiters: Deque<Waiter> = []
    private var isDraining = false
    /// Up to when no connection carries a second request.
    private var distrustedUntil = Int64.min

    var idleCount: Int { idle.count }
    /// Connections in use or being made.
    var activeCount: Int { leased.count + attempts.count }
    var waitingCount: Int { waiters.count }
    var isUnused: Bool { idle.isEmpty && leased.isEmpty && attempts.isEmpty && waiters.isEmpty }
    private var total: Int { idle.count + leased.count + attempts.count }

    // MARK: Requests

    /// A request wants a connection.
    mutating func requested(
        _ request: Int, freshOnly: Bool, now: Int64, limits: Limits, fitness: (Int) -> Fitness
    ) -> [Action] {
        var actions: [Action] = []
        if !freshOnly, let connection = reused(now: now, fitness: fitness, closing: &actions) {
            return actions + [.lease(connection, to: request)]
        }
        // Close the oldest idle connection, because no idle connection can serve this request.
        if total >= limits.connections, !idle.isEmpty { actions.append(.close(idle.removeFirst().connection)) }
        if total < limits.connections {
            attempts.insert(request)
            waiters.append(Waiter(request: request, freshOnly: freshOnly, hasAttempt: true))
            return actions + [.connect(for: request)]
        }
        guard waiters.lazy.filter({ !$0.hasAttempt }).count < limits.waiters else {
            return actions + [.refuse(request)]
        }
        waiters.append(Waiter(request: request, freshOnly: freshOnly, hasAttempt: false))
        return actions + [.wait(request)]
    }

    /// The idle connection used last that may serve a request, which has it from now on. Those found to be useless on
    /// the way are to be closed.
    mutating func reused(now: Int64, fitness: (Int) -> Fitness, closing actions: inout [Action]) -> Int? {
        guard let connection = takeIdle(now, fitness, &actions) else { return nil }
        leased.insert(connection)
        return connection
    }

    /// A request that waits was given up, or its time is up. An attempt begun for it goes on. False when it did not
    /// wait any more.
    @discardableResult
    mutating func withdrawn(_ request: Int) -> Bool {
        guard let index = waiters.firstIndex(where: { $0.request == request }) else { return false }
        waiters.remove(at: index)
        return true
    }

    // MARK: Attempts

    /// The attempt begun for `request` succeeded with `connection`.
    mutating func connected(
        _ connection: Int, for request: Int, now: Int64, limits: Limits, fitness: (Int, Int) -> Fitness
    ) -> [Action] {
        let wasAttempted = attempts.remove(request) != nil
        // Holds: `OriginPool` reports the end of each attempt that it began once, for any behaviour of the origin.
        precondition(wasAttempted, "an attempt ends once")
        // Its own rules chose the address; it need not be asked.
        if withdrawn(request) {
            leased.insert(connection)
            return [.lease(connection, to: request)]
        }
        return offer(connection, isFresh: true, now: now, until: .max, limits: limits, fitness: fitness)
    }

    /// The attempt begun for `request` failed.
    mutating func connectFailed(for request: Int, limits: Limits) -> [Action] {
        let wasAttempted = attempts.remove(request) != nil
        // Holds: `OriginPool` reports the end of each attempt that it began once, for any behaviour of the origin.
        precondition(wasAttempted, "an attempt ends once")
        let failure: [Action] = withdrawn(request) ? [.fail(request)] : []
        return failure + begin(limits)
    }

    // MARK: Connections

    /// An exchange is over and left its connection clean. `until` is when the origin will close it, as far as it said.
    mutating func released(
        _ connection: Int, now: Int64, until: Int64 = .max, limits: Limits, fitness: (Int, Int) -> Fitness
    ) -> [Action] {
        endLease(connection)
        return offer(connection, isFresh: false, now: now, until: until, limits: limits, fitness: fitness)
    }

    /// The same without waiting requests and without reasons to close the connection, as usual: it is to be watched
    /// then. False, without a change, where `released` has to decide.
    mutating func parked(_ connection: Int, now: Int64, until: Int64 = .max, limits: Limits) -> Bool {
        guard waiters.isEmpty, now >= distrustedUntil, total <= limits.connections,
            mayKeep(now: now, until: until, limits)
        else { return false }
        endLease(connection)
        keep(connection, now: now, until: until, limits)
        return true
    }

    /// A connection in use is closed, or leaves the pool.
    mutating func ended(_ connection: Int, limits: Limits) -> [Action] {
        endLease(connection)
        return begin(limits)
    }

    /// The peer closed an idle connection.
    mutating func idleEnded(_ connection: Int) -> [Action] {
        guard let index = idle.firstIndex(where: { $0.connection == connection }) else { return [] }
        idle.remove(at: index)
        return [.close(connection)]
    }

    /// Since when the idle connections are there, the oldest first.
    var idleSince: [Int64] { idle.map(\.from) }

    /// Closes the connections that have been idle since `instant` or longer, because too many are idle.
    mutating func trimmed(through instant: Int64) -> [Action] {
        let old = idle.prefix { $0.from <= instant }
        idle.removeFirst(old.count)
        return old.map { .close($0.connection) }
    }

    /// The origin said something that answers nothing.
    mutating func distrusted(now: Int64, limits: Limits) -> [Action] {
        let (until, isPastAll) = now.addingReportingOverflow(limits.distrustTime)
        distrustedUntil = isPastAll ? .max : until
        return discardIdle()
    }

    /// Looks for idle connections that are too old or broken.
    mutating func swept(now: Int64, fitness: (Int) -> Fitness) -> [Action] {
        var actions: [Action] = []
        idle.removeAll { entry in
            let isSpent = now >= entry.until || fitness(entry.connection) == .broken
            if isSpent { actions.append(.close(entry.connection)) }
            return isSpent
        }
        return actions
    }

    /// From now on no connection is kept idle. Requests are still served.
    mutating func drained() -> [Action] {
        isDraining = true
        return discardIdle()
    }

    /// Idle connections were made under rules that are not in force any more.
    mutating func discardIdle() -> [Action] {
        defer { idle = [] }
        return idle.map { .close($0.connection) }
    }

    // MARK: Parts

    private mutating func endLease(_ connection: Int) {
        let wasLeased = leased.remove(connection) != nil
        // Holds: a lease tells of its end once, by its own flag.
        precondition(wasLeased, "a lease ends once")
    }

    /// Takes the idle connection used last that may serve, and closes those found to be useless on the way.
    private mutating func takeIdle(_ now: Int64, _ fitness: (Int) -> Fitness, _ actions: inout [Action]) -> Int? {
        var index = idle.count - 1
        while index >= 0 {
            let entry = idle[index]
            guard now >= entry.from else {
                index -= 1
                continue
            }
            switch now >= entry.until ? .broken : fitness(entry.connection) {
            case .fit:
                idle.remove(at: index)
                return entry.connection
            case .broken:
                idle.remove(at: index)
                actions.append(.close(entry.connection))
            case .forbidden: break
            }
            index -= 1
        }
        return nil
    }

    /// Gives a free connection to the first in line that it may serve, or keeps it.
    private mutating func offer(
        _ connection: Int, isFresh: Bool, now: Int64, until: Int64, limits: Limits, fitness: (Int, Int) -> Fitness
    ) -> [Action] {
        if !isFresh, now < distrustedUntil { return [.close(connection)] + begin(limits) }
        for (index, waiter) in waiters.enumerated() where isFresh || !waiter.freshOnly {
            switch fitness(connection, waiter.request) {
            case .fit:
                waiters.remove(at: index)
                leased.insert(connection)
                return [.lease(connection, to: waiter.request)]
            case .broken:
                return [.close(connection)] + begin(limits)
            case .forbidden: continue
            }
        }
        // A waiting request that must not use this connection needs its slot for a new connection.
        let isWanted = waiters.contains { !$0.hasAttempt }
        guard !isWanted, total < limits.connections, mayKeep(now: now, until: until, limits) else {
            return [.close(connection)] + begin(limits)
        }
        keep(connection, now: now, until: until, limits)
        return [.park(connection)]
    }

    /// True if another connection may be idle. `until` is when the origin will close it.
    private func mayKeep(now: Int64, until: Int64, _ limits: Limits) -> Bool {
        !isDraining && idle.count < limits.idle && limits.idleTime > 0 && until > now
    }

    private mutating func keep(_ connection: Int, now: Int64, until: Int64, _ limits: Limits) {
        let (limit, overflow) = now.addingReportingOverflow(limits.idleTime)
        let (rested, isPastAll) = now.addingReportingOverflow(limits.restTime)
        idle.append(
            Idle(connection: connection, from: isPastAll ? now : rested, until: overflow ? until : min(until, limit)))
    }

    /// There are other limits from now on.
    mutating func limited(_ limits: Limits) -> [Action] { begin(limits) }

    /// Begins attempts for those in line, as far as there is room.
    private mutating func begin(_ limits: Limits) -> [Action] {
        var actions: [Action] = []
        for index in waiters.indices where !waiters[index].hasAttempt && total < limits.connections {
            // A served request's attempt may still be under way; there is one for each request at most.
            waiters[index].hasAttempt = true
            attempts.insert(waiters[index].request)
            actions.append(.connect(for: waiters[index].request))
        }
        return actions
    }

    /// For tests: what must hold after every event.
    func checkInvariants(_ limits: Limits) -> Bool {
        let waiting = waiters.map(\.request)
        let idling = idle.map(\.connection)
        return Set(waiting).count == waiting.count && Set(idling).count == idling.count
            && leased.isDisjoint(with: idling)
            && waiters.allSatisfy { $0.hasAttempt == attempts.contains($0.request) }
            && total <= limits.connections
            && idle.count <= limits.idle
            // No request waits for a turn while there is room.
            && (waiters.allSatisfy(\.hasAttempt) || total == limits.connections)
            && !(isDraining && !idle.isEmpty)
    }
}
