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

extension Exchange {
    // MARK: Heads

    /// Begins the response head with status and end-to-end fields, mapped for gateway clients.
    func startHead(status: Status, fields: Fields) {
        out.removeAll(keepingCapacity: true)
        var fields = fields
        if let hidden = context.configuration.hiddenField { fields.remove(hidden) }
        for cookie in ownCookies { fields.append(.setCookie, cookie) }
        if context.configuration.settings.log.access { sentType = fields[first: .contentType] }
        page.apply(to: &fields)
        PreparedHead.appendStatusLine(status, to: &out)
        PreparedHead.append(fields, to: &out)
        PreparedHead.appendVia(fields, via: ProxyConfiguration.via, to: &out)
        if record.way.sharesOrigin, traits.has(.browser) { PageFields.appendSandbox(to: &out) }
        record.status = status
    }

    /// Adds the fields of this response alone and ends the head. The content's length is nil when it is not known
    /// beforehand.
    func finishHead(
        length: Int64?, use: StoredUse? = nil, cacheStatus: CacheStatus? = nil, proxyStatus: ProxyStatus? = nil
    ) {
        let bodiless = record.status.hasNoContent || traits.method == .head
        // The length is unknown before all links are mapped.
        let length = links == nil ? length : nil
        if let length, !record.status.hasNoContent {
            PreparedHead.appendField("Content-Length", number: length, to: &out)
        }
        if bodiless {
            delivery = .none
        } else if length != nil {
            delivery = .length
        } else if traits.version == .http11 {
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
        appendConnection()
        PreparedHead.appendLineEnd(to: &out)
    }

    func appendConnection() {
        if context.isDraining || connection.isRevoked { isPersistent = false }
        if !isPersistent {
            PreparedHead.appendField("Connection", "close", to: &out)
        } else if traits.version == .http10 {
            PreparedHead.appendField("Connection", "keep-alive", to: &out)
        }
    }

    // MARK: Sending

    /// Sends the head alone.
    func sendHead() async throws {
        if let content { await content.stop() }
        recorder?.take(head: out, hasContent: delivery != .none)
        beginResponse()
        try await send(out)
    }

    /// Sends head and whole content in one gathered write.
    func sendHead(with chunks: [ContentChunk]) async throws {
        if let content { await content.stop() }
        recorder?.take(head: out, hasContent: delivery != .none)
        beginResponse()
        guard delivery != .none else { return try await send(out) }
        if delivery == .chunked || links != nil {
            try await send(out)
            try await sendContent(chunks)
            return
        }
        record.contentSent += chunks.reduce(0) { $0 + Int64($1.count) }
        recorder?.take(chunks)
        setWriteDeadline()
        try await stream.write(out, chunks)
    }

    private func beginResponse() {
        hasResponded = true
        if !interims.owesNothing { out = interims.takeOwed() + out }
    }

    /// Sends a piece of content as `delivery` says.
    func sendContent(_ chunks: [ContentChunk]) async throws {
        guard delivery != .none, !chunks.isEmpty else { return }
        guard let links else { return try await sendPiece(chunks) }
        for chunk in chunks {
            var part = links.part(chunk)
            while true {
                try await sendPiece(links.take(&part))
                if part.isDone { break }
                // A short chunk may expand to a long one, and a client may read it as fast as it is made.
                await context.loop.yield()
            }
        }
    }

    private func sendPiece(_ chunks: [ContentChunk]) async throws {
        let count = chunks.reduce(0) { $0 + $1.count }
        guard count > 0 else { return }
        record.contentSent += Int64(count)
        recorder?.take(chunks)
        setWriteDeadline()
        guard delivery == .chunked else { return try await stream.write([], chunks) }
        out.removeAll(keepingCapacity: true)
        MessageWriter.appendChunkStart(count: count, to: &out)
        try await stream.write(out, chunks, tail: "\r\n")
    }

    /// Ends the content. Trailers go to clients that can tell them apart from content.
    func endContent(trailers: Fields = Fields()) async throws {
        if delivery != .none, let rest = try links?.finish() { try await sendPiece(rest) }
        guard delivery == .chunked else { return }
        out.removeAll(keepingCapacity: true)
        MessageWriter.appendLastChunk(trailers: trailers, to: &out)
        try await send(out)
    }

    private func send(_ octets: [UInt8]) async throws {
        setWriteDeadline()
        try await stream.write(octets, [])
    }

    private func setWriteDeadline() {
        stream.setWriteDeadline(after: context.configuration.settings.timeouts.write)
    }

    // MARK: Problems

    /// Answers with a problem.
    func respond(_ problem: Problem) async throws {
        if problem.closes { isPersistent = false }
        links = nil
        let format = ProblemFormat(for: head.fields)
        let instance = uri.isEmpty ? String(decoding: head.target.prefix(1024), as: UTF8.self) : uri.string
        let port = stream.localAddress.port
        let home = port == 0 ? "/" : "http://localhost:\(port)/"
        let text = Array(problem.content(as: format, instance: instance, home: home).utf8)
        var fields = problem.fields
        fields[.date] = context.dateText()
        fields[.contentType] = format.mediaType
        fields[.cacheControl] = "no-store"
        fields[.xContentTypeOptions] = "nosniff"
        if format == .html { fields[.contentSecurityPolicy] = "default-src 'none'; style-src 'unsafe-inline'" }
        fields[.proxyStatus] = problem.proxyStatus
        record.problem = problem
        startHead(status: problem.status, fields: fields)
        finishHead(length: Int64(text.count), cacheStatus: record.cacheStatus)
        try await sendHead(with: [ContentChunk(text)])
    }
}
