// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Compares passwords with hashes, on threads of its own.
///
/// A comparison is expensive on purpose. So few run at once, clients take turns, requests with the same credentials wait
/// for the same one, and a client whose attempts are used up gets none.
final class PasswordChecks<Client: Hashable & Sendable, Digest: Hashable & Sendable>: Sendable {
    enum Outcome: Sendable, Equatable {
        case right
        case wrong
        /// The last wrong one for now.
        case lastWrong
        /// The client has tried too often; it may try again after so many nanoseconds.
        case tooOften(Int64)
        /// Too many others wait.
        case busy
    }

    private struct Check {
        let client: Client
        let compare: @Sendable () -> Bool
        var waiters: [@Sendable (Outcome) -> Void]
    }

    private struct State {
        var queue: CheckQueue<Client, Digest>
        var attempts: AttemptLimit<Client>
        var checks: [Digest: Check] = [:]
        var pool: WorkerPool?
    }

    private let state: Lock<State>
    private let time: any TimeSource
    private let threads: Int
    private let limit: Int

    /// - Parameters:
    ///   - threads: how many comparisons run at once.
    ///   - limit: how many may wait, and of one client a quarter of them.
    ///   - burst, interval: how many wrong ones a client may try at once, and after how many nanoseconds one more.
    init(
        threads: Int = 2, limit: Int = 256, burst: Int = 10, interval: Int64 = 6_000_000_000, time: any TimeSource
    ) {
        self.threads = threads
        self.limit = limit
        self.time = time
        state = Lock(
            State(
                queue: CheckQueue(threads: threads, limit: limit, clientLimit: max(1, limit / 4)),
                attempts: AttemptLimit(burst: burst, interval: interval)))
    }

    /// Finds out whether credentials are right.
    ///
    /// - Parameters:
    ///   - digest: of the credentials; equal ones are compared once.
    ///   - compare: called on one of the threads, at most once.
    func check(
        _ digest: Digest, of client: Client, _ compare: @Sendable @escaping () -> Bool
    ) async -> Outcome {
        // Handed over under a lock: the thread sanitizer does not see that resuming a task orders the accesses of both.
        let handover = Lock(Outcome.busy)
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            add(digest, of: client, compare) { outcome in
                handover.withLock { $0 = outcome }
                continuation.resume()
            }
        }
        return handover.withLock { $0 }
    }

    private func add(
        _ digest: Digest, of client: Client, _ compare: @Sendable @escaping () -> Bool,
        _ waiter: @Sendable @escaping (Outcome) -> Void
    ) {
        let now = time.monotonic()
        let refusal: Outcome? = state.withLock { state in
            if state.checks[digest] != nil {
                state.checks[digest]?.waiters.append(waiter)
                return nil
            }
            if let wait = state.attempts.wait(of: client, at: now) { return .tooOften(wait) }
            guard state.queue.add(digest, of: client) else { return .busy }
            state.checks[digest] = Check(client: client, compare: compare, waiters: [waiter])
            return nil
        }
        if let refusal { return waiter(refusal) }
        begin()
    }

    /// Begins as many comparisons as may run.
    private func begin() {
        while let next = state.withLock({ $0.queue.next() }) {
            let now = time.monotonic()
            let (check, wait, pool) = state.withLock { state in
                // Others of the client may have been wrong since it was queued.
                (state.checks[next.item], state.attempts.wait(of: next.client, at: now), self.pool(in: &state))
            }
            if let wait {
                end(next.item, .tooOften(wait))
                continue
            }
            let isTaken = pool.submit {
                self.end(next.item, check?.compare() == true ? .right : .wrong)
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
        let (waiters, told) = state.withLock { state -> ([@Sendable (Outcome) -> Void], Outcome) in
            state.queue.ended()
            guard let check = state.checks.removeValue(forKey: digest) else { return ([], outcome) }
            let isLast = outcome == .wrong && state.attempts.charge(check.client, at: now)
            return (check.waiters, isLast ? .lastWrong : outcome)
        }
        for waiter in waiters { waiter(told) }
    }
}
