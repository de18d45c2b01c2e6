// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO

/// When and how often a failed request is made again.
public struct RetryPolicy: Sendable {
    /// How often at most, the first time not counted.
    public var limit: Int
    /// How long to wait before the first repetition; each further wait is twice as long.
    public var delay: Duration
    /// The longest wait.
    public var maximumDelay: Duration
    /// How long attempts and waits may take together: a request whose next attempt could not begin before then ends with
    /// the last failure.
    public var within: Duration
    /// How much of a wait is left to chance, 0…1, so that clients do not come back in step.
    public var jitter: Double
    /// True if requests are repeated whose effect may then happen twice (RFC 9110 §9.2.2).
    public var repeatsNonIdempotent: Bool

    /// Makes a policy; the defaults repeat twice within a second or so.
    public init(
        limit: Int = 2, delay: Duration = .milliseconds(200), maximumDelay: Duration = .seconds(10),
        within: Duration = .seconds(60), jitter: Double = 0.5, repeatsNonIdempotent: Bool = false
    ) {
        self.limit = limit
        self.delay = delay
        self.maximumDelay = maximumDelay
        self.within = within
        self.jitter = jitter
        self.repeatsNonIdempotent = repeatsNonIdempotent
    }

    /// How long to wait before the repetition with that number, from 1. `chance` is from 0 to 1.
    package func wait(before repetition: Int, retryAfter: Duration?, chance: Double) -> Duration {
        var wait = delay
        for _ in 1..<max(repetition, 1) where wait < maximumDelay { wait = wait * 2 }
        wait = min(wait, maximumDelay)
        wait = wait * (1 - jitter * chance)
        return max(wait, min(retryAfter ?? .zero, maximumDelay))
    }
}

extension Configuration {
    /// Has requests that fail for a passing reason made again, up to a limit and with growing waits.
    public mutating func retry(_ policy: RetryPolicy = RetryPolicy()) {
        decorateRequests { resource, request in
            Request(
                RetryDelegate(request, policy, resource.service.clock), turns: resource.turns,
                clock: resource.service.clock)
        }
    }
}

/// A request that repeats the one it wraps while that fails for a passing reason.
private final class RetryDelegate: WrappingDelegate {
    private struct Status {
        var active: Request?
        var wait: ScheduledAction?
        var isCancelled = false
    }

    private let first: Request
    private let policy: RetryPolicy
    private let clock: any ModelClock
    private let status: Lock<Status>

    init(_ first: Request, _ policy: RetryPolicy, _ clock: any ModelClock) {
        self.first = first
        self.policy = policy
        self.clock = clock
        status = Lock(Status(active: first))
    }

    var requestDescription: String { "\(first), retried" }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        run(first, 0, since: clock.now, completion)
    }

    private func run(
        _ request: Request, _ repetitions: Int, since start: Timestamp, _ completion: RequestCompletion
    ) {
        request.onCompletion { info in
            guard repetitions < self.policy.limit, case .failure(let error) = info.response, self.mayRepeat(error)
            else {
                return completion.complete(info)
            }
            let wait = self.policy.wait(
                before: repetitions + 1, retryAfter: error.retryAfter, chance: Double.random(in: 0...1))
            guard self.clock.now + wait < start + self.policy.within else { return completion.complete(info) }
            guard !self.status.withLock(\.isCancelled) else { return }
            let action = self.clock.schedule(after: wait) {
                let next = request.repeated()
                let isWanted = self.status.withLock { status in
                    status.active = next
                    return !status.isCancelled
                }
                if isWanted { self.run(next, repetitions + 1, since: start, completion) }
            }
            let isWanted = self.status.withLock { status in
                status.wait = action
                return !status.isCancelled
            }
            if !isWanted { action.cancel() }
        }
        request.start()
    }

    private func mayRepeat(_ error: RequestError) -> Bool {
        guard error.isTransient, let method = error.method else { return false }
        return method.isIdempotent || policy.repeatsNonIdempotent
    }

    func cancelUnderlyingOperation() {
        let (active, wait) = status.withLock { status in
            status.isCancelled = true
            return (status.active, status.wait)
        }
        wait?.cancel()
        active?.cancel()
    }

    func repeated() -> any RequestDelegate { RetryDelegate(first.repeated(), policy, clock) }

    func computeProgress() -> Double { status.withLock { $0.active }?.currentProgress ?? 0 }
}
