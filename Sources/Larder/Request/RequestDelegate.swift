// SPDX-License-Identifier: Apache-2.0

/// Carries out a request: conform to it for requests with custom logic.
public protocol RequestDelegate: Sendable {
    /// Begins the operation. Called at most once. Call `completion` when it is over, on any thread; releasing it
    /// without a call fails the request with `AbandonedByDelegate`.
    func startUnderlyingOperation(_ completion: RequestCompletion)

    /// Cancels the operation. The request is completed already; a later completion is ignored.
    func cancelUnderlyingOperation()

    /// A delegate that carries out the same operation again.
    func repeated() -> any RequestDelegate

    /// The progress of the operation, 0…1. Called every `progressReportingInterval`.
    func computeProgress() -> Double

    /// The minimum interval between calls of `computeProgress`.
    var progressReportingInterval: Duration { get }

    /// The request in words, for logs.
    var requestDescription: String { get }
}

extension RequestDelegate {
    public func computeProgress() -> Double { 0 }
    public var progressReportingInterval: Duration { .milliseconds(50) }
    public var requestDescription: String { String(describing: type(of: self)) }
}

/// Completes a request. The first call counts.
public final class RequestCompletion: Sendable {
    private let request: Request

    init(_ request: Request) { self.request = request }

    deinit {
        guard !request.hasPassedOn else { return }
        request.complete(.failure(RequestError(cause: AbandonedByDelegate(), timestamp: request.chainClock.now)))
    }

    /// True if the request is completed, by cancellation for example, so that a call would do nothing.
    public var willBeIgnored: Bool { request.state == .completed }

    /// True if `other` is this request, or ends only after it.
    func isAwaited(by other: Request) -> Bool { other.waits(for: request) }

    /// Has another request complete it. Nobody needs to hold this any more.
    func pass(to other: Request) -> RequestRelay { request.pass(to: other) }

    /// Completes the request.
    public func complete(_ info: ResponseInfo) { request.complete(info) }
}

/// A delegate that waits for other requests.
protocol WaitingDelegate: RequestDelegate {
    /// Those that it waits for now.
    var awaited: [Request] { get }
}

/// A delegate with another request to be cancelled although it has not been started.
protocol WrappingDelegate: RequestDelegate {}

extension Request {
    /// True if it is `other`, or ends only after it, as far as so many steps show.
    fileprivate func waits(for other: Request, within steps: Int = 16) -> Bool {
        if self === other { return true }
        guard steps > 0, let waiting = delegate as? any WaitingDelegate else { return false }
        return waiting.awaited.contains { $0.waits(for: other, within: steps - 1) }
    }
}

/// A request would wait for itself, or send one request after the other without end: a decorator or its chain asked
/// for the request that it decorates.
public struct CircularWait: PermanentFailure, CustomStringConvertible {
    /// The request in words. Where it would wait for others that wait for it, all of them: `load of …' → 'load of …`.
    public let request: String
    /// Makes the error.
    public init(of request: String) { self.request = request }

    public var description: String {
        "'\(request)' waits for itself: a decorator must not wait for the load that it decorates, nor a chain pass to "
            + "itself; use the request that the decorator was given, or another resource"
    }
}

/// The delegate of requests that are completed from the beginning.
struct HardWiredDelegate: RequestDelegate {
    func startUnderlyingOperation(_ completion: RequestCompletion) {}
    func cancelUnderlyingOperation() {}
    func repeated() -> any RequestDelegate { self }
    var requestDescription: String { "hard-wired request" }
}
