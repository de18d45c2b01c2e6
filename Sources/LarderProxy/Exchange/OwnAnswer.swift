// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings

/// The answer to a request to Larder itself. Confined to its loop.
struct OwnAnswer: ExchangeStep {
    let exchange: Exchange

    /// The content limit of such a request; higher for recordings, over the Unix socket.
    private static let contentLimit = 1 << 20
    private static let archiveLimit = 512 << 20
    /// A line without an event, to show that the stream is alive.
    private static let heartbeat = ContentChunk(": \n\n".utf8)

    func run() async throws {
        writer.record.kind = .own
        let asked = try await ownRequest()
        let response = await context.proxy.pages.answer(asked, of: context.proxy)
        var fields = response.fields
        if !fields.contains(.date) { fields[.date] = context.dateText() }
        if !fields.contains(.cacheControl) { fields[.cacheControl] = "no-store" }
        fields[.xContentTypeOptions] = "nosniff"
        if !fields.contains(.contentSecurityPolicy) { fields[.contentSecurityPolicy] = "default-src 'none'" }
        writer.startOwnHead(status: response.status, fields: fields)
        if let events = response.events { return try await send(events) }
        if let source = response.source { return try await send(source) }
        writer.finishHead(length: Int64(response.content.count))
        try await writer.sendContent([ContentChunk(response.content)])
    }

    /// `OPTIONS *`: the capabilities of Larder as a whole.
    func answerCapabilities() async throws {
        writer.record.kind = .own
        writer.startOwnHead(
            status: 204,
            fields: ["Date": context.dateText(), "Allow": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT"])
        writer.finishHead(length: nil)
        try await writer.sendHead()
    }

    private func send(_ source: any OwnContent) async throws {
        writer.finishHead(length: nil)
        try await writer.sendHead()
        guard writer.delivery != .none else { return }
        while let chunk = try await source.next() { try await writer.sendContent([chunk]) }
        try await writer.endContent()
    }

    /// Answers with an event stream, until the client leaves or Larder stops.
    private func send(_ events: OwnEvents) async throws {
        writer.finishHead(length: nil)
        guard writer.delivery != .none else { return try await writer.sendHead() }
        guard let subscriber = connection.clients.events.subscribe(to: events.subject) else {
            writer.isPersistent = false
            try await writer.sendHead()
            return try await writer.endContent()
        }
        stream.onPeerClosed = { subscriber.end() }
        // The stream of events has no end: it ends when its user is removed.
        if request.principal.name != nil { connection.principal = request.principal }
        defer {
            stream.onPeerClosed = nil
            if connection.client.inside == nil { connection.principal = nil }
            connection.clients.events.leave(subscriber)
        }
        // The user may have been removed since the request began.
        if stream.isPeerClosed || !context.configuration.admits(connection.principal) { throw ClientGone() }
        try await writer.sendHead()
        if let job = events.whenSubscribed { context.spawn(job) }
        while true {
            switch await subscriber.next() {
            case .snapshot: try await writer.sendContent([await connection.clients.events.snapshot(for: subscriber)])
            case .events(let chunks): try await writer.sendContent(chunks)
            case .heartbeat: try await writer.sendContent([OwnAnswer.heartbeat])
            case .gone: throw ClientGone()
            case .ending:
                writer.isPersistent = false
                try await writer.sendContent([ContentChunk(events.subject.text.farewell)])
                return try await writer.endContent()
            }
        }
    }

    // MARK: The request

    private func ownRequest() async throws -> OwnRequest {
        let (head, pages) = (request.head, context.proxy.pages)
        let target = String(decoding: head.target, as: UTF8.self)
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var asked = OwnRequest(
            method: head.method, path: String(parts[0]),
            parameters: PercentText.pairs(in: parts.count > 1 ? parts[1] : "").map {
                (name: PercentText.decoded($0.name), value: PercentText.decoded($0.value))
            },
            fields: head.fields, isOverSocket: connection.isAuthorised,
            adminHost: connection.client.isAdminOnly && !connection.isOverSocket ? connection.client.localHost : nil,
            isLoopback: connection.client.isLoopback || connection.isOverSocket)
        asked.isForLanes = connection.isForLanes
        asked.isSecure = stream.isSecure
        asked.user = connection.isOverSocket ? stream.peerUser : nil
        if context.configuration.users != nil, pages.isForUsers(asked, context.proxy) {
            writer.record.user = try await UserCheck(of: request).admitToOwnPages()
        }
        guard let content = request.content else { return asked }
        if let intake = pages.intake(of: asked, context.proxy) {
            while let chunk = try await content.next() { await intake.take(chunk) }
            asked.intake = intake
            return asked
        }
        let isArchive = connection.isAuthorised && head.target.starts(with: "/-/recordings/".utf8)
        let limit = isArchive ? OwnAnswer.archiveLimit : OwnAnswer.contentLimit
        while let chunk = try await content.next() {
            chunk.withBytes { asked.content.append(contentsOf: $0) }
            guard asked.content.count <= limit else { throw Problem.ownContentTooLarge }
        }
        return asked
    }
}
