// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderIO

/// A request on its way inbound. Confined to the loop that sends it.
package struct UpstreamRequest {
    /// The content to send.
    package enum Content {
        case none
        /// All of it at once; such a request can be sent again.
        case octets(ContentChunk)
        /// Read piece by piece from whoever has it; nil ends it. What `next` throws is what `send` throws.
        case stream(BodyFraming, next: () async throws -> ContentChunk?, trailers: () -> Fields)

        var framing: BodyFraming {
            switch self {
            case .none: .none
            case .octets(let chunk): .length(UInt64(chunk.count))
            case .stream(let framing, _, _): framing
            }
        }
    }

    package let origin: Origin
    /// Final but for framing: origin-form target, `Host`, no hop-by-hop fields but those of an upgrade.
    package var head: RequestHead
    package var content = Content.none
    /// Through which proxy; nil for none.
    package var parent: ParentAddress?
    /// How TLS is spoken, where not as with all origins.
    package var tls: UpstreamTLS?
    /// Which addresses may be connected to. Asked about pooled connections as well as about new ones.
    package var allowsAddress: (SocketAddress) -> Bool
    /// Whether it is for a resource of a service, so that what its origin answers says something about the others.
    package var isDescribed = true
    /// Whether the origin is asked even if that has failed lately, or the origin wants to be left alone: its client
    /// says so, or it changes something.
    package var bypassesBackoff = false
    package var onInterim: (ResponseHead) async throws -> Void = { _ in }
    package let abort: UpstreamAbort

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

    /// Whether the same request may be sent on another connection after it failed on one (RFC 9110 §9.2.2).
    var isReplayable: Bool {
        if case .stream = content { return false }
        return head.method.isIdempotent && !head.fields.contains(.upgrade)
    }
}

/// A way to end an exchange from outside: the client left, or an operator cancelled. It serves one exchange at a
/// time. Confined to its loop.
package final class UpstreamAbort {
    package private(set) var isAborted = false
    private var wait = Wait.nothing

    /// What the exchange waits for.
    private enum Wait {
        case nothing
        case stream(ByteStream)
        case other(end: () -> Void)
    }

    package init() {}

    /// Ends whatever the exchange waits for, except the content of the request, which is its owner's; it fails soon
    /// after.
    package func abort() {
        guard !isAborted else { return }
        isAborted = true
        endWait()
    }

    /// What ends the wait the exchange is in; called at once when it is aborted already.
    func onAbort(_ action: (() -> Void)?) {
        wait = action.map { .other(end: $0) } ?? .nothing
        if isAborted { endWait() }
    }

    /// The exchange waits for something to happen on `stream`, which ends by closing it.
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
