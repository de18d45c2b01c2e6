// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// Compares passwords with hashes, on dedicated threads.
///
/// A comparison is expensive on purpose. So few comparisons run at once, clients alternate, requests with equal
/// credentials share a comparison, and a client without attempts left gets no comparison (`LoginAttempts`).
final class PasswordChecks<
    Client: Hashable & Sendable, Name: Hashable & Sendable, Digest: Hashable & Sendable
>: Sendable {
    typealias Attempts = LoginAttempts<Client, Name, Digest>
    typealias Attempt = Attempts.Attempt

    enum Outcome: Sendable, Equatable {
        case right
        case wrong
        /// The credentials were wrong, and the client has no attempts left for now.
        case lastWrong
        /// The credentials were found wrong a while ago.
        case knownWrong
        /// The client has tried too often; it may try again after so many nanoseconds.
        case tooOften(Int64)
        /// Too many others wait, or there is no time left for it.
        case busy
    }

    private struct Waiter {
        let attempt: Attempt
        let tell: @Sendable (Outcome) -> Void
    }

    private struct Check {
        let compare: @Sendable () -> Bool
        /// The first is the request that caused the comparison.
        var waiters: [Waiter]
    }

    private struct State {
        var queue: CheckQueue<Client, Digest>
        var attempts: Attempts
        var checks: [Digest: Check] = [:]
        var pool: WorkerPool?
        var isClosed = false
    }

    private let state: Lock<State>
    private let time: any TimeSource
    private let threads: Int
    private let limit: Int
    /// Until when attempts of anybody may be used up.
    private let limitedUntil = Atomic<Int64>(.min)

    /// - Parameters:
    ///   - threads: how many comparisons run at once.
    ///   - limit: how many may wait, and of one client a quarter of them.
    ///   - names: how many attempts a client has for a name.
    ///   - clients: how many comparisons in vain a client causes, for all names in sum.
    ///   - lifetime: how long wrong credentials are known, in nanoseconds.
    init(
        threads: Int = 2, limit: Int = 256, names: Attempts.Rate = Attempts.Rate(burst: 10, interval: 6_000_000_000),
        clients: Attempts.Rate = Attempts.Rate(burst: 60, interval: 1_000_000_000),
        lifetime: Int64 = 300_000_000_000, time: any TimeSource
    ) {
        self.threads = threads
        self.limit = limit
        self.time = time
        state = Lock(
            State(
                queue: CheckQueue(threads: threads, limit: limit, clientLimit: max(1, limit / 4)),
                attempts: Attempts(names: names, clients: clients, lifetime: lifetime)))
    }

    /// True if any client's attempts are used up, so that known credentials are not looked up for unproven clients.
    func isAnyoneLimited(at now: Int64) -> Bool { now < limitedUntil.load(ordering: .relaxed) }

    /// How long nothing may be looked up for an attempt, in nanoseconds; nil when it may be.
    func wait(of attempt: Attempt, at now: Int64) -> Int64? {
        guard isAnyoneLimited(at: now) else { return nil }
        return state.withLock { $0.attempts.wait(of: attempt, at: now) }
    }

    /// Finds out whether credentials are right that are not remembered as such.
    ///
    /// - Parameter compare: called on one of the threads, at most once for equal credentials.
    func check(_ attempt: Attempt, _ compare: @Sendable @escaping () -> Bool) async -> Outcome {
        await handedOver { tell in add(Waiter(attempt: attempt, tell: tell), compare) }
    }

    /// Answers all waiting and all later requests: running comparisons are not waited for.
    func close() {
        let waiters = state.withLock { state -> [Waiter] in
            defer { state.checks = [:] }
            state.isClosed = true
            return state.checks.values.flatMap(\.waiters)
        }
        for waiter in waiters { waiter.tell(.busy) }
    }

    private func add(_ waiter: Waiter, _ compare: @Sendable @escaping () -> Bool) {
        let now = time.monotonic()
        let (refused, displaced) = state.withLock { state in
            var displaced: [Waiter] = []
            return (refusal(of: waiter, compare, in: &state, at: now, displacing: &displaced), displaced)
        }
        for other in displaced { other.tell(.busy) }
        if let refused { return waiter.tell(refused) }
        begin()
    }

    /// Nil when it waits from now on.
    private func refusal(
        of waiter: Waiter, _ compare: @Sendable @escaping () -> Bool, in state: inout State, at now: Int64,
        displacing displaced: inout [Waiter]
    ) -> Outcome? {
        let attempt = waiter.attempt
        switch state.attempts.begin(attempt, at: now) {
        case .tooOften(let wait): return .tooOften(wait)
        case .knownWrong: return .knownWrong
        case .untested: noteLimit(of: attempt, in: state, at: now)
        }
        guard !state.isClosed else { return .busy }
        if state.checks[attempt.credentials] != nil {
            state.checks[attempt.credentials]?.waiters.append(waiter)
            return nil
        }
        if let delay = state.attempts.delay(of: attempt.client, at: now) { return .tooOften(delay) }
        if let other = state.queue.makeRoom(for: attempt.client) {
            displaced = state.checks.removeValue(forKey: other)?.waiters ?? []
        }
        guard state.queue.add(attempt.credentials, of: attempt.client) else { return .busy }
        state.checks[attempt.credentials] = Check(compare: compare, waiters: [waiter])
        return nil
    }

    private func noteLimit(of attempt: Attempt, in state: State, at now: Int64) {
        guard let wait = state.attempts.wait(of: attempt, at: now) else { return }
        limitedUntil.max(now + wait, ordering: .relaxed)
    }

    /// Begins as many comparisons as may run.
    private func begin() {
        while let next = state.withLock({ $0.queue.next() }) {
            let now = time.monotonic()
            let (check, delay, pool) = state.withLock { state in
                // Others of the client may have been wrong since it was queued.
                (state.checks[next.item], state.attempts.delay(of: next.client, at: now), self.pool(in: &state))
            }
            if let delay {
                end(next.item, for: next.client, .tooOften(delay))
                continue
            }
            guard let check else {
                end(next.item, .busy)
                continue
            }
            let isTaken = pool.submit {
                self.end(next.item, check.compare() ? .right : .wrong)
                self.begin()
            }
            if !isTaken { end(next.item, .busy) }
        }
    }

    private func pool(in state: inout State) -> WorkerPool {
        if let pool = state.pool { return pool }
        // Never more are submitted than run at once.
        let made = WorkerPool(name: "larder-users", threads: threads, queueLimit: threads)
        state.pool = made
        return made
    }

    private func end(_ digest: Digest, _ outcome: Outcome) {
        let now = time.monotonic()
        let told = state.withLock { state -> [(Waiter, Outcome)] in
            state.queue.ended()
            // After `close`, no request waits.
            guard let check = state.checks.removeValue(forKey: digest) else { return [] }
            return check.waiters.enumerated().map { index, waiter in
                (waiter, self.outcome(outcome, of: waiter.attempt, isFirst: index == 0, in: &state, at: now))
            }
        }
        for (waiter, outcome) in told { waiter.tell(outcome) }
    }

    /// Ends the wait of one client for a comparison. Others that wait for it have attempts of their own: it is queued
    /// again for the first of them.
    private func end(_ digest: Digest, for client: Client, _ outcome: Outcome) {
        let told = state.withLock { state -> [(Waiter, Outcome)] in
            state.queue.ended()
            guard var check = state.checks.removeValue(forKey: digest) else { return [] }
            let others = check.waiters.filter { $0.attempt.client != client }
            let own = check.waiters.filter { $0.attempt.client == client }.map { ($0, outcome) }
            guard let first = others.first, state.queue.add(digest, of: first.attempt.client) else {
                return own + others.map { ($0, .busy) }
            }
            check.waiters = others
            state.checks[digest] = check
            return own
        }
        for (waiter, outcome) in told { waiter.tell(outcome) }
    }

    private func outcome(
        _ outcome: Outcome, of attempt: Attempt, isFirst: Bool, in state: inout State, at now: Int64
    ) -> Outcome {
        switch outcome {
        case .right: state.attempts.wasRight(attempt, at: now)
        case .wrong:
            if state.attempts.wasWrong(attempt, isCompared: isFirst, at: now) { return .lastWrong }
        case .lastWrong, .knownWrong, .tooOften, .busy: break
        }
        return outcome
    }
}
