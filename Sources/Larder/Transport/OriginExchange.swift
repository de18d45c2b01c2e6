// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// Performs a request, including redirections.
struct OriginExchange: Sendable {
    /// A final response on the loop that received it. Confined to that loop.
    struct Arrival {
        let response: UpstreamResponse
        let abort: UpstreamAbort
        let loop: TransportLoop
        /// The URL of the response, after redirections.
        let url: TargetURI
    }

    private enum Step<Value: Sendable>: Sendable {
        case done(Value)
        case follow(OutgoingRequest, repeatsContent: Bool)
    }

    let loops: TransportLoops
    let options: TransportOptions
    let progress: TransferProgress

    /// Sends a request and makes a value of the final response with `take`, on the response's loop.
    func perform<Value: Sendable>(
        _ request: OutgoingRequest, _ content: OutgoingContent,
        _ take: @escaping @Sendable (Arrival) async throws -> Value
    ) async throws -> Value {
        let limit = TimeLimit(options.timeout, loops.time)
        var (request, content) = (request, content)
        for followed in 0... {
            let step = try await step(request, content, isLast: followed >= options.redirectLimit, limit, take)
            switch step {
            case .done(let value): return value
            case .follow(let next, let repeatsContent):
                request = next
                if !repeatsContent { content = .none }
            }
        }
        // Unreachable: the last step is answered or refused.
        preconditionFailure("the last step is not followed")
    }

    /// One request and the value made of its response.
    private func step<Value: Sendable>(
        _ request: OutgoingRequest, _ content: OutgoingContent, isLast: Bool, _ limit: TimeLimit,
        _ take: @escaping @Sendable (Arrival) async throws -> Value
    ) async throws -> Step<Value> {
        try Task.checkCancellation()
        let loop = loops.loop(for: request.url)
        let abort = Confined(UpstreamAbort())
        return try await withTaskCancellationHandler {
            try await loop.run { pool in
                let alarm = Alarm(limit, abort.value, on: loop.loop)
                defer { alarm.cancel() }
                do {
                    let response = try await self.send(request, content, abort.value, over: pool)
                    switch try self.decision(about: response.head, to: request, isLast: isLast) {
                    case .follow(let next, let repeatsContent):
                        // Mostly short; once it is read to its end, its connection serves the next request.
                        if try await !response.readAhead(upTo: 65_536) { response.abort() }
                        return .follow(next, repeatsContent: repeatsContent)
                    case .final, .refuse:
                        let arrival = Arrival(response: response, abort: abort.value, loop: loop, url: request.url)
                        return .done(try await take(arrival))
                    }
                } catch {
                    if alarm.hasRung { throw limit.error(request.url) }
                    throw OriginExchange.error(error, for: request.url)
                }
            }
        } onCancel: {
            loop.loop.execute { _ in abort.value.abort() }
        }
    }

    private func decision(
        about head: ResponseHead, to request: OutgoingRequest, isLast: Bool
    ) throws(TransportError) -> Redirection.Decision {
        if options.redirectLimit == 0 { return .final }
        let decision = Redirection.decision(about: head, to: request)
        switch decision {
        case .final: return decision
        case .refuse(let reason):
            throw TransportError(.redirect, "The redirection is not followed: \(reason).", url: request.url)
        case .follow where isLast:
            throw TransportError(
                .redirect, "More than \(options.redirectLimit) redirections in a row are not followed.",
                url: request.url)
        case .follow: return decision
        }
    }

    /// Sends a request over the connections of a loop. If the connection turned out to be closed, the request is
    /// repeated once where that is safe (RFC 9110 §9.2.2).
    private func send(
        _ request: OutgoingRequest, _ content: OutgoingContent, _ abort: UpstreamAbort, over pool: UpstreamPool
    ) async throws -> UpstreamResponse {
        progress.update {
            $0.sent = 0
            $0.toSend = content.count
        }
        func attempt() async throws -> UpstreamResponse {
            var upstream = UpstreamRequest(
                origin: Origin(request.url), head: head(of: request), parent: loops.proxies.proxy(for: request.url),
                abort: abort)
            upstream.content = content.upstream(for: request.method) { sent in progress.update { $0.sent = sent } }
            return try await pool.send(upstream)
        }
        let response: UpstreamResponse
        do {
            response = try await attempt()
        } catch let error as UpstreamError where error.mayRetry && request.method.isIdempotent && !abort.isAborted {
            response = try await attempt()
        }
        progress.update {
            $0.sent = content.count
            $0.toReceive = response.contentLength.map { Int($0) }
        }
        return response
    }

    /// The head on the wire: `Host` first, and no fields about this hop.
    private func head(of request: OutgoingRequest) -> RequestHead {
        var fields: Fields = [.host: request.url.authority]
        let hop = HopByHop(request.fields, for: .forwardRequest)
        request.fields.forEachLine { name, spelling, value in
            guard name != .host, name != .contentLength, !hop.ends(name, spelled: spelling) else { return }
            fields.append(name ?? FieldName(token: spelling), bytes: value)
        }
        if !fields.contains(.accept) { fields.append(.accept, "*/*") }
        if !fields.contains(.userAgent), let userAgent = options.userAgent { fields.append(.userAgent, userAgent) }
        return RequestHead(method: request.method, target: request.url.pathAndQuery, fields: fields)
    }

    /// Maps an error to the library's types.
    static func error(_ error: any Error, for url: TargetURI) -> any Error {
        switch error {
        case let error as UpstreamError:
            error.code == .aborted ? CancellationError() : TransportError(error, url: url)
        case let failure as TransportFailure:
            failure.cause is CancellationError
                ? CancellationError()
                : TransportFailure(self.error(failure.cause, for: url), response: failure.response)
        default: error
        }
    }
}

/// The deadline of a request.
private struct TimeLimit: Sendable {
    private let duration: Duration?
    private let time: any TimeSource
    /// On the monotonic clock, in nanoseconds.
    private let deadline: Int64

    init(_ duration: Duration?, _ time: any TimeSource) {
        self.duration = duration
        self.time = time
        let now = time.monotonic()
        deadline = duration.map { now.advanced(by: $0) } ?? .max
    }

    var remaining: Duration? { duration.map { _ in .nanoseconds(max(0, deadline - time.monotonic())) } }

    func error(_ url: TargetURI) -> TransportError {
        TransportError(
            .timedOut, "\(url.origin) did not answer completely within \(duration ?? .zero).", url: url)
    }
}

/// Aborts an exchange when its time is up. Confined to its loop.
private final class Alarm {
    private(set) var hasRung = false
    private var timer: Timer?

    init(_ limit: TimeLimit, _ abort: UpstreamAbort, on loop: EventLoop) {
        guard let remaining = limit.remaining else { return }
        timer = loop.timerHere(after: remaining) { [weak self] in
            self?.hasRung = true
            abort.abort()
        }
    }

    func cancel() { timer?.cancel() }
}
