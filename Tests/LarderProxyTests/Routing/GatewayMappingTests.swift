// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

@Suite("What gateway clients see of URLs")
struct GatewayMappingTests {
    func mapping(
        _ way: Way = .mount, service: String = "api", target: String = "https://api.example/v1/users/7"
    ) throws -> GatewayMapping {
        let table = Services.usual.table
        return GatewayMapping(
            table: table, service: try #require(table.named(service)), way: way, target: try TargetURI(target),
            authority: way == .name ? "api.localhost:3128" : "localhost:3128")
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
    ]) func `references through a name`(reference: String, expected: String) throws {
        #expect(try mapping(.name).mapped(reference: reference) == expected)
    }

    @Test func `a name does not stand for another service`() throws {
        let services = Services(("api", "https://api.example/v1/", nil), ("next", "https://api.example/v2/", nil))
        func mapped(_ way: Way, _ reference: String) throws -> String {
            GatewayMapping(
                table: services.table, service: try #require(services.table.named("api")), way: way,
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
        ("</v1/unclosed", "</v1/unclosed"), ("", ""),
    ]) func `links`(link: String, expected: String) throws {
        #expect(try mapping().mapped([.link: link])[.link] == expected)
    }

    @Test(arguments: [
        ("a=1", "a=1"), ("a=1; Path=/v1/", "a=1; Path=/api/"), ("a=1; Path=/v1/users", "a=1; Path=/api/users"),
        ("a=1; Path=/v1", "a=1; Path=/api/"),
        ("a=1; Path=/", "a=1; Path=/api/"), ("a=1; path=/v2", "a=1; Path=/api/"),
        ("a=1; DOMAIN=api.example; HttpOnly", "a=1; HttpOnly"),
        ("a=1; Secure; SameSite=Lax", "a=1; SameSite=Lax"), ("__Secure-a=1; Secure", "__Secure-a=1; Secure"),
        ("a=1;Max-Age=5", "a=1;Max-Age=5"),
        ("a=b=c; Path=relative", "a=b=c; Path=relative"),
    ]) func `cookies through a mount`(cookie: String, expected: String) throws {
        #expect(try mapping().mapped([.setCookie: cookie])[.setCookie] == expected)
    }

    @Test(arguments: [
        ("a=1; Path=/v1/users", "a=1; Path=/users"), ("a=1; Path=/", "a=1; Path=/"), ("a=1; Path=/v1", "a=1; Path=/"),
        ("a=1; Path=/v1/", "a=1; Path=/"),
    ]) func `cookies through a name`(cookie: String, expected: String) throws {
        #expect(try mapping(.name).mapped([.setCookie: cookie])[.setCookie] == expected)
    }

    @Test func `each cookie keeps its line, and other fields stay`() throws {
        var fields: Fields = ["Set-Cookie": "a=1; Secure", "Content-Type": "text/html"]
        fields.append(.setCookie, "b=2")
        let mapped = try mapping().mapped(fields)
        #expect(mapped[all: .setCookie] == ["a=1", "b=2"])
        #expect(mapped[.contentType] == "text/html")
    }
}
