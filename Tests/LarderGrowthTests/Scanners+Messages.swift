// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension Scanner {
    /// Messages on the wire, and what they begin with.
    static let messages = [
        Scanner(
            "request heads", in: ["LarderHTTP/HTTP1/"],
            ["a: b\r\n", "a:\r\n", "Host: a\r\n", "a:  b  \r\n", "a", "a: \t", "Connection: a,\r\n"],
            opening: "GET / HTTP/1.1\r\nHost: a\r\n"
        ) { input in
            var parser = RequestHeadParser(), head = RequestHead()
            inGrowingBuffer(input) {
                if case .incomplete? = try? parser.parse($0.bytes, into: &head) { true } else { false }
            }
        },
        Scanner(
            "response heads", in: ["LarderHTTP/HTTP1/"], ["a: b\r\n", "a:\r\n", "a", "Set-Cookie: a=b\r\n"],
            opening: "HTTP/1.1 200 OK\r\n"
        ) { input in
            var parser = ResponseHeadParser(), head = ResponseHead()
            inGrowingBuffer(input) {
                if case .incomplete? = try? parser.parse($0.bytes, into: &head) { true } else { false }
            }
        },
        Scanner(
            "chunked content and trailers", in: ["LarderHTTP/HTTP1/", "LarderHTTP/ContentChunk.swift"],
            ["1\r\na\r\n", "0001;a=\"b\"\r\na\r\n", "0\r\na: b\r\n", "1;a"]
        ) { input in
            for length in [input.count, 64] {
                var decoder = FramingDecoder(.chunked)
                for start in stride(from: 0, to: input.count, by: length) {
                    let piece = Array(input[start..<min(start + length, input.count)])
                    let isGood = piece.withUnsafeBytes { bytes in
                        do { _ = try decoder.decode(bytes.bytes) { _ in } } catch { return false }
                        return true
                    }
                    guard isGood else { return }
                }
            }
        },
        Scanner(
            "the beginning of TLS", in: ["LarderIO/TLS/"], ["\u{0}", "\u{16}\u{3}\u{1}\u{0}\u{1}a"],
            opening: "\u{16}\u{3}\u{1}\u{3f}\u{ff}\u{1}\u{0}\u{3f}\u{fb}", limit: 16 << 10
        ) { input in
            var reader = ClientHello.Reader()
            for end in stride(from: 64, through: input.count, by: 64) {
                guard case .incomplete = input[..<end].withUnsafeBytes({ reader.read($0) }) else { return }
            }
        },
        Scanner(
            "URLs",
            in: [
                "LarderHTTP/Messages/TargetURI", "LarderHTTP/Messages/URIHost.swift",
                "LarderHTTP/Messages/RequestTarget.swift", "LarderHTTP/Messages/PercentText.swift",
            ],
            ["/..", "/.", "/a/..", "%2e%2e/", "//", "%2F", "\\", ";a", "a", "?", "&a=b", "%zz", ":1", "a."],
            opening: "http://a.example/", limit: 16 << 10
        ) { input in
            for text in [input, Array("http://".utf8) + input.dropFirst(17)] {
                let text = String(decoding: text, as: UTF8.self)
                _ = PercentText.reference(text)
                _ = PercentText.decoded(text)
                guard let uri = try? TargetURI(text) else { continue }
                _ = uri.hidesDotSegments
                _ = uri.readings(below: nil)
                _ = uri.resolving(String(text.dropFirst(16)))
            }
        },
        Scanner(
            "URLs that patterns are compared with", in: ["Larder/Patterns/"], ["a", "/a", "ab", "/"],
            opening: "http://a.example/", limit: 16 << 10
        ) { input in
            let url = ResourceURL(String(decoding: input, as: UTF8.self))
            for pattern in ["**/*a*a*c", "/*a*b*c/**", "**a**/b"] {
                _ = try? GlobPattern(pattern).predicate(relativeTo: TargetURI("http://a.example/"))(url)
            }
        },
    ]

    /// Parses what has come so far each time that 64 bytes have come, while `isIncomplete`.
    private static func inGrowingBuffer(_ input: [UInt8], _ isIncomplete: (UnsafeRawBufferPointer) -> Bool) {
        input.withUnsafeBytes { bytes in
            for end in stride(from: 64, through: bytes.count, by: 64) {
                guard isIncomplete(UnsafeRawBufferPointer(rebasing: bytes[..<end])) else { return }
            }
        }
    }
}
