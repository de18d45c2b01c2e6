// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

@Suite("Links in content")
struct LinkScannerTests {
    func map(_ form: RequestForm = .mount, at page: String = "https://api.example/v1/users/7") throws -> LinkMap {
        let table = Services.usual.table
        return LinkMap(
            of: table, for: try #require(table.named("api")), form,
            authority: form == .name ? "api.localhost:3128" : "localhost:3128", isSecure: false, at: try TargetURI(page)
        )
    }

    func mapped(_ text: String, _ map: LinkMap, piece: Int = .max) -> String {
        var scanner = LinkScanner(map)
        var rest = Array(text.utf8)[...]
        var out: [UInt8] = []
        while !rest.isEmpty {
            out += scanner.take(rest.prefix(piece))
            rest = rest.dropFirst(piece)
        }
        return String(decoding: out + scanner.take([], isLast: true), as: UTF8.self)
    }

    static let throughMount: [(String, String)] = [
        (#"{"next":"https://api.example/v1/users?page=2"}"#, #"{"next":"http://localhost:3128/api/users?page=2"}"#),
        (#"{"next":"https:\/\/api.example\/v1\/users"}"#, #"{"next":"http:\/\/localhost:3128\/api\/users"}"#),
        (#"{"dl":"https://api.example/v1"}"#, #"{"dl":"http://localhost:3128/api"}"#),
        (#"<a href="https://api.example/v1/x#sha256=1">"#, #"<a href="http://localhost:3128/api/x#sha256=1">"#),
        (#"<a HREF='/v1/x'>"#, #"<a HREF='http://localhost:3128/api/x'>"#),
        (#"{"url": "/v1/x"}"#, #"{"url": "http://localhost:3128/api/x"}"#),
        ("http://other.example:8080/y", "http://localhost:3128/o/t/y"),
        // Clients resolve dot segments before they ask: below a mount they would lead elsewhere.
        ("http://other.example:8080/t/..//x", "http://localhost:3128/o/t//x"),
        ("http://other.example:8080/../x?a=../b", "http://localhost:3128/o/t/x?a=../b"),
        ("http://other.example:8080/%2E%2e/x", "http://localhost:3128/o/t/x"),
        ("https://api.example/v1/a/../b", "http://localhost:3128/api/b"),
        ("https://api.example/v1/../v1/deep/./x", "http://localhost:3128/deep/x"),
        ("https://api.example/v1/../v2/x", "https://api.example/v1/../v2/x"),
        (#"{"next":"https:\/\/api.example\/v1\/a\/..\/x"}"#, #"{"next":"http:\/\/localhost:3128\/api\/x"}"#),
        (#"<a href="/v1/a/../x">"#, #"<a href="http://localhost:3128/api/x">"#),
        (#"<a href="/v1/../v2/x">"#, #"<a href="/v1/../v2/x">"#),
        ("https://api.example/v1/.well-known/..x/%7Ea", "http://localhost:3128/api/.well-known/..x/%7Ea"),
        // Not below a base, other hosts that begin alike, other schemes, other members, and what is no link.
        ("https://api.example/v2/x", "https://api.example/v2/x"),
        ("https://api.example/v10/x", "https://api.example/v10/x"),
        ("https://api.example.org/v1/x", "https://api.example.org/v1/x"),
        ("http://api.example/v1/x", "http://api.example/v1/x"),
        ("xhttps://api.example/v1/x", "xhttps://api.example/v1/x"),
        (#"{"path":"/v1/x"}"#, #"{"path":"/v1/x"}"#), (#"<a href="//v1/x">"#, #"<a href="//v1/x">"#),
        (#"<a href="/v2/x">"#, #"<a href="/v2/x">"#), (#"<a href="x">"#, #"<a href="x">"#), ("a:b=c://", "a:b=c://"),
    ]

    @Test(arguments: throughMount) func `lead back through a mount`(text: String, expected: String) throws {
        #expect(mapped(text, try map()) == expected)
    }

    @Test func `are found whatever the pieces are that content comes in`() throws {
        let text = Self.throughMount.map(\.0).joined(separator: "\n")
        let map = try map()
        let whole = mapped(text, map)
        for piece in 1...text.utf8.count { #expect(mapped(text, map, piece: piece) == whole, "pieces of \(piece)") }
    }

    @Test(arguments: [
        (RequestForm.name, "http://api.localhost:3128/x"), (.anyHost, "http://localhost:3128/https/api.example/v1/x"),
        (.forward, "https://api.example/v1/x"),
    ]) func `lead back the way the client came`(form: RequestForm, expected: String) throws {
        #expect(mapped("https://api.example/v1/x", try map(form)) == expected)
    }

    @Test func `of other services have their names where the client used a name`() throws {
        let text = mapped("http://other.example:8080/y", try map(.name))
        #expect(text.hasPrefix("http://") && text.hasSuffix(".localhost:3128/y"))
    }

    @Test func `have entity tags that other names' links have not`() throws {
        let (mount, name) = (try map().digest, try map(.name).digest)
        let tag = try #require(LinkTag.make(EntityTag("\"a\""), digest: mount))
        #expect(LinkTag.original(of: tag, digest: mount) == EntityTag("\"a\""))
        #expect(LinkTag.original(of: tag, digest: name) == nil)
        #expect(LinkTag.original(of: EntityTag("\"a\""), digest: mount) == nil)
        #expect(try map().digest == mount)
    }
}
