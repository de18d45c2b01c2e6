// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@Suite("RFC 9112 §3.2 Request targets")
struct RequestTargetTests {
    private func classify(_ text: String, _ method: Method) throws(RequestTargetError) -> RequestTarget {
        try Array(text.utf8).withUnsafeBufferPointer { bytes throws(RequestTargetError) in
            try RequestTarget.classify(UnsafeRawBufferPointer(bytes), method: method)
        }
    }

    private func authority(_ text: String, _ defaultPort: UInt16?) throws(URIError) -> Authority {
        try Array(text.utf8).withUnsafeBufferPointer { bytes throws(URIError) in
            try Authority(UnsafeRawBufferPointer(bytes), defaultPort: defaultPort)
        }
    }

    @Test func `the four forms are told apart`() throws {
        #expect(try classify("/a?b", .get) == .origin)
        #expect(try classify("//a", .post) == .origin)
        #expect(try classify("http://h/", .get) == .absolute(.http))
        #expect(try classify("HTTPS://h/", .get) == .absolute(.https))
        #expect(try classify("http:///", .get) == .absolute(.http))
        #expect(try classify("*", .options) == .asterisk)
        #expect(try classify("Example.com:443", .connect) == .authority(authority("example.com:443", nil)))
        #expect(try classify("[::1]:8443", .connect) == .authority(authority("[::1]:8443", nil)))
    }

    @Test(arguments: [
        ("", Method.get, RequestTargetError.empty),
        ("*", .get, .asteriskNeedsOptions),
        ("**", .options, .malformed),
        ("a/b", .get, .malformed),
        ("?a", .get, .malformed),
        ("ftp://h/", .get, .unsupportedScheme),
        ("mailto:a@b", .get, .unsupportedScheme),
        ("http:h", .get, .unsupportedScheme),
        ("example.com:80", .get, .unsupportedScheme),
        ("1example:80", .get, .malformed),
        ("/", .connect, .invalidAuthority(.invalidHost)),
        ("http://h/", .connect, .invalidAuthority(.invalidPort)),
        ("example.com", .connect, .invalidAuthority(.missingPort)),
        ("example.com:", .connect, .invalidAuthority(.missingPort)),
        ("example.com:0", .connect, .invalidAuthority(.invalidPort)),
        ("example.com:443/", .connect, .invalidAuthority(.invalidPort)),
        ("a@b:443", .connect, .invalidAuthority(.userInformation)),
        ("0x7f.1:443", .connect, .invalidAuthority(.invalidHost)),
        (":443", .connect, .invalidAuthority(.missingHost)),
        ("*", .connect, .invalidAuthority(.invalidHost)),
    ])
    func `anything else is refused by name`(_ text: String, _ method: Method, _ expected: RequestTargetError) {
        #expect(throws: expected) { try classify(text, method) }
    }

    @Test func `a Host field may leave out the port`() throws {
        let host = try authority("LOCALHOST", 80)
        #expect(host.host == "localhost")
        #expect(host.port == 80)
        #expect(host.description == "localhost:80")
        #expect(try authority("127.0.0.1:3128", 80).port == 3128)
    }
}
