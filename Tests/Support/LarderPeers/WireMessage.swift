// SPDX-License-Identifier: Apache-2.0

/// The head of a message, read in the simplest way there is.
package struct WireHead: Sendable {
    package let raw: [UInt8]
    package let startLine: String
    package let lines: [(name: String, value: String)]

    init(raw: [UInt8]) {
        self.raw = raw
        var all = String(decoding: raw, as: UTF8.self).split(separator: "\r\n").map(String.init)
        startLine = all.isEmpty ? "" : all.removeFirst()
        lines = all.map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            let value = line[colon...].dropFirst().drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
    }

    /// The values of a field, joined by `, `; nil when it is absent.
    package subscript(name: String) -> String? {
        let values = self[all: name]
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    package subscript(all name: String) -> [String] {
        lines.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    private func word(_ index: Int) -> String {
        let words = startLine.split(separator: " ", omittingEmptySubsequences: false)
        return words.count > index ? String(words[index]) : ""
    }

    /// Of a response.
    package var status: Int { Int(word(1)) ?? 0 }
    /// Of a request.
    package var method: String { word(0) }
    /// Of a request.
    package var target: String { word(1) }
    package var text: String { String(decoding: raw, as: UTF8.self) }

    var isChunked: Bool { self["Transfer-Encoding"]?.lowercased() == "chunked" }
    var contentLength: Int? { self["Content-Length"].flatMap { Int($0) } }
}

/// A head with its content.
package struct WireMessage: Sendable {
    package let head: WireHead
    package let content: [UInt8]
    package var trailers: [(name: String, value: String)] = []
    /// How the connection ended inside the content; nil when the content is whole.
    package var cut: Inbox.End?

    package var status: Int { head.status }
    package var text: String { String(decoding: content, as: UTF8.self) }
    package var isWhole: Bool { cut == nil }
    package subscript(name: String) -> String? { head[name] }
}

extension Wire {
    /// The next head.
    package func head() async throws -> WireHead {
        let raw = try await wait(for: "a head") { inbox -> Result<[UInt8], WireEnded>? in
            if let raw = inbox.take(through: Array("\r\n\r\n".utf8)) { return .success(raw) }
            return inbox.end.map { .failure(WireEnded(end: $0, pending: inbox.excerpt)) }
        }
        return WireHead(raw: try raw.get())
    }

    /// The next response, interim ones included.
    ///
    /// - Parameter method: of the request, which decides whether there is content.
    package func response(to method: String = "GET") async throws -> WireMessage {
        let head = try await head()
        let isBodiless = method == "HEAD" || head.status < 200 || head.status == 204 || head.status == 304
        return isBodiless ? WireMessage(head: head, content: []) : try await message(head, isResponse: true)
    }

    /// `head` and the content that its framing announces.
    package func message(_ head: WireHead, isResponse: Bool) async throws -> WireMessage {
        if head.isChunked { return try await chunked(head) }
        if let length = head.contentLength {
            let content = try await octets(length)
            return WireMessage(head: head, content: content, cut: content.count < length ? try await end() : nil)
        }
        guard isResponse else { return WireMessage(head: head, content: []) }
        let end = try await end()
        let content = try await octets(.max)
        return WireMessage(head: head, content: content, cut: end == .closed ? nil : end)
    }

    /// The next `count` octets, fewer only at the end.
    package func octets(_ count: Int) async throws -> [UInt8] {
        try await wait(for: "\(count) octets") { inbox in
            inbox.take(exactly: count) ?? (inbox.end == nil ? nil : inbox.take(count))
        }
    }

    /// The same as text.
    package func text(_ count: Int) async throws -> String { String(decoding: try await octets(count), as: UTF8.self) }

    /// Waits until at least `count` octets wait to be taken.
    package func hasReceived(_ count: Int) async throws {
        try await wait(for: "\(count) octets in all") { $0.count >= count || $0.end != nil ? () : nil }
    }

    /// How the connection ends.
    package func end() async throws -> Inbox.End {
        try await wait(for: "the end of the connection") { $0.end }
    }

    /// One chunk of chunked content; empty for the last, behind which trailers follow.
    package func chunk() async throws -> [UInt8]? {
        let line = try await wait(for: "a chunk's size") { inbox -> [UInt8]? in
            inbox.take(through: [0x0D, 0x0A]) ?? (inbox.end == nil ? nil : [])
        }
        let digits = String(decoding: line, as: UTF8.self).prefix { $0.isHexDigit }
        guard let size = Int(digits, radix: 16) else { return nil }
        if size == 0 { return [] }
        let octets = try await octets(size + 2)
        return octets.count == size + 2 ? Array(octets.dropLast(2)) : nil
    }

    private func chunked(_ head: WireHead) async throws -> WireMessage {
        var content: [UInt8] = []
        while let chunk = try await chunk() {
            content += chunk
            guard chunk.isEmpty else { continue }
            var trailers = [UInt8]()
            while true {
                let line = try await wait(for: "a trailer") {
                    $0.take(through: [0x0D, 0x0A]) ?? ($0.end == nil ? nil : [])
                }
                trailers += line
                if line.isEmpty { return WireMessage(head: head, content: content, cut: try await end()) }
                if line.count == 2 { break }
            }
            let lines = WireHead(raw: Array("trailers\r\n".utf8) + trailers).lines
            return WireMessage(head: head, content: content, trailers: lines)
        }
        return WireMessage(head: head, content: content, cut: try await end())
    }
}

/// The connection ended where a message was expected.
package struct WireEnded: Error, Equatable {
    package let end: Inbox.End
    package let pending: String
}
