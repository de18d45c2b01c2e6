// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("Messages as octets")
struct MessageWriterTests {
    private func text(_ head: RequestHead, _ framing: BodyFraming) -> String {
        var output: [UInt8] = []
        MessageWriter.append(head, framing: framing, to: &output)
        return String(latin1: output)
    }

    @Test func `a request is its line, its fields in order, and its framing`() {
        let head = RequestHead(
            method: .post, target: "/a?b", version: .http10,
            fields: ["Host": "a", "x-Odd-Case": "1", "X": "\u{e9}", "x": ""])
        #expect(
            text(head, .length(5))
                == "POST /a?b HTTP/1.1\r\nHost: a\r\nx-odd-case: 1\r\nx: \u{e9}\r\nx: \r\nContent-Length: 5\r\n\r\n")
        #expect(
            text(RequestHead(fields: ["Host": "a"]), .chunked)
                == "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        #expect(text(RequestHead(fields: ["Host": "a"]), .none) == "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    }

    @Test func `framing fields are written from the framing only`() {
        let fields: Fields = ["Content-Length": "7", "A": "b", "Transfer-Encoding": "gzip", "content-length": "8"]
        #expect(text(RequestHead(fields: fields), .none) == "GET / HTTP/1.1\r\na: b\r\n\r\n")
        #expect(
            text(RequestHead(fields: fields), .length(3)) == "GET / HTTP/1.1\r\na: b\r\nContent-Length: 3\r\n\r\n")
        #expect(
            text(RequestHead(fields: fields), .chunked)
                == "GET / HTTP/1.1\r\na: b\r\nTransfer-Encoding: chunked\r\n\r\n")
    }

    @Test(arguments: ["a\rb", "a\nb", "a\u{0}b", "\r\nX: y", "a\u{1b}"])
    func `a value that could split a line is never written`(_ value: String) {
        var fields: Fields = ["A": "1"]
        latin1(value).withUnsafeBytes { value in
            "B".utf8CString.withUnsafeBytes {
                fields.appendReceived(spelling: UnsafeRawBufferPointer(rebasing: $0[..<1]), value: value)
            }
        }
        fields.append("C", "3")
        #expect(text(RequestHead(fields: fields), .none) == "GET / HTTP/1.1\r\na: 1\r\nc: 3\r\n\r\n")
        var output: [UInt8] = []
        MessageWriter.appendLastChunk(trailers: fields, to: &output)
        #expect(String(latin1: output) == "0\r\na: 1\r\nc: 3\r\n\r\n")
    }

    @Test(arguments: [(1, "1"), (15, "f"), (16, "10"), (65536, "10000"), (Int.max, "7fffffffffffffff")])
    func `a chunk begins with its size in hexadecimal`(_ count: Int, _ digits: String) {
        var output: [UInt8] = [0x2E]
        MessageWriter.appendChunkStart(count: count, to: &output)
        MessageWriter.appendChunkEnd(to: &output)
        #expect(String(latin1: output) == ".\(digits)\r\n\r\n")
    }

    @Test func `forbidden trailers are not written`() {
        var output: [UInt8] = []
        MessageWriter.appendLastChunk(trailers: ["Content-Length": "3", "X": "1", "Host": "a"], to: &output)
        #expect(String(latin1: output) == "0\r\nx: 1\r\n\r\n")
    }

    // MARK: Round trips

    @Test(arguments: 0..<200)
    func `a request made at random is read as it was written`(_ seed: UInt64) throws {
        var random = SplitMix(seed)
        let head = random.requestHead()
        let content = random.octets(count: Int(random.next() % 300))
        let framing = [BodyFraming.length(UInt64(content.count)), .chunked][Int(random.next() % 2)]
        var wire: [UInt8] = []
        MessageWriter.append(head, framing: framing, to: &wire)
        random.append(content, framing, to: &wire)

        let cuts = random.cuts(wire.count)
        guard case .head(let read, let consumed) = parseRequest(wire, cuts: cuts) else {
            return #expect(Bool(false), "\(String(latin1: wire))")
        }
        var expected = head
        switch framing {
        case .chunked: expected.fields.append(.transferEncoding, "chunked")
        default: expected.fields.append(.contentLength, "\(content.count)")
        }
        #expect(read == expected)
        #expect(try BodyFraming(request: read) == framing)
        let rest = String(latin1: Array(wire[consumed...]))
        #expect(
            decode(rest, framing, cuts: random.cuts(wire.count - consumed))
                == .complete(String(latin1: content), consumed: wire.count - consumed))
    }
}

/// A small generator of numbers, the same on every machine.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func octets(count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }

    mutating func requestHead() -> RequestHead {
        let methods: [Method] = [.get, .post, .put, .delete, .query, Method("X-\(next())")!]
        var fields: Fields = ["Host": "h\(next()).example:\(next() % 65536)"]
        if fields[.host]!.hasSuffix(":0") { fields[.host] = "h" }
        for _ in 0..<(next() % 20) {
            let token = (0...(next() % 24)).map { _ in
                Character(Unicode.Scalar(UInt8(ascii: "a") + UInt8(next() % 26)))
            }
            var value = octets(count: Int(next() % 60)).filter { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }
            while let last = value.last, ASCII.isBlank(last) { value.removeLast() }
            while let first = value.first, ASCII.isBlank(first) { value.removeFirst() }
            let name = FieldName(String(token))!
            guard name != .host, name != .te else { continue }
            value.withUnsafeBytes { fields.append(name, bytes: $0) }
        }
        let target =
            "/"
            + octets(count: Int(next() % 80)).filter { 0x21...0x7E ~= $0 }.map { String(Unicode.Scalar($0)) }.joined()
        return RequestHead(method: methods[Int(next() % 6)], target: target, fields: fields)
    }

    /// Positions up to `count`, in order, the last of them `count`.
    mutating func cuts(_ count: Int) -> [Int] {
        (0..<Int(next() % 8)).map { _ in Int(next() % UInt64(count + 1)) }.sorted() + [count]
    }

    mutating func append(_ content: [UInt8], _ framing: BodyFraming, to wire: inout [UInt8]) {
        guard framing == .chunked else { return wire.append(contentsOf: content) }
        var rest = content[...]
        while !rest.isEmpty {
            let part = rest.prefix(1 + Int(next() % 100))
            MessageWriter.appendChunkStart(count: part.count, to: &wire)
            wire.append(contentsOf: part)
            MessageWriter.appendChunkEnd(to: &wire)
            rest = rest.dropFirst(part.count)
        }
        MessageWriter.appendLastChunk(to: &wire)
    }
}
