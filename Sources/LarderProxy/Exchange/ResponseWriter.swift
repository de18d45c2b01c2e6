// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings

/// How a response's content is delimited for its client (RFC 9112 §6).
enum Delivery: Equatable {
    /// There is no content: HEAD, 204, 304.
    case none
    case length
    case chunked
    /// The end of the connection is the end of the content (HTTP/1.0 clients).
    case untilClose
}

/// Writes the response to a client's request: head, content, interim responses.
///
/// An exchange has one and uses it for each of its responses in turn, to reuse the storage of the head. Confined to its
/// loop.
final class ResponseWriter {
    let request: ClientRequest
    let context: LoopContext
    let stream: ByteStream
    /// Sends interim responses.
    let interims: InterimSender

    /// The outcome of the exchange, for counters and logs.
    var record = ExchangeRecord()
    /// The media type of the response's content, for logs that include it.
    private(set) var sentType: String?
    /// The response head as bytes while it is assembled.
    private var out: [UInt8] = []
    /// The offset in `out` at which the time-dependent fields begin: age and lifetime of the stored response.
    private var momentStart = 0
    /// The `Set-Cookie` fields of a 304, for this client alone; the other fields are shared.
    var ownCookies: [String] = []
    /// How the page that caused the request, if any, changes its response.
    var page = PageAccess.none
    /// How the content is delimited for this client.
    private(set) var delivery = Delivery.none
    /// Maps the links of the response's content on its way out; nil for most.
    var links: LinkStream?
    /// Collects the response for the lane's recording.
    var recorder: ExchangeRecorder?
    /// True if the final response's head was sent: from then on an error can only close the connection.
    private(set) var hasResponded = false
    /// The length of the content that the head announces; nil where it announces none.
    private var announcedLength: Int64?
    /// True if the connection can serve another request afterwards.
    var isPersistent = true
    /// True if the client may still be sending when the connection closes.
    var mustLinger = false

    /// A load calls it while this client's exchange leads it.
    // Holds: the exchange ends that before it returns.
    private(set) lazy var onInterim: (ResponseHead) -> Void = { [unowned self] in relayInterimAtOnce($0) }

    init(to request: ClientRequest) {
        self.request = request
        context = request.context
        stream = request.stream
        interims = InterimSender(stream: stream, context: context)
        out.reserveCapacity(1024)
    }

    /// Begins the response to the next request.
    func begin() {
        out.removeAll(keepingCapacity: true)
        sentType = nil
        ownCookies = []
        page = .none
        delivery = .none
        links = nil
        recorder = nil
        hasResponded = false
        announcedLength = nil
        isPersistent = request.traits.isPersistent
        mustLinger = false
        _ = interims.takeOwed()
        record = ExchangeRecord(startedAt: context.loop.time.monotonic())
    }

    /// The exchange ended with an error of Larder's own.
    func recordFailure(_ problem: Problem) {
        // Not in place, as for `ClientRequest.editHead`.
        var failed = record
        failed.fail(problem)
        record = failed
    }

    // MARK: Heads

    /// Begins the response head with status and end-to-end fields, mapped for gateway clients.
    func startHead(status: Status, fields: Fields) {
        var fields = fields
        if let hidden = context.configuration.hiddenField { fields.remove(hidden) }
        for cookie in ownCookies { fields.append(.setCookie, cookie) }
        if context.configuration.settings.log.access { sentType = fields[first: .contentType] }
        page.apply(to: &fields)
        startOwnHead(status: status, fields: fields)
        PreparedHead.appendVia(fields, via: ProxyConfiguration.via, to: &out)
        appendSandbox()
    }

    /// The same for a response of Larder itself.
    func startOwnHead(status: Status, fields: Fields) {
        out.removeAll(keepingCapacity: true)
        PreparedHead.appendStatusLine(status, to: &out)
        PreparedHead.append(fields, to: &out)
        record.status = status
    }

    /// Adds the length of content that is not sent: a HEAD has the fields of the GET.
    func appendLength(_ length: Int64) { PreparedHead.appendField("Content-Length", number: length, to: &out) }

    /// Adds the fields of this response alone and ends the head. The content's length is nil when it is not known
    /// beforehand.
    func finishHead(
        length: Int64?, use: StoredUse? = nil, cacheStatus: CacheStatus? = nil, proxyStatus: ProxyStatus? = nil
    ) {
        let bodiless = record.status.isSentEmpty || request.traits.method == .head
        // The length is unknown before all links are mapped.
        let length = record.status == 205 ? 0 : links == nil ? length : nil
        if let length, !record.status.hasNoContent { appendLength(length) }
        if bodiless {
            delivery = .none
        } else if length != nil {
            delivery = .length
            announcedLength = length
        } else if request.traits.version == .http11 {
            delivery = .chunked
            PreparedHead.appendField("Transfer-Encoding", "chunked", to: &out)
        } else {
            delivery = .untilClose
            isPersistent = false
        }
        if let use {
            record.cacheStatus = use.status
            momentStart = out.count
            use.append(to: &out)
        } else if let cacheStatus {
            record.cacheStatus = cacheStatus
            PreparedHead.appendField("Cache-Status", to: &out) { cacheStatus.appendMember(to: &$0) }
        }
        if let proxyStatus { PreparedHead.appendField("Proxy-Status", to: &out) { proxyStatus.appendMember(to: &$0) } }
        endHead()
    }

    /// The whole head of an ordinary hit: the prepared head, and the time-dependent fields.
    func writeHead(of variant: Variant, _ use: StoredUse) {
        record.status = variant.served.status
        if context.configuration.settings.log.access { sentType = variant.served.fields[first: .contentType] }
        out.removeAll(keepingCapacity: true)
        variant.head.withBytes { out.append($0) }
        appendSandbox()
        delivery = record.status.isSentEmpty ? .none : .length
        momentStart = out.count
        use.append(to: &out)
        endHead()
    }

    /// The head after which the connection carries something else than responses.
    func writeHead(switching status: Status, fields: Fields = Fields(), to protocolName: String? = nil) {
        if let protocolName {
            startHead(status: status, fields: fields)
            PreparedHead.appendField("Connection", "upgrade", to: &out)
            PreparedHead.appendField("Upgrade", protocolName, to: &out)
        } else {
            startOwnHead(status: status, fields: fields)
        }
        PreparedHead.appendLineEnd(to: &out)
        isPersistent = false
    }

    /// The part of the finished head that every reply with the same stored response has.
    var lastingHead: ArraySlice<UInt8> { out[..<momentStart] }

    private func endHead() {
        if context.isDraining || request.connection.isRevoked { isPersistent = false }
        if !isPersistent {
            PreparedHead.appendField("Connection", "close", to: &out)
        } else if request.traits.version == .http10 {
            PreparedHead.appendField("Connection", "keep-alive", to: &out)
        }
        PreparedHead.appendLineEnd(to: &out)
    }

    private func appendSandbox() {
        if request.form.sharesOrigin, request.traits.has(.browser) { PageFields.appendSandbox(to: &out) }
    }

    // MARK: Sending

    /// Sends the head alone, if it was not sent yet.
    func sendHead() async throws {
        guard !hasResponded else { return }
        try await beginResponse()
        try await send(out)
    }

    /// Sends a piece of content as `delivery` says, in one write with a head that was not sent yet.
    func sendContent(_ chunks: [ContentChunk]) async throws {
        guard delivery != .none, !chunks.isEmpty else { return try await sendHead() }
        guard let links else { return try await sendPiece(chunks) }
        try await sendHead()
        for chunk in chunks {
            var part = links.part(chunk)
            repeat {
                try await sendPiece(links.take(&part))
                // A short chunk may expand to a long one, and a client may read it as fast as it is made.
                if links.endsTurn() { await context.loop.yield() }
            } while !part.isDone
        }
    }

    private func sendPiece(_ chunks: [ContentChunk]) async throws {
        let count = chunks.reduce(0) { $0 + $1.count }
        guard count > 0 else { return try await sendHead() }
        if hasResponded { out.removeAll(keepingCapacity: true) } else { try await beginResponse() }
        record.contentSent += Int64(count)
        recorder?.take(chunks)
        setWriteDeadline()
        guard delivery == .chunked else { return try await stream.write(out, chunks) }
        MessageWriter.appendChunkStart(count: count, to: &out)
        try await stream.write(out, chunks, tail: "\r\n")
    }

    private func beginResponse() async throws {
        if let content = request.content, !content.goesOn { await content.stop() }
        // An error response made by Larder is not the origin's.
        if record.problem == nil { recorder?.take(head: out, hasContent: delivery != .none) }
        hasResponded = true
        if !interims.owesNothing { out = interims.takeOwed() + out }
    }

    /// Ends the content. Trailers go to clients that can tell them apart from content.
    func endContent(trailers: Fields = Fields()) async throws {
        if delivery != .none, let rest = try links?.finish() { try await sendPiece(rest) }
        try await sendHead()
        guard delivery == .chunked else { return }
        out.removeAll(keepingCapacity: true)
        MessageWriter.appendLastChunk(trailers: trailers, to: &out)
        try await send(out)
    }

    /// True if a client that leaves now has all of the response: it need not wait until Larder has noticed the end.
    var isAllSent: Bool {
        hasResponded && !stream.isWriting
            && (delivery == .none || announcedLength.map { record.contentSent >= $0 } ?? false)
    }

    private func send(_ octets: [UInt8]) async throws {
        setWriteDeadline()
        try await stream.write(octets, [])
    }

    private func setWriteDeadline() {
        stream.setWriteDeadline(after: context.configuration.settings.timeouts.write)
    }

    /// Saves the recorded response, now that the client has all of it.
    func finishRecording() {
        guard let recorder else { return }
        self.recorder = nil
        guard hasResponded, record.problem == nil else { return }
        recorder.finish(record.status, after: .nanoseconds(context.loop.time.monotonic() - record.startedAt))
    }
}
