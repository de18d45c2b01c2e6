// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

@Suite("What gateway clients see of URLs")
struct GatewayMappingTests {
    func mapping(
        _ form: RequestForm = .mount, service: String = "api", target: String = "https://api.example/v1/users/7"
    ) throws -> GatewayMapping {
        let table = Services.usual.table
        return GatewayMapping(
            table: table, service: try #require(table.named(service)), form: form, target: try TargetURI(target),
            authority: form == .name ? "api.localhost:3128" : "localhost:3128")
    }

    @Test(arguments: [
        ("https://api.example/v1/users/8?x#part", "http://localhost:3128/api/users/8?x#part"),
        ("/v1/users/8", "/api/users/8"), ("8", "8"),
        ("?page=2", "?page=2"), ("../teams", "../teams"),
        ("//api.example/v1/x", "http://localhost:3128/api/x"), ("#part", "#part"), ("/v1/x#part", "/api/x#part"),
        ("https://api.example/v1", "http://localhost:3128/api/"),
        ("https://api.example/v1/", "http://localhost:3128/api/"),
        // Another service's; what no gateway path leads to; what is no URL.
        ("http://other.example:8080/y", "http://localhost:3128/o/t/y"),
        ("https://api.example/v2/x", "https://api.example/v2/x"),
        ("https://elsewhere.example/", "https://elsewhere.example/"), ("/v2/x#y", "https://api.example/v2/x#y"),
        ("mailto:a@b.example", "mailto:a@b.example"),
        ("http://[broken", "http://[broken"),
    ]) func `references through a mount`(reference: String, expected: String) throws {
        #expect(try mapping().mapped(reference: reference) == expected)
    }

    @Test(arguments: [
        ("https://api.example/v1/users/8", "http://api.localhost:3128/users/8"), ("/v1/", "/"), ("/v1", "/"),
        ("https://api.example/v1", "http://api.localhost:3128/"),
        ("http://other.example:8080/y", "http://other.example:8080/y"),
        ("/v2/x", "https://api.example/v2/x"),
        // Two slashes are followed by a host, in a reference.
        ("/v1//evil.example/x#y", "http://api.localhost:3128//evil.example/x#y"),
        ("/v1/..//v1//evil.example", "https://api.example//v1//evil.example"),
    ]) func `references through a name`(reference: String, expected: String) throws {
        #expect(try mapping(.name).mapped(reference: reference) == expected)
    }

    @Test(arguments: ["/..//evil.example/x", "/.//evil.example/x", "/a/../..//evil.example/x"])
    func `no path through a host's own name names another host`(reference: String) throws {
        #expect(
            try mapping(.hostName, target: "https://here.example/a").mapped(reference: reference)
                == "http://localhost:3128//evil.example/x")
    }

    @Test func `a name does not stand for another service`() throws {
        let services = Services(("api", "https://api.example/v1/", nil), ("next", "https://api.example/v2/", nil))
        func mapped(_ form: RequestForm, _ reference: String) throws -> String? {
            GatewayMapping(
                table: services.table, service: try #require(services.table.named("api")), form: form,
                target: try TargetURI("https://api.example/v1/x"), authority: "here"
            ).mapped(reference: reference)
        }
        #expect(try mapped(.name, "/v2/y") == "https://api.example/v2/y")
        #expect(try mapped(.name, "https://api.example/v2/y") == "https://api.example/v2/y")
        #expect(try mapped(.mount, "/v2/y") == "/next/y")
    }

    @Test(arguments: [
        ("https://any.example/x?y", "http://localhost:3128/https/any.example/x?y"), ("/z", "/https/here.example/z"),
        ("http://other.example:8080/", "http://localhost:3128/http/other.example:8080/"),
    ]) func `references through any host`(reference: String, expected: String) throws {
        #expect(try mapping(.anyHost, target: "https://here.example/a").mapped(reference: reference) == expected)
    }

    @Test(arguments: [
        ("</v1/a>; rel=next", "</api/a>; rel=next"),
        (
            "<a>; rel=\"x\", <https://elsewhere.example/>; rel=\"y\"",
            "<a>; rel=\"x\", <https://elsewhere.example/>; rel=\"y\""
        ),
        ("</v1/a>; title=\"see <b>\"", "</api/a>; title=\"see <b>\""),
        ("</v1/a>; title=\"a \\\" <b>\", </v1/c>", "</api/a>; title=\"a \\\" <b>\", </api/c>"),
        ("</v1/\u{C3}\u{BC}>; title=\"\u{C3}\u{BC}\"", "</api/%C3%BC>; title=\"\u{C3}\u{BC}\""),
        ("</v1/unclosed", "</v1/unclosed"), ("", ""),
    ]) func `links`(link: String, expected: String) throws {
        #expect(try mapping().mapped([.link: link])[.link] == expected)
    }

    @Test(
        arguments: [
            ("a=1; Path=/", "a=1; Path=/"), ("a=1; Path=/other", nil), ("a=1; Path=/other/x", nil),
            ("a=1; Path=/others", "a=1; Path=/others"),
        ] as [(String, String?)])
    func `no service sets cookies for one that is mounted below it`(cookie: String, expected: String?) throws {
        let table = Services(("web", "https://web.example/", "/"), ("other", "https://other.example/", nil)).table
        let mapping = GatewayMapping(
            table: table, service: try #require(table.named("web")), form: .mount,
            target: try TargetURI("https://web.example/a"), authority: "localhost:3128")
        #expect(mapping.mapped([.setCookie: cookie])[.setCookie] == expected)
    }

    @Test(
        arguments: [
            ("a=1", "a=1; Path=/api/users"), ("a=1; Path=/v1/", "a=1; Path=/api/"),
            ("a=1; Path=/v1/users", "a=1; Path=/api/users"),
            ("a=1; Path=/v1", "a=1; Path=/api/"), ("a=1; Path=/", "a=1; Path=/api/"),
            ("a=1; Path=/v1/; DOMAIN=api.example; HttpOnly", "a=1; Path=/api/; HttpOnly"),
            ("a=1; Path=/; Secure; SameSite=Lax", "a=1; Path=/api/; SameSite=Lax"),
            ("a=1; Path=/; SameSite=None; Secure; Partitioned", "a=1; Path=/api/"),
            ("__Secure-a=1; Path=/; Secure", "__Secure-a=1; Path=/api/; Secure"),
            ("a=1;Path=/;Max-Age=5", "a=1; Path=/api/; Max-Age=5"),
            ("a=b=c; Path=relative", "a=b=c; Path=/api/users"),
            // As browsers read it, whatever is around it.
            ("a=1; Path =/", "a=1; Path=/api/"), ("a=1; Path= /", "a=1; Path=/api/"),
            ("a=1; Path\t=\t/\t", "a=1; Path=/api/"), ("a=1;\tpath=/", "a=1; Path=/api/"),
            ("a=1; Path=/v1/; Path=/", "a=1; Path=/api/"), ("a=1; Path=/; Path=", "a=1; Path=/api/users"),
            ("a=1; Domain =api.example; Path=/", "a=1; Path=/api/"), ("a=1; Domain=; Path=/", "a=1; Path=/api/"),
            ("a=1; Domain=.api.example; Path=/", "a=1; Path=/api/"),
            // Cookies that no request to the service would be sent with, or no client would take from the origin.
            ("a=1; path=/v2", nil), ("a=1; Path=//other/", nil), ("a=1; Path=//other.example:8080/", nil),
            ("a=1; Path=/\\", nil), ("a=1; Path=/\\other/", nil), ("a=1; Path=/v1/../", nil),
            ("a=1; Path=/v1/%2e%2e/", nil),
            ("a=1; Path=/v1/?x", nil), ("a=1; Path=/v1/a b", nil), ("a=1; Path=/v", nil),
            ("a=1; Domain=other.example; Path=/", nil), ("a=1; Domain=i.example; Path=/", nil),
        ] as [(String, String?)]) func `cookies through a mount`(cookie: String, expected: String?) throws
    {
        #expect(try mapping().mapped([.setCookie: cookie])[.setCookie] == expected)
    }

    @Test(arguments: [
        ("a=1; Path=/v1/users", "a=1; Path=/users"), ("a=1; Path=/", "a=1; Path=/"), ("a=1; Path=/v1", "a=1; Path=/"),
        ("a=1; Path=/v1/", "a=1; Path=/"),
    ]) func `cookies through a name`(cookie: String, expected: String) throws {
        #expect(try mapping(.name).mapped([.setCookie: cookie])[.setCookie] == expected)
    }

    @Test(arguments: [
        ("a=1; Path =/", "a=1; Path=/https/here.example/"),
        ("a=1; Path=//other/", "a=1; Path=/https/here.example//other/"),
        ("a=1; Path=/x", "a=1; Path=/https/here.example/x"), ("a=1", "a=1; Path=/https/here.example/d"),
    ]) func `cookies through any host`(cookie: String, expected: String) throws {
        var mapping = try mapping(.anyHost, target: "https://here.example/d/e")
        mapping = GatewayMapping(
            table: mapping.table, service: mapping.table.unclaimed, form: .anyHost, target: mapping.target,
            authority: mapping.authority)
        #expect(mapping.mapped([.setCookie: cookie])[.setCookie] == expected)
    }

    @Test(arguments: [
        ("/v1/a b", "/api/a%20b"), (" /v1/x ", "/api/x"), ("/\\api.example/v1/x", "http://localhost:3128/api/x"),
        ("\\v1\\x", "/api/x"), ("/v1\\x?a\\b", "/api/x?a%5Cb"), ("///api.example/v1/x", "http://localhost:3128/api/x"),
        ("https:/v1/x", "/api/x"), ("https:\\\\api.example\\v1\\x", "http://localhost:3128/api/x"),
        ("http:/other.example:8080/y", "http://localhost:3128/o/t/y"), ("/v1/\tx", "/api/x"), ("/v1/%zz", "/api/%25zz"),
        ("/v1/é", "/api/%C3%A9"), ("/v2/a b", "https://api.example/v2/a%20b"), ("../../x", "https://api.example/x"),
        ("../../v1/x", "/api/x"), ("%2e%2e/%2e%2e/x", "https://api.example/x"),
        ("//elsewhere.example/a", "https://elsewhere.example/a"),
        ("a b", "a%20b"),
    ]) func `references are read as browsers read them`(reference: String, expected: String) throws {
        #expect(try mapping().mapped(reference: reference) == expected)
    }

    @Test func `a reference that nobody can follow is left out`() throws {
        #expect(try mapping().mapped(reference: "//[broken/") == nil)
        #expect(try mapping().mapped(["Location": "//[broken/"])[.location] == nil)
    }

    @Test func `what is relative to a mount without its slash says where it leads`() throws {
        #expect(try mapping(target: "https://api.example/v1/").mapped(reference: "x") == "/api/x")
        #expect(try mapping(target: "https://api.example/v1/").mapped(reference: "?x") == "?x")
    }

    @Test(
        arguments: [
            ("5", "5"), ("5; url=/v1/x", "5; url=/api/x"), ("0;URL='/v1/x'", "0; url=/api/x"),
            ("1, /v1/x", "1; url=/api/x"),
            ("0; url = \"https://api.example/v1/x\" y", "0; url=http://localhost:3128/api/x"),
            (" 3 ;url=/v2/x", "3; url=https://api.example/v2/x"),
            ("1; urlx", "1; url=urlx"), ("url=/v1/x", nil), ("", nil),
        ] as [(String, String?)]) func `refreshes`(value: String, expected: String?) throws
    {
        #expect(try mapping().mapped([.refresh: value])[.refresh] == expected)
    }

    @Test func `what would bind a browser to more than the response is taken out`() throws {
        let names = Variant.aboutOrigin
        var fields: Fields = ["Content-Type": "text/html"]
        for name in names { fields[name] = "x" }
        #expect(GatewayMapping.concerns(fields))
        let mapped = try mapping().mapped(fields)
        #expect(mapped.count == 1)
        for name in ["Service-Worker-Allowed", "Clear-Site-Data", "Set-Cookie2", "Use-As-Dictionary", "No-Vary-Search"]
        {
            #expect(names.contains(FieldName(name)!), "\(name)")
        }
    }

    @Test func `of very many links the last are left out`() throws {
        let links = (0..<15_000).map { "<\($0)>; rel=next" }.joined(separator: ", ")
        let long = "https://api.example/v1/" + String(repeating: "a", count: 15_000) + "/x"
        let mapped = try mapping(target: long).mapped(["Link": links])[.link] ?? ""
        let count = mapped.split(separator: ",").count
        #expect((10...100).contains(count))
        #expect(mapped.hasSuffix("<\(count - 1)>; rel=next"))
        let few = try mapping().mapped(["Link": String(links.prefix(7_000))])[.link]
        #expect(few?.utf8.count == 7_000)
    }

    @Test func `of a Link field only so many references are mapped`() throws {
        let limit = GatewayMapping.linkLimit
        let links = (0..<12_000).map { "</\($0)>" }
        let mapped = try mapping().mapped(["Link": links.joined(separator: ",")])[.link] ?? ""
        #expect(mapped.split(separator: ",").count == limit)
        let most = try mapping().mapped(["Link": links.prefix(limit).joined(separator: ",")])[.link] ?? ""
        #expect(most.split(separator: ",").count == limit)
    }

    @Test func `each cookie keeps its line, and other fields stay`() throws {
        var fields: Fields = ["Set-Cookie": "a=1; Secure", "Content-Type": "text/html"]
        fields.append(.setCookie, "b=2")
        let mapped = try mapping().mapped(fields)
        #expect(mapped[all: .setCookie] == ["a=1; Path=/api/users", "b=2; Path=/api/users"])
        #expect(mapped[.contentType] == "text/html")
    }
}
