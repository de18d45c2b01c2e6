// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

@Suite("Requests, as received and as forwarded")
struct RequestTests {
    // MARK: Traits

    @Test(arguments: [
        (HTTPVersion.http11, "", true), (.http11, "close", false), (.http11, "x, Close", false),
        (.http11, "keep-alive", true),
        (.http10, "", false), (.http10, "keep-alive", true), (.http10, "Keep-Alive, x", true),
        (.http10, "keep-alive, close", false),
    ]) func `a connection persists as version and Connection say`(
        version: HTTPVersion, connection: String, persists: Bool
    ) {
        var head = RequestHead(version: version)
        if !connection.isEmpty { head.fields[.connection] = connection }
        #expect(RequestTraits(of: head).isPersistent == persists)
    }

    @Test func `fields that matter are noticed, others are not`() {
        let cases: [(FieldName, RequestTraits.Presence)] = [
            (.via, .via), (.range, .range), (.ifNoneMatch, .conditional), (.ifModifiedSince, .conditional),
            (.ifMatch, .conditional),
            (.ifUnmodifiedSince, .conditional), (.ifRange, .conditional), (.cacheControl, .cacheControl),
            (.pragma, .cacheControl),
            (.authorization, .authorization), (.cookie, .cookie), (.connection, .connection), (.accept, []),
            ("X-Range", []),
        ]
        for (name, presence) in cases {
            #expect(RequestTraits(of: RequestHead(fields: [name: "x"])).presence == presence, "\(name)")
        }
    }

    @Test(arguments: [
        ("websocket", "upgrade", HTTPVersion.http11, true), ("websocket", "x, Upgrade", .http11, true),
        ("websocket", "x", .http11, false),
        ("websocket", "upgrade", .http10, false), ("h2c", "upgrade", .http11, false),
        ("H2C", "Upgrade, HTTP2-Settings", .http11, false), ("WebSocket", "upgrade", .http11, true),
        ("TLS/1.0, websocket", "upgrade", .http11, true), ("TLS/1.0", "upgrade", .http11, false),
        ("websockets", "upgrade", .http11, false), ("websocket/13", "upgrade", .http11, false),
        ("anything", "upgrade", .http11, false),
    ]) func `an upgrade must be asked for in full`(
        upgrade: String, connection: String, version: HTTPVersion, wants: Bool
    ) {
        let head = RequestHead(version: version, fields: [.upgrade: upgrade, .connection: connection])
        #expect(RequestTraits(of: head).wantsUpgrade == wants)
        var write = head
        write.method = .post
        #expect(!RequestTraits(of: write).wantsUpgrade)
    }

    @Test func `100-continue is expected by HTTP/1.1 clients alone`() {
        #expect(
            RequestTraits(of: RequestHead(method: .post, fields: [.expect: "100-Continue", .contentLength: "1"]))
                .expectsContinue)
        #expect(
            !RequestTraits(
                of: RequestHead(
                    method: .post, version: .http10, fields: [.expect: "100-continue", .contentLength: "1"])
            ).expectsContinue)
        #expect(!RequestTraits(of: RequestHead(fields: [.expect: "something"])).expectsContinue)
    }

    @Test func `methods fall into three classes`() {
        #expect(RequestTraits(of: RequestHead(method: .get)).method == .get)
        #expect(RequestTraits(of: RequestHead(method: .head)).method == .head)
        for method in [LarderHTTP.Method.post, .put, .delete, .options] {
            #expect(RequestTraits(of: RequestHead(method: method)).method == .other)
        }
    }

    // MARK: Forwarding

    func forwarded(
        _ fields: Fields, url: String = "http://a.example:8080/x?y", form: RequestForm = .forward,
        spelling: String = "",
        edits: [HeaderEdit] = []
    ) throws -> RequestHead {
        var settings = ServiceSettings()
        settings.name = "api"
        let service = Service("api", baseURL: "http://a.example:8080/", transport: StubTransport())
        var block = ConfigureBlock()
        block.headers = edits
        service.replaceConfiguration(with: [ConfigurationEntry(block, relativeTo: service.baseURL)])
        let routed = RoutedService(
            service, number: 1, settings: settings, targets: [], identities: .ephemeral(), parent: { _ in nil })
        let uri = try TargetURI(url)
        return ForwardedRequest(
            uri: uri, form: form, via: "1.1 larder", configuration: routed.configuration(for: uri, method: .get),
            spelling: Array(spelling.utf8)
        ).head(for: RequestHead(target: "whatever", fields: fields))
    }

    @Test func `the origin gets origin-form, its own Host first, and our Via last`() throws {
        let head = try forwarded(["Host": "something.else", "Via": "1.0 first", "X-A": "1"])
        #expect(String(decoding: head.target, as: UTF8.self) == "/x?y")
        var lines: [String] = []
        head.fields.forEachLine { _, name, value in
            lines.append("\(String(decoding: name, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))")
        }
        #expect(lines == ["Host: a.example:8080", "Via: 1.0 first", "x-a: 1", "Via: 1.1 larder"])
    }

    @Test func `the client's spelling is what is sent`() throws {
        #expect(
            String(decoding: try forwarded([:], url: "http://a.example/~a", spelling: "/%7Ea").target, as: UTF8.self)
                == "/%7Ea")
    }

    @Test func `what belongs to the client's hop stays there`() throws {
        let head = try forwarded([
            "Connection": "x-mine", "X-Mine": "1", "Keep-Alive": "1", "TE": "trailers", "Transfer-Encoding": "chunked",
            "Upgrade": "x",
            "Proxy-Authorization": "secret", "Proxy-Connection": "x", "Trailer": "x", "HTTP2-Settings": "x",
            "Cookie": "kept", "Authorization": "kept",
        ])
        #expect(head.fields.count == 4)
        #expect(head.fields[.cookie] == "kept")
        #expect(head.fields[.authorization] == "kept")
    }

    @Test func `fields by which one client could choose what others get are dropped`() throws {
        let head = try forwarded([
            "X-Forwarded-Host": "evil.example", "X-Original-URL": "/admin", "Forwarded": "host=evil.example",
            "X-HTTP-Method-Override": "DELETE",
        ])
        #expect(head.fields.count == 2)
    }

    @Test func `the configuration sets, replaces and removes fields`() throws {
        let head = try forwarded(
            ["User-Agent": "curl", "X-Old": "1"],
            edits: [
                HeaderEdit(name: .userAgent, value: Secret("acme")), HeaderEdit(name: "X-New", value: Secret("2")),
                HeaderEdit(name: "X-Old", value: nil),
            ])
        #expect(head.fields[.userAgent] == "acme")
        #expect(head.fields["X-New"] == "2")
        #expect(!head.fields.contains("X-Old"))
    }

    @Test(arguments: [(RequestForm.forward, true), (.mount, false), (.name, false), (.anyHost, false)])
    func `the referring page is told by forward clients alone`(form: RequestForm, isSent: Bool) throws {
        #expect(try forwarded([.referer: "http://localhost/"], form: form).fields.contains(.referer) == isSent)
    }
}
