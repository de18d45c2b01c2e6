// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderSettings
import Testing

@Suite("Routes")
struct RouteRulesTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let from: String
        let to: String
        let path: String
        let result: String?
        var testDescription: String { "\(from) → \(to): \(path)" }
    }

    static let rows: [Row] = [
        Row(from: "/u/{id}", to: "/users/{id}", path: "/u/5", result: "/users/5"),
        Row(from: "/u/{id}", to: "/users/{id}", path: "/u/5?a=b&c", result: "/users/5?a=b&c"),
        Row(from: "/u/{id}", to: "/users/{id}", path: "/u/5/", result: nil),
        Row(from: "/u/{id}", to: "/users/{id}", path: "/u/", result: nil),
        Row(from: "/u/{id}", to: "/users/{id}", path: "/u/5/x", result: nil),
        Row(from: "/u/{id}", to: "/users/{id}", path: "/U/5", result: nil),
        Row(from: "/u/{id}", to: "/users/{id}", path: "/u/a%2Fb", result: "/users/a%2Fb"),
        Row(from: "/{a}/{b}", to: "/{b}/{a}/", path: "/x/y", result: "/y/x/"),
        Row(from: "/{p*}", to: "/v2/{p*}", path: "/", result: "/v2/"),
        Row(from: "/{p*}", to: "/v2/{p*}", path: "/a/b/", result: "/v2/a/b/"),
        Row(from: "/f/{p*}", to: "/files/{p*}", path: "/f", result: nil),
        Row(from: "/f/{p*}", to: "/files/{p*}", path: "/f/", result: "/files/"),
        Row(from: "/%7eme/{x}", to: "/me/{x}", path: "/~me/1", result: "/me/1"),
        Row(from: "/", to: "/start", path: "/", result: "/start"),
        Row(from: "/u/{id}", to: "/u/{id}", path: "/u/5", result: nil),
    ]

    @Test(arguments: rows) func `SH-05 the path that a template describes becomes another`(_ row: Row) throws {
        let base = try TargetURI("http://api.test/base/")
        let rules = try #require(
            RouteRules([RouteRule(from: RouteTemplate(row.from), to: RouteTemplate(row.to))], base: base))
        let uri = try TargetURI("http://api.test/base" + row.path)
        #expect(try rules.rewritten(uri)?.string == row.result.map { "http://api.test/base" + $0 })
    }

    @Test func `the first route that matches is applied and no other`() throws {
        let base = try TargetURI("http://api.test/")
        let rules = try #require(
            RouteRules(
                [
                    RouteRule(from: RouteTemplate("/a/{x}"), to: RouteTemplate("/b/{x}")),
                    RouteRule(from: RouteTemplate("/b/{x}"), to: RouteTemplate("/c/{x}")),
                ], base: base))
        #expect(try rules.rewritten(TargetURI("http://api.test/a/1"))?.path == "/b/1")
        #expect(try rules.rewritten(TargetURI("http://api.test/b/1"))?.path == "/c/1")
        #expect(try rules.rewritten(TargetURI("http://other.test/a/1")) == nil)
    }

    @Test(arguments: [
        ("/users/5", "/u/5"), ("/users/5?a=1", "/u/5?a=1"), ("/u/5", nil), ("/other", "/other"),
    ]) func `what leads to a URL is found again`(_ path: String, _ original: String?) throws {
        let base = try TargetURI("http://api.test/")
        let rules = try #require(
            RouteRules([RouteRule(from: RouteTemplate("/u/{id}"), to: RouteTemplate("/users/{id}"))], base: base))
        #expect(
            rules.original(of: try TargetURI("http://api.test" + path))?.string
                == original.map { "http://api.test" + $0 })
    }

    @Test func `a prefix that a route adds is taken off again`() throws {
        let base = try TargetURI("http://api.test/")
        let rules = try #require(
            RouteRules([RouteRule(from: RouteTemplate("/{p*}"), to: RouteTemplate("/v2/{p*}"))], base: base))
        #expect(rules.original(of: try TargetURI("http://api.test/v2/x/y"))?.path == "/x/y")
        #expect(rules.original(of: try TargetURI("http://api.test/v1/x")) == nil)
    }

    @Test(arguments: [
        ("u/{id}", RouteTemplateError.relative), ("/u-{id}", .partOfSegment("u-{id}")), ("/{}", .invalidName("{}")),
        ("/{1a}", .invalidName("{1a}")), ("/{a*}/b", .restBeforeEnd("a")), ("/{a}/{a}", .repeatedName("a")),
        ("/a?b", .refusedSegment("a?b")), ("/../a", .refusedSegment("..")), ("/a b", .refusedSegment("a b")),
        ("/{a", .partOfSegment("{a")), ("/" + String(repeating: "a", count: 2_048), .tooLong(limit: 2_048)),
    ]) func `what is no template is refused by name`(_ text: String, _ error: RouteTemplateError) {
        #expect(throws: error) { try RouteTemplate(text) }
    }

    static let edits: [(QueryEdit, String?, String?)] = [
        (.set(name: "a", value: "1"), nil, "a=1"),
        (.set(name: "a", value: "1"), "b=2&a=0&c&a=9", "b=2&a=1&c"),
        (.set(name: "a b", value: "c&d=é"), "", "a%20b=c%26d%3D%C3%A9"),
        (.set(name: "a", value: "1"), "%61=0", "a=1"),
        (.add(name: "a", value: "1"), "b=2", "b=2&a=1"),
        (.add(name: "a", value: "1"), "b=2&a", "b=2&a"),
        (.remove(name: "a"), "a=1&b=2&a", "b=2"),
        (.remove(name: "a"), "a=1", nil),
        (.remove(name: "a"), "b=%20+&&c", "b=%20+&&c"),
        (.remove(name: "a+b"), "a%2Bb=1&a+b=2", "a+b=2"),
    ]

    @Test(arguments: edits) func `RQ-05 a query is changed and what is not meant stays as it was written`(
        _ edit: QueryEdit, _ query: String?, _ result: String?
    ) {
        #expect(edit.applied(to: query) == result)
        #expect(edit.applied(to: edit.applied(to: query)) == result)
    }
}
