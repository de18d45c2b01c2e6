// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// A request on its way inbound. Confined to the loop that sends it.
package struct UpstreamRequest {
    /// The content to send.
    package enum Content {
        case none
        /// All of it at once; such a request can be repeated.
        case octets(ContentChunk)
        /// Read piece by piece from its source; nil ends it. Errors of `next` are rethrown by `send`.
        case stream(BodyFraming, next: () async throws -> ContentChunk?, trailers: () -> Fields)

        var framing: BodyFraming {
            switch self {
            case .none: .none
            case .octets(let chunk): .length(UInt64(chunk.count))
            case .stream(let framing, _, _): framing
            }
        }

        /// True for content that is read piece by piece while it is sent.
        var isStream: Bool { if case .stream = self { true } else { false } }

        /// True if an origin may answer before it has read all of what is sent at once.
        var isLong: Bool { if case .octets(let chunk) = self { chunk.count > 64 << 10 } else { false } }
    }

    package let origin: Origin
    /// The head, complete except for framing: origin-form target, `Host`, no hop-by-hop fields except an upgrade's.
    package var head: RequestHead
    package var content = Content.none
    /// The proxy to use; nil for none.
    package var parent: ParentAddress?
    /// TLS options; nil if they do not differ from the options for all origins.
    package var tls: UpstreamTLS?
    /// The addresses that may be connected to. Checked for pooled connections as well as for new ones.
    package var allowsAddress: (SocketAddress) -> Bool
    /// True if it is for a resource of a service, so that its outcome says something about the others.
    package var belongsToService = true
    /// True if the request is sent even if the origin has failed lately or asked for a pause: its client asks for that,
    /// or it changes something.
    package var bypassesBackoff = false
    /// The client's address, as a digest; 0 if no client waits. Probes of an origin are shared out by it.
    package var client = 0
    /// True if its client has yet to send some of its content, and may let it wait.
    package var lacksContent = false
    /// The instant, in monotonic nanoseconds, by which the response has to begin; nil for the time that an origin may be
    /// silent, counted from when the request is sent.
    package var responseDeadline: Int64?
    /// Called when a connection to the origin has been opened for it.
    package var whenConnected: (() -> Void)?
    package var onInterim: (ResponseHead) async throws -> Void = { _ in }
    /// Calls its argument as soon as streamed content is there, where the origin is asked whether it wants it.
    package var whenContentIsAtHand: ((@escaping () -> Void) -> Void)?
    package var abort: UpstreamAbort

    package init(
        origin: Origin, head: RequestHead, parent: ParentAddress? = nil,
        allowsAddress: @escaping (SocketAddress) -> Bool = { _ in true }, abort: UpstreamAbort = UpstreamAbort()
    ) {
        self.allowsAddress = allowsAddress
        self.origin = origin
        self.head = head
        self.parent = parent
        self.abort = abort
    }

    /// True if the same request may be sent on another connection after a failure (RFC 9110 §9.2.2).
    var isReplayable: Bool {
        if case .stream = content { return false }
        return head.method.isIdempotent && !head.fields.contains(.upgrade)
    }
}

/// Ends an exchange from outside: the client left, or an operator cancelled it. It serves one exchange at a time.
/// Confined to its loop.
package final class UpstreamAbort {
    /// Stored behind a computed property, for the reason given at `ByteStream.Shown`.
    private var hasAborted = false
    package var isAborted: Bool { hasAborted }
    private var wait = Wait.nothing
    /// Ends what the exchange is a part of, which may wait for something else than the origin.
    private var endWhole: (() -> Void)?

    /// The event that the exchange waits for.
    private enum Wait {
        case nothing
        case stream(ByteStream)
        case other(end: () -> Void)
    }

    package init() {}

    /// Ends the current wait of the exchange, except for the request's content; the exchange fails soon after.
    package func abort() {
        guard !isAborted else { return }
        hasAborted = true
        endWait()
        endWhole?()
    }

    /// Sets the action that ends what the exchange is a part of; called at once when it is aborted already.
    package func onAbortOfWhole(_ action: (() -> Void)?) {
        endWhole = action
        if isAborted { action?() }
    }

    /// Sets the action that ends the exchange's current wait; called at once when it is aborted already.
    func onAbort(_ action: (() -> Void)?) {
        wait = action.map { .other(end: $0) } ?? .nothing
        if isAborted { endWait() }
    }

    /// The exchange waits for an event on `stream`; closing it ends the wait.
    func onAbort(close stream: ByteStream) {
        wait = .stream(stream)
        if isAborted { endWait() }
    }

    private func endWait() {
        let wait = wait
        self.wait = .nothing
        switch wait {
        case .nothing: break
        case .stream(let stream): stream.close()
        case .other(let end): end()
        }
    }
}
