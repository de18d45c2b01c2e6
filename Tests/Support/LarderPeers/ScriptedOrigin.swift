// SPDX-License-Identifier: Apache-2.0
package import LarderIO

/// An origin under the test's control: unless a script answers it, each request waits until the test replies.
package final class ScriptedOrigin: Sendable {
    /// Answers a request with the octets of a whole response, according to its head, or leaves it to the test.
    package typealias Script = @Sendable (WireHead) -> String?

    private struct State {
        var script: Script?
        var requests: [OriginRequest] = []
        var takers: [(number: Int, continuation: CheckedContinuation<OriginRequest, any Error>)] = []
        var lastTaker = 0
        var seen: [WireHead] = []
        var wires: [Wire] = []
        var listener: Confined<Listener>?
        var tls: TLSServerContext?
    }

    private let state = Lock(State())
    private let loop: EventLoop
    private let holder: PortHolder
    package var port: UInt16 { holder.address.port }

    private init(loop: EventLoop, holder: PortHolder) {
        self.loop = loop
        self.holder = holder
    }

    package static func start(on loop: EventLoop) async throws -> ScriptedOrigin {
        let holder = try PortHolder()
        let socket = try holder.listen()
        let origin = ScriptedOrigin(loop: loop, holder: holder)
        try await loop.perform { loop in
            let listener = try Listener(socket, on: loop) { [unowned origin] stream in origin.accepted(stream) }
            let confined = Confined(listener)
            origin.state.withLock { $0.listener = confined }
        }
        return origin
    }

    /// Speaks TLS on connections from now on.
    package func speakTLS(_ context: TLSServerContext) { state.withLock { $0.tls = context } }

    /// The absolute URL of a path here.
    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    package var authority: String { "127.0.0.1:\(port)" }

    /// Answers requests by `script` from now on; those for which it is nil wait for the test.
    package func answer(_ script: @escaping Script) { state.withLock { $0.script = script } }

    /// All requests received, in order, scripted ones included.
    package var seen: [WireHead] { state.withLock { $0.seen } }

    /// The number of requests whose path and query are `path`.
    package func count(of path: String) -> Int { seen.count { $0.target == path } }

    /// All connections so far.
    package var wires: [Wire] { state.withLock { $0.wires } }

    /// The next request that no script has answered.
    package func request() async throws -> OriginRequest {
        let loop = loop
        // Taken last: the thread sanitizer does not see that a continuation that is resumed early orders both sides.
        defer { state.withLock { _ in } }
        return try await withCheckedThrowingContinuation { continuation in
            let (request, taker) = state.withLock { state -> (OriginRequest?, Int) in
                if !state.requests.isEmpty { return (state.requests.removeFirst(), 0) }
                state.lastTaker += 1
                state.takers.append((state.lastTaker, continuation))
                return (nil, state.lastTaker)
            }
            if let request { return continuation.resume(returning: request) }
            loop.execute { loop in
                loop.timer(after: Wire.patience) { [weak self] in self?.giveUp(taker) }
            }
        }
    }

    private func giveUp(_ taker: Int) {
        let (waiting, seen) = state.withLock { state -> (CheckedContinuation<OriginRequest, any Error>?, [WireHead]) in
            guard let index = state.takers.firstIndex(where: { $0.number == taker }) else { return (nil, []) }
            return (state.takers.remove(at: index).continuation, state.seen)
        }
        let lines = seen.suffix(5).map(\.startLine)
        waiting?.resume(
            throwing: WireTimeout(description: "the origin waited in vain for a request; the last were \(lines)"))
    }

    /// Stops listening: connections are refused from now on.
    package func refuse() async {
        await loop.perform { _ in state.withLock { $0.listener }?.value.close() }
    }

    package func stop() async {
        await refuse()
        for wire in wires { await wire.close() }
    }

    private func accepted(_ stream: ByteStream) {
        guard let tls = state.withLock({ $0.tls }) else { return serve(stream) }
        loop.startHere { [weak self] in
            guard (try? await stream.startTLS(server: tls)) != nil, let self else { return stream.close() }
            serve(stream)
        }
    }

    private func serve(_ stream: ByteStream) {
        let wire = loop.assumeIsolated { [stream = Confined(stream)] loop in
            Wire(stream.value, on: loop, name: "the origin")
        }
        state.withLock { $0.wires.append(wire) }
        Task { [weak self] in
            while let head = try? await wire.head(), let self {
                let request = OriginRequest(head: head, wire: wire)
                guard await self.handle(request) else { return }
            }
        }
    }

    /// Delivers a request and waits until it has been answered. False when the connection cannot be reused.
    private func handle(_ request: OriginRequest) async -> Bool {
        let script = state.withLock { state in
            state.seen.append(request.head)
            return state.script
        }
        if let reply = script?(request.head) {
            guard (try? await request.content()) != nil, (try? await request.wire.write(reply)) != nil else {
                return false
            }
            return true
        }
        let taker =
            state.withLock { state in
                if state.takers.isEmpty {
                    state.requests.append(request)
                    return nil
                }
                return state.takers.removeFirst().continuation
            } as CheckedContinuation<OriginRequest, any Error>?
        taker?.resume(returning: request)
        await request.answered()
        return (try? await request.content()) != nil
    }
}
