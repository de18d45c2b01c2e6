// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// A request that has come to the origin. The connection is free for the next one after `finish`, which `reply`
/// calls.
package final class OriginRequest: Sendable {
    private struct State {
        var isAnswered = false
        var whenAnswered: CheckedContinuation<Void, Never>?
        var content: WireMessage?
    }

    package let head: WireHead
    /// The connection it came on, to be written to and read from at will.
    package let wire: Wire
    private let state = Lock(State())

    init(head: WireHead, wire: Wire) {
        self.head = head
        self.wire = wire
    }

    deinit { state.withLock { $0.whenAnswered.take() }?.resume() }

    package var target: String { head.target }
    package subscript(name: String) -> String? { head[name] }

    /// Head and content, once all of it has come.
    @discardableResult
    package func content() async throws -> WireMessage {
        if let known = state.withLock({ $0.content }) { return known }
        let message = try await wire.message(head, isResponse: false)
        state.withLock { $0.content = message }
        return message
    }

    // MARK: Replying

    /// Replies with a status, fields and content, whose length is announced.
    package func reply(_ status: Int, _ lines: String..., content: String = "") async throws {
        try await wire.write(OriginRequest.response(status, lines, content: content))
        finish()
    }

    /// Replies 200 with these field lines.
    package func reply(_ lines: String..., content: String = "") async throws {
        try await wire.write(OriginRequest.response(200, lines, content: content))
        finish()
    }

    /// Writes text as it stands, as a part of a reply or an interim one.
    package func write(_ text: String) async throws { try await wire.write(text) }

    /// Writes a head of these lines and whatever follows.
    package func send(_ lines: String..., content: String = "") async throws {
        try await send(lines, content: content)
    }

    package func send(_ lines: [String], content: String = "") async throws {
        try await wire.write(lines.map { $0 + "\r\n" }.joined() + "\r\n" + content)
    }

    /// The reply is complete.
    package func finish() {
        state.withLock { state in
            state.isAnswered = true
            return state.whenAnswered.take()
        }?.resume()
    }

    /// Ends the connection as a crash does.
    package func reset() async {
        await wire.reset()
        finish()
    }

    package func close() async {
        await wire.close()
        finish()
    }

    func answered() async {
        await withCheckedContinuation { continuation in
            let isAnswered = state.withLock { state in
                if !state.isAnswered { state.whenAnswered = continuation }
                return state.isAnswered
            }
            if isAnswered { continuation.resume() }
        }
    }

    /// The octets of a response with its length.
    package static func response(_ status: Int, _ lines: [String], content: String = "") -> String {
        let length = status == 204 || status == 304 ? [] : ["Content-Length: \(content.utf8.count)"]
        return (["HTTP/1.1 \(status) Scripted"] + length + lines).map { $0 + "\r\n" }.joined() + "\r\n" + content
    }
}
