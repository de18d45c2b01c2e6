// SPDX-License-Identifier: Apache-2.0

/// What carries out a request: conform to it for requests with a logic of your own.
public protocol RequestDelegate: Sendable {
    /// Begins the operation. Called at most once. `completion` is to be called when it is over, on any thread;
    /// letting go of it without calling it fails the request with `AbandonedByDelegate`.
    func startUnderlyingOperation(_ completion: RequestCompletion)

    /// Gives the operation up. The request is completed already; a later completion is ignored.
    func cancelUnderlyingOperation()

    /// A delegate that carries out the same operation again.
    func repeated() -> any RequestDelegate

    /// How far the operation is, 0…1. Called every `progressReportingInterval`.
    func computeProgress() -> Double

    /// How often `computeProgress` is asked, at most.
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
        request.complete(.failure(RequestError(cause: AbandonedByDelegate(), timestamp: SystemModelClock().now)))
    }

    /// Whether the request is completed, by cancellation for example, so that a call would do nothing.
    public var willBeIgnored: Bool { request.state == .completed }

    /// Completes the request.
    public func complete(_ info: ResponseInfo) { request.complete(info) }
}

/// What stands behind requests that were completed from birth.
struct HardWiredDelegate: RequestDelegate {
    func startUnderlyingOperation(_ completion: RequestCompletion) {}
    func cancelUnderlyingOperation() {}
    func repeated() -> any RequestDelegate { self }
    var requestDescription: String { "hard-wired request" }
}
