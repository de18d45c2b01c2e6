// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@Suite("RFC 3986 §6.2 Target URIs in normal form")
struct TargetURITests {
    @Test(arguments: [
        ("http://example.com/", "http://example.com/"),
        ("HTTP://Example.COM", "http://example.com/"),
        ("https://example.com:443/a?b=c", "https://example.com/a?b=c"),
        ("http://example.com:80", "http://example.com/"),
        ("http://example.com:/x", "http://example.com/x"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com:08080/", "http://example.com:8080/"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://h/%7euser/%c3%a9%2f", "http://h/~user/%C3%A9%2F"),
        ("http://h/a?%7e=%3a%41", "http://h/a?~=%3AA"),
        ("http://h/a/./b/../c", "http://h/a/c"),
        ("http://h/../../x", "http://h/x"),
        ("http://h/a/..", "http://h/"),
        ("http://h/a/.", "http://h/a/"),
        ("http://h/a/b/%2e%2E/c", "http://h/a/c"),
        ("http://h/.well-known/..a/b..", "http://h/.well-known/..a/b.."),
        ("http://h//a//b", "http://h//a//b"),
        ("http://h/a//../b", "http://h/a/b"),
        ("http://h/a?x=/../y&z=..", "http://h/a?x=/../y&z=.."),
        ("http://h/?a[]=1&b={x|y}", "http://h/?a%5B%5D=1&b=%7Bx%7Cy%7D"),
        ("http://h/?", "http://h/?"),
        ("http://h/?b=2&a=1", "http://h/?b=2&a=1"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
        ("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/"),
        ("http://[2001:DB8:0:0:1:0:0:1]/", "http://[2001:db8::1:0:0:1]/"),
        ("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/"),
        ("http://[1::]/", "http://[1::]/"),
        ("http://[::]/", "http://[::]/"),
        ("http://[1:2:3:4:5:6:7:8]/", "http://[1:2:3:4:5:6:7:8]/"),
        ("http://[0:0:1:0:0:0:1:1]/", "http://[0:0:1::1:1]/"),
        ("http://127.0.0.1/", "http://127.0.0.1/"),
        ("http://1.example/", "http://1.example/"),
        ("http://a_b.example/", "http://a_b.example/"),
    ])
    func `equivalent spellings have one normal form`(_ text: String, _ expected: String) throws {
        let uri = try TargetURI(text)
        #expect(uri.string == expected)
        #expect(try TargetURI(uri.string) == uri)
    }

    @Test(arguments: [
        ("", URIError.empty),
        ("example.com/", .unsupportedScheme),
        ("ftp://example.com/", .unsupportedScheme),
        ("http:/example.com/", .unsupportedScheme),
        ("http:///a", .missingHost),
        ("http://:80/", .missingHost),
        ("http://user@example.com/", .userInformation),
        ("http://user:pw@example.com/", .userInformation),
        ("http://example.com:0/", .invalidPort),
        ("http://example.com:65536/", .invalidPort),
        ("http://example.com:000080/", .invalidPort),
        ("http://example.com:+80/", .invalidPort),
        ("http://example.com:8o/", .invalidPort),
        ("http://a:b:80/", .invalidPort),
        ("http://exa mple.com/", .invalidHost),
        ("http://exa%6dple.com/", .invalidHost),
        ("http://é.example/", .invalidHost),
        ("http://a..b/", .invalidHost),
        ("http://.a/", .invalidHost),
        ("http://./", .invalidHost),
        ("http://127.1/", .invalidHost),
        ("http://0177.0.0.1/", .invalidHost),
        ("http://0x7f.0.0.1/", .invalidHost),
        ("http://0x7f000001/", .invalidHost),
        ("http://2130706433/", .invalidHost),
        ("http://127.0.0.1.1/", .invalidHost),
        ("http://127.0.0.256/", .invalidHost),
        ("http://127.0.0.01/", .invalidHost),
        ("http://a.0x/", .invalidHost),
        ("http://[::1/", .invalidHost),
        ("http://[::1]a/", .invalidHost),
        ("http://[]/", .invalidHost),
        ("http://[:::1]/", .invalidHost),
        ("http://[1::2::3]/", .invalidHost),
        ("http://[1:2:3:4:5:6:7]/", .invalidHost),
        ("http://[1:2:3:4:5:6:7:8:9]/", .invalidHost),
        ("http://[1:2:3:4:5:6:7:8::]/", .invalidHost),
        ("http://[fe80::1%25eth0]/", .invalidHost),
        ("http://[12345::]/", .invalidHost),
        ("http://[1:]/", .invalidHost),
        ("http://[:1]/", .invalidHost),
        ("http://[v1.a]/", .invalidHost),
        ("http://h/a#b", .fragment),
        ("http://h#b", .fragment),
        ("http://h/a b", .invalidCharacter(0x20, at: 2)),
        ("http://h/a\\b", .invalidCharacter(0x5C, at: 2)),
        ("http://h/\u{7F}", .invalidCharacter(0x7F, at: 1)),
        ("http://h/é", .invalidCharacter(0xC3, at: 1)),
        ("http://h/a?\u{1}", .invalidCharacter(1, at: 3)),
        ("http://h/%", .invalidPercentEncoding(at: 1)),
        ("http://h/%4", .invalidPercentEncoding(at: 1)),
        ("http://h/a%zz?b", .invalidPercentEncoding(at: 2)),
    ])
    func `what is not such a URI is refused by name`(_ text: String, _ expected: URIError) {
        #expect(throws: expected) { try TargetURI(text) }
    }

    @Test(arguments: [
        ("?q=100%", "?q=100%25"), ("?%zz", "?%25zz"), ("?a=%u2013&b=%4", "?a=%25u2013&b=%254"), ("?%%41", "?%25A"),
        ("?p=C:\\x", "?p=C:%5Cx"), ("?%5c", "?%5C"), ("?%", "?%25"),
    ])
    func `in a query, a percent sign without digits and a backslash mean themselves`(
        _ written: String, _ normal: String
    ) throws {
        let uri = try TargetURI("http://h/a" + written)
        #expect(uri.string == "http://h/a" + normal)
        #expect(try TargetURI(uri.string).string == uri.string)
    }

    @Test func `labels names and URIs have their limits`() throws {
        let label = String(repeating: "a", count: 63)
        #expect(throws: Never.self) { try TargetURI("http://\(label).example/") }
        #expect(throws: URIError.invalidHost) { try TargetURI("http://\(label)a.example/") }
        #expect(throws: URIError.invalidHost) { try TargetURI("http://\(label).\(label).\(label).\(label)/") }
        let room = TargetURI.lengthLimit - "http://h/".count
        #expect(throws: Never.self) { try TargetURI("http://h/" + String(repeating: "a", count: room)) }
        #expect(throws: URIError.tooLong) { try TargetURI("http://h/" + String(repeating: "a", count: room + 1)) }
        #expect(throws: URIError.tooLong) { try TargetURI("http://h/?" + String(repeating: "[", count: room / 2)) }
    }

    @Test func `the parts of a URI are at hand`() throws {
        let uri = try TargetURI("https://API.example.com:8443/v1/a%20b?x=1&y")
        #expect(uri.scheme == .https)
        #expect(uri.host == "api.example.com")
        #expect(uri.port == 8443)
        #expect(uri.authority == "api.example.com:8443")
        #expect(uri.origin == "https://api.example.com:8443")
        #expect(uri.path == "/v1/a%20b")
        #expect(uri.query == "x=1&y")
        #expect(uri.pathAndQuery == "/v1/a%20b?x=1&y")
        #expect(uri.hostKind == .name)
        #expect(!uri.hasDefaultPort)
        let plain = try TargetURI("http://127.0.0.1")
        #expect(plain.query == nil)
        #expect(plain.authority == "127.0.0.1")
        #expect(plain.hostKind == .ipv4)
        #expect(try TargetURI("http://[::1]").hostKind == .ipv6)
    }

    @Test(arguments: [
        ("https://a.example/x", "https://a.example/y?z", true),
        ("https://a.example/x", "https://a.example:443/", true),
        ("https://a.example/x", "http://a.example/x", false),
        ("https://a.example/x", "https://a.example:444/x", false),
        ("https://a.example/x", "https://b.example/x", false),
        ("https://a.example/x", "https://a.example.org/", false),
    ])
    func `an origin is scheme host and port`(_ a: String, _ b: String, _ same: Bool) throws {
        #expect(try TargetURI(a).hasSameOrigin(as: TargetURI(b)) == same)
    }

    @Test(arguments: [
        ("example.com", "/a?b", "http://example.com/a?b"),
        ("Example.com:8080", "", "http://example.com:8080/"),
        ("example.com", "?q", "http://example.com/?q"),
        ("example.com", "//a", "http://example.com//a"),
    ])
    func `authority and origin form make a URI`(_ authority: String, _ rest: String, _ expected: String) throws {
        var uri = TargetURI()
        try uri.set(scheme: .http, authority: authority, pathAndQuery: rest)
        #expect(uri.string == expected)
    }

    @Test func `a path without its slash is refused`() {
        var uri = TargetURI()
        #expect(throws: URIError.relativePath) {
            try uri.set(scheme: .http, authority: "h", pathAndQuery: "a")
        }
        #expect(uri.isEmpty)
    }

    @Test(arguments: [
        ("https://api.example/v1/", "users/x?y=1", "https://api.example/v1/users/x?y=1"),
        ("https://api.example/v1/", "/users", "https://api.example/v1/users"),
        ("https://api.example/v1", "users", "https://api.example/v1/users"),
        ("https://api.example/v1/", "", "https://api.example/v1/"),
        ("https://api.example/v1/", "?a", "https://api.example/v1/?a"),
        ("https://api.example/v1/", "//evil.example/", "https://api.example/v1//evil.example/"),
        ("https://api.example/v1/", "../../admin", "https://api.example/v1/admin"),
        ("https://api.example/v1/", "a/../../..", "https://api.example/v1/"),
        ("https://api.example/v1/", "%2e%2e/admin", "https://api.example/v1/admin"),
        ("https://api.example/v1/?key=k", "a", "https://api.example/v1/a?key=k"),
        ("https://api.example/v1/?key=k", "a?b=c", "https://api.example/v1/a?key=k&b=c"),
    ])
    func `the rest of a gateway path stays below the base`(_ base: String, _ rest: String, _ expected: String) throws {
        var uri = TargetURI()
        try uri.set(base: TargetURI(base), pathAndQuery: rest)
        #expect(uri.string == expected)
        #expect(uri.path.hasPrefix("/v1/"))
    }

    @Test func `dot segments stay when asked for`() throws {
        var uri = TargetURI()
        let text = Array("http://h/a/./b/../c".utf8)
        try text.withUnsafeBufferPointer { bytes throws(URIError) in
            try uri.set(absolute: UnsafeRawBufferPointer(bytes), keepingDotSegments: true)
        }
        #expect(uri.string == "http://h/a/./b/../c")
    }

    @Test func `setting again leaves nothing of the last URI behind`() throws {
        var uri = try TargetURI("https://long.example.com:8443/a/very/long/path?with=query")
        try uri.set(scheme: .http, authority: "h", pathAndQuery: "/")
        #expect(uri == (try TargetURI("http://h/")))
        #expect(uri.port == 80)
        #expect(uri.query == nil)
    }

    @Test func `hosts and paths built at random are stable under normalisation`() throws {
        var random = SystemRandomNumberGenerator()
        let pieces = ["a", ".", "..", "%2e", "%41", "/", "//", "b.c", "~", "%2F", "?", "=", "[", "Z", "-"]
        for _ in 0..<2_000 {
            let path =
                "/"
                + (0..<Int.random(in: 0..<12, using: &random)).map { _ in pieces.randomElement(using: &random)! }
                .joined()
            let once = try TargetURI("http://h\(path)")
            #expect(try TargetURI(once.string) == once)
            #expect(!once.path.split(separator: "/").contains { $0 == "." || $0 == ".." }, "\(path)")
        }
    }

    @Test(arguments: [
        ("/a/..%2fb", true), ("/a%2F..", true), ("/a%5c../b", true), ("/..%5C..%5Cx", true), ("/..;/x", true),
        ("/a/..;v=1/b", true),
        ("/a/..%3b/b", true), ("/%2e%2E%2fx", true), ("/a/..%00", true), ("/a/..%23", true), ("/a/..%3F", true),
        ("/a/..%09/b", true),
        ("/a/../b", false), ("/a/..b", false), ("/a..%2fb", false), ("/a/...%2fb", false), ("/a/.%2fb", false),
        ("/a;../b", false),
        ("/a%2fb", false), ("/..a%2f", false), ("/a?x=/..%2f", false), ("/", false), ("/a/..%41", false),
        ("/%25..%2f", false), ("/a/..%252fb", true), ("/a/..%252Fb", true), ("/a%255c..%255Cb", true),
        ("/a/%252e%252e/b", true), ("/a/%252e.%2fb", true), ("/a/.%25252e%25252fb", true), ("/a/..%253bx/b", true),
        ("/a/..%2500", true), ("/a/..%2523", true), ("/a/..%253F", true), ("/a/..%2509/b", true),
        ("/a/..%25%32%66b", true), ("/a/..%25%2532fb", true), ("/a%25252F..", true), ("/%25%32%65%252e", true),
        ("/a/..%25b", false), ("/a/..%2525b", false), ("/a/%252e/b", false), ("/a%252fb", false),
        ("/a/...%252fb", false), ("/100%25../b", false), ("/a?x=/..%252f", false),
    ]) func `a hidden dot segment is seen`(path: String, isHidden: Bool) throws {
        #expect(try TargetURI("http://h" + path).hidesDotSegments == isHidden, "\(path)")
    }

    @Test func `decoding repeatedly takes each step of a nest once`() {
        let nest = "/%" + String(repeating: "25", count: 20_000) + "2e%" + String(repeating: "25", count: 10_000) + "2F"
        #expect(TargetURI.decodedRepeatedly(Array(nest.utf8).span.bytes) == Array("/.%2F".utf8))
    }

    @Test(arguments: [
        ("/a//b", ["/a/b"]), ("//a", ["/a"]), ("/a%2Fb?c=%2F", ["/a/b?c=%2F"]), ("/a%2fb/", ["/a/b/"]),
        ("/a%5cb", ["/a/b"]), ("/a;x/b;y=1", ["/a/b"]), ("/a%3Bx/b", ["/a/b"]), ("/a/%2F./b", ["/a/b"]),
        ("/a/..;/b", ["/b"]), ("/;/a", ["/a"]), ("/a/b", ["/a/b"]), ("/", ["/"]), ("/a?x=a//b;c", ["/a?x=a//b;c"]),
        ("/a.b/c%20d/", ["/a.b/c%20d/"]), ("/%40me", ["/@me"]), ("/a%3Ab%25", ["/a:b%25"]), ("/a*b", ["/a%2Ab"]),
        ("/;%2Fb/a", ["/b/a", "/a"]), ("/a;b%5Cc", ["/a/c", "/a"]),
        ("/a%252Fb", ["/a%252Fb", "/a/b"]), ("/%25252561", ["/%25252561", "/a"]),
        ("/a%255C%253Bx/b", ["/a%255C%253Bx/b", "/a/b"]), ("/a%25%32fb", ["/a%252fb", "/a/b"]),
    ]) func `one spelling stands for those that origins may take for the same`(path: String, plain: [String]) throws {
        let readings = try TargetURI("http://h:81" + path).readings(below: nil)
        #expect(readings.map(\.string) == plain.map { "http://h:81" + $0 }, "\(path)")
    }

    @Test(arguments: [
        ("/g%2Fp/", "/g%2Fp//x", ["/g/p/x", "/g%2Fp/x"]), ("/v;4/", "/v;4/a%2Fb", ["/v/a/b", "/v;4/a/b"]),
        ("/v1/", "/v1", ["/v1", "/v1/"]), ("/v1/", "/v1/a;b", ["/v1/a"]),
    ]) func `what a base URL spells is also left as it is`(base: String, path: String, plain: [String]) throws {
        let base = try TargetURI("http://h" + base)
        let readings = try TargetURI("http://h" + path).readings(below: base)
        #expect(Set(readings.map(\.string)).isSubset(of: plain.map { "http://h" + $0 }), "\(readings)")
        #expect(readings.contains { $0.string == "http://h" + plain[plain.count - 1] } || plain == ["/v1", "/v1/"])
    }
}

extension TargetURI {
    fileprivate mutating func set(scheme: Scheme, authority: String, pathAndQuery: String) throws(URIError) {
        try Array(authority.utf8).withUnsafeBufferPointer { host throws(URIError) in
            try Array(pathAndQuery.utf8).withUnsafeBufferPointer { rest throws(URIError) in
                try set(
                    scheme: scheme, authority: UnsafeRawBufferPointer(host), pathAndQuery: UnsafeRawBufferPointer(rest))
            }
        }
    }

    fileprivate mutating func set(base: TargetURI, pathAndQuery: String) throws(URIError) {
        try Array(pathAndQuery.utf8).withUnsafeBufferPointer { rest throws(URIError) in
            try set(base: base, pathAndQuery: UnsafeRawBufferPointer(rest))
        }
    }
}
