// SPDX-License-Identifier: Apache-2.0
public import Larder
import LarderIO

/// The reply of a stubbed origin.
public struct StubReply: Sendable {
    /// The status.
    public var status: Status
    /// The fields.
    public var fields: Fields
    /// The content.
    public var body: [UInt8]
    /// The error that the transport throws instead, if any.
    public var error: (any Error)?

    /// A response with text as its content; `fields` may contain its content type.
    public init(_ status: Status = 200, _ fields: Fields = Fields(), body: String = "") {
        self.status = status
        self.fields = fields
        self.body = Array(body.utf8)
    }

    /// A response with bytes as its content.
    public init(_ status: Status = 200, _ fields: Fields = Fields(), octets: [UInt8]) {
        self.init(status, fields)
        body = octets
    }

    /// Plain text in UTF-8, unless `fields` have another type.
    public static func text(_ body: String, status: Status = 200, _ fields: Fields = Fields()) -> StubReply {
        var fields = fields
        if !fields.contains(.contentType) { fields[.contentType] = "text/plain; charset=utf-8" }
        return StubReply(status, fields, body: body)
    }

    /// JSON, unchanged.
    public static func json(_ body: String, status: Status = 200) -> StubReply {
        StubReply(status, [.contentType: "application/json"], body: body)
    }

    /// The connection fails.
    public static func failure(_ error: any Error) -> StubReply {
        var reply = StubReply()
        reply.error = error
        return reply
    }

    fileprivate func message() throws -> IncomingResponse {
        if let error { throw error }
        return IncomingResponse(response: ResponseHead(status: status, fields: fields), body: body)
    }
}

/// A request without a stub: always a mistake of the test.
public struct Unstubbed: Error, CustomStringConvertible {
    package let request: String
    public var description: String { "no reply was scripted for \(request)" }
}

/// A transport that answers from a script, whose last reply is repeated; the test can hold and release requests.
public final class StubTransport: UpstreamTransport {
    private struct Key: Hashable {
        let method: Method
        let url: String
    }

    private struct State {
        var scripts: [Key: [StubReply]] = [:]
        var holds: [Key: [HeldRequest]] = [:]
        var sent: [OutgoingRequest] = []
    }

    private let state = Lock(State())

    /// Makes a transport without scripts.
    public init() {}

    /// Scripts the replies to requests for a URL, one after the other. Without replies it removes the script.
    public func reply(_ method: Method, _ url: String, _ replies: StubReply...) {
        state.withLock { $0.scripts[Key(method: method, url: url)] = replies }
    }

    /// Scripts the replies to GET.
    public func reply(_ url: String, _ replies: StubReply...) {
        state.withLock { $0.scripts[Key(method: .get, url: url)] = replies }
    }

    /// Holds the next request for a URL that is not held already, until the returned value releases it.
    public func hold(_ method: Method, _ url: String) -> HeldRequest {
        let held = HeldRequest()
        state.withLock { $0.holds[Key(method: method, url: url), default: []].append(held) }
        return held
    }

    /// Holds the next GET of a URL.
    public func hold(_ url: String) -> HeldRequest { hold(.get, url) }

    /// The requests sent, in order.
    public var sent: [OutgoingRequest] { state.withLock { $0.sent } }

    public func send(_ request: OutgoingRequest, progress: TransferProgress) async throws -> IncomingResponse {
        let key = Key(method: request.method, url: request.url.string)
        let (held, reply) = state.withLock { state -> (HeldRequest?, StubReply?) in
            state.sent.append(request)
            if let held = state.holds[key]?.first {
                state.holds[key]?.removeFirst()
                return (held, nil)
            }
            guard let script = state.scripts[key], let next = script.first else { return (nil, nil) }
            if script.count > 1 { state.scripts[key]?.removeFirst() }
            return (nil, next)
        }
        if let held { return try await held.wait(progress).message() }
        guard let reply else { throw Unstubbed(request: "\(request.method) \(request.url)") }
        return try reply.message()
    }
}

/// A request that waits for the test.
public final class HeldRequest: Sendable {
    private struct State {
        var reply: StubReply?
        var isCancelled = false
        var progress: TransferProgress?
        var sender: CheckedContinuation<StubReply, any Error>?
        var watchers: [CheckedContinuation<Void, Never>] = []
        var cancelWatchers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// Releases the request with this reply.
    public func release(_ reply: StubReply = StubReply()) {
        let sender = state.withLock { state in
            state.reply = reply
            defer { state.sender = nil }
            return state.sender
        }
        sender?.resume(returning: reply)
    }

    /// Waits until the request has been sent.
    public func sent() async {
        await withCheckedContinuation { continuation in
            let isSent = state.withLock { state in
                if state.progress == nil { state.watchers.append(continuation) }
                return state.progress != nil
            }
            if isSent { continuation.resume() }
        }
    }

    /// Waits until the request has been cancelled.
    public func cancelled() async {
        await withCheckedContinuation { continuation in
            let isCancelled = state.withLock { state in
                if !state.isCancelled { state.cancelWatchers.append(continuation) }
                return state.isCancelled
            }
            if isCancelled { continuation.resume() }
        }
    }

    /// Reports the progress of the transfer.
    public func progress(_ change: (inout TransferProgress.Counters) -> Void) {
        state.withLock { $0.progress }?.update(change)
    }

    fileprivate func wait(_ progress: TransferProgress) async throws -> StubReply {
        let watchers = state.withLock { state in
            state.progress = progress
            defer { state.watchers = [] }
            return state.watchers
        }
        for watcher in watchers { watcher.resume() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state -> Result<StubReply, any Error>? in
                    if state.isCancelled { return .failure(CancellationError()) }
                    if let reply = state.reply { return .success(reply) }
                    state.sender = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let (sender, watchers) = state.withLock { state in
                state.isCancelled = true
                defer {
                    state.sender = nil
                    state.cancelWatchers = []
                }
                return (state.sender, state.cancelWatchers)
            }
            sender?.resume(throwing: CancellationError())
            for watcher in watchers { watcher.resume() }
        }
    }
}
