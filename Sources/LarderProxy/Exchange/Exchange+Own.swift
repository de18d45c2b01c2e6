// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderSettings

extension Exchange {
    /// The content limit of a request to Larder itself; higher for recordings, over the Unix socket.
    private static let contentLimit = 1 << 20
    private static let archiveLimit = 512 << 20

    /// Answers a request to Larder itself.
    func answerOwn() async throws {
        record.kind = .own
        let request = try await ownRequest()
        let response = await context.proxy.pages.answer(request, of: context.proxy)
        var fields = response.fields
        if !fields.contains(.date) { fields[.date] = context.dateText() }
        if !fields.contains(.cacheControl) { fields[.cacheControl] = "no-store" }
        fields[.xContentTypeOptions] = "nosniff"
        if !fields.contains(.contentSecurityPolicy) { fields[.contentSecurityPolicy] = "default-src 'none'" }
        out.removeAll(keepingCapacity: true)
        PreparedHead.appendStatusLine(response.status, to: &out)
        PreparedHead.append(fields, to: &out)
        record.status = response.status
        if let events = response.events { return try await send(events) }
        if let source = response.source { return try await send(source) }
        finishHead(length: Int64(response.content.count))
        try await sendHead(with: [ContentChunk(response.content)])
    }

    /// `OPTIONS *`: the capabilities of Larder as a whole.
    func answerCapabilities() async throws {
        record.kind = .own
        out.removeAll(keepingCapacity: true)
        PreparedHead.appendStatusLine(204, to: &out)
        PreparedHead.append(
            ["Date": context.dateText(), "Allow": "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS, CONNECT"], to: &out)
        record.status = 204
        finishHead(length: nil)
        try await sendHead()
    }

    private func send(_ source: any OwnContent) async throws {
        finishHead(length: nil)
        try await sendHead()
        guard delivery != .none else { return }
        while let chunk = try await source.next() { try await sendContent([chunk]) }
        try await endContent()
    }

    private func ownRequest() async throws -> OwnRequest {
        let target = String(decoding: head.target, as: UTF8.self)
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        var request = OwnRequest(
            method: head.method, path: String(parts[0]),
            parameters: parts.count > 1 ? Self.parameters(of: parts[1]) : [],
            fields: head.fields, isOverSocket: connection.isAuthorised,
            adminHost: connection.client.isAdminOnly && !connection.isOverSocket ? connection.client.localHost : nil,
            isLoopback: connection.client.isLoopback || connection.isOverSocket)
        request.isForLanes = connection.isForLanes
        request.user = connection.isOverSocket ? stream.peerUser : nil
        if context.configuration.users != nil, context.proxy.pages.isForUsers(request, context.proxy) {
            try await admitToOwnPages()
        }
        if content != nil, let intake = context.proxy.pages.intake(of: request, context.proxy) {
            while let chunk = try await content?.next() { await intake.take(chunk) }
            request.intake = intake
            return request
        }
        let isArchive = connection.isAuthorised && head.target.starts(with: "/-/recordings/".utf8)
        let limit = isArchive ? Exchange.archiveLimit : Exchange.contentLimit
        while let chunk = try await content?.next() {
            chunk.withBytes { request.content.append(contentsOf: $0) }
            guard request.content.count <= limit else { throw Problem.ownContentTooLarge }
        }
        return request
    }

    private static func parameters(of query: Substring) -> [(name: String, value: String)] {
        query.split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (PercentText.decoded(parts[0]), parts.count > 1 ? PercentText.decoded(parts[1]) : "")
        }
    }
}
