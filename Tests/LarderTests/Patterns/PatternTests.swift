// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

private func isMatch(
    _ pattern: some ConfigurationPattern, _ url: String, base: String? = "https://foo.bar/v1/"
) -> Bool {
    let baseURL = base.flatMap { try? TargetURI($0) }
    return pattern.predicate(relativeTo: baseURL)(ResourceURL(url))
}

/// A path is put below the base URL as navigation would; anything else is a whole URL.
private func absolute(_ url: String) -> String { url.hasPrefix("/") ? "https://foo.bar/v1" + url : url }

@Suite("Glob patterns")
struct GlobPatternTests {
    @Test(arguments: [
        ("fez", "/fez", true), ("/fez", "/fez", true), ("fez", "https://foo.com/v1/fez", false),
        ("/fez", "https://foo.com/v1/fez", false), ("fez", "/sombrero/fez", false),
        ("fez", "/sombrero/https://foo.bar/v1/fez", false), ("hither/thither", "/hither/thither", true),
        ("/hither/thither", "/hither/thither", true), ("/foo", "/foo/", false), ("/foo/", "/foo", false),
        ("/foo", "/foo?x=1", true), ("/Foo", "/foo", false),
    ])
    func `PT-01 literals are relative to the base URL`(_ pattern: String, _ url: String, _ expected: Bool) throws {
        #expect(isMatch(try GlobPattern(pattern), absolute(url)) == expected)
    }

    @Test(arguments: [
        ("/foo", "/foo", true), ("/foo", "foo", false), ("/foo", "http://bar.baz/foo", false), ("foo", "foo", true),
        ("foo", "/foo", false), ("http://bar.baz/*", "http://bar.baz/foo", true),
    ])
    func `PT-01 without a base URL patterns are literal`(_ pattern: String, _ url: String, _ expected: Bool) throws {
        #expect(isMatch(try GlobPattern(pattern), url, base: nil) == expected)
    }

    @Test(arguments: [
        ("/*", "/hither", true), ("/*", "/hither/", false), ("/*", "/hither/thither", false), ("/*b", "/zub", true),
        ("/*b", "/zu/b", false), ("/*/b", "/a/b", true), ("/*/b", "/a/b?foo=bar", true), ("/*/b", "/a/", false),
        ("/*/b", "/a/b/", false), ("/a/*/c", "/a/blarg/c", true), ("/a/*/c", "/a/c", false), ("/*x*/c", "/x/c", true),
        ("/*x*/c", "/foxy/c", true), ("/*x*/c", "/fozzy/c", false), ("/foo/*", "/foo/", true),
    ])
    func `PT-02 one star stays within a segment`(_ pattern: String, _ url: String, _ expected: Bool) throws {
        #expect(isMatch(try GlobPattern(pattern), absolute(url)) == expected)
    }

    @Test(arguments: [
        ("/**", "/", true), ("/**", "/hither", true), ("/**", "/hither/thither/yon", true), ("/**/b", "/a/b", true),
        ("/**/b", "/a/b?foo=bar", true), ("/a/**/b", "/a/b", true), ("/a/**/b", "/a/1/2/3/b", true),
        ("/a/**/b", "/a1/2/3/b", false), ("/a/**/b", "/a/1/2/3b", false),
        ("/**x**", "/how/many/tests/exactly/do/we/need", true), ("/**x**", "/just/a/health/handful", false),
        ("/**/*", "/a/b", true), ("/**/*", "/ab", true), ("/foo/**", "/foo", false), ("**", "/", true),
        ("**", "https://foo.bar/v1", false), ("/foo**/bar", "/foobar", true), ("/a/***", "/a/b/c", true),
        ("/a/***", "/a/", true), ("/**/d", "/a:!@$b/d", true), ("/*/d", "/:/d", true), ("/*/d", "/!/d", true),
        ("/**", "/a@b$c", true),
    ])
    func `PT-03 two stars cross segments`(_ pattern: String, _ url: String, _ expected: Bool) throws {
        #expect(isMatch(try GlobPattern(pattern), absolute(url)) == expected)
    }

    @Test(arguments: [
        ("/?", "/o", true), ("/?", "/", false), ("/??", "/oy", true), ("/??", "/o", false), ("/??", "/oye", false),
        ("/??", "/o/", false), ("/x/?*", "/x/o", true), ("/x/?*", "/x/oye", true), ("/x/?*", "/x/", false),
        ("/x?y", "/x:y", true), ("/x?y", "/x!y", true), ("/x?y", "/x@y", true), ("/x?y", "/x$y", true),
        ("/x?y", "/x/y", false),
    ])
    func `PT-04 a question mark is one character`(_ pattern: String, _ url: String, _ expected: Bool) throws {
        #expect(isMatch(try GlobPattern(pattern), absolute(url)) == expected)
    }

    @Test(arguments: [
        ("https://foo.com/*/fez", "https://foo.com/v1/fez", true), ("https://foo.com/*/fez", "/fez", false),
        ("https://foo.com:*/**", "https://foo.com:8080/v1/fez", true),
        ("https://*:8080/**", "https://foo.com:8080/v1/fez", true),
        ("https://foo.com:*/**", "https://foo.com/v1/fez", false),
        ("https://bar.com:*/**", "https://foo.com:8080/v1/fez", false),
        ("https://*:7070/**", "https://foo.com:8080/v1/fez", false),
        ("https://*/**", "https://anything.at.all/x", true), ("https://*/**", "http://anything.at.all/x", false),
        ("https://*.example.com/**", "https://a.example.com/x", true),
        ("https://*.example.com/**", "https://a.b.example.com/x", false),
        ("https://*.example.com/**", "https://example.com/x", false), ("https://foo.com", "https://foo.com/", true),
        ("https://foo.com:443/**", "https://foo.com/x", true), ("http://[::1]:*/**", "http://[0::1]:8080/", true),
        ("https://foo.com/a", "https://foo.com/a?b=c", true),
    ])
    func `PT-05 absolute patterns are compared part by part`(_ pattern: String, _ url: String, _ expected: Bool) throws
    {
        #expect(isMatch(try GlobPattern(pattern), absolute(url)) == expected)
    }

    @Test(arguments: [
        ("https://foo.com:*/**", "https://foo.com:pw@evil.org/x"),
        ("https://foo.com:*/**", "https://foo.com:1@evil.org:8080/x"),
        ("https://*.example.com/**", "https://evil.org#.example.com/x"),
        ("https://*.example.com/**", "https://evil.org/.example.com/x"),
        ("https://*.example.com/**", "https://evil.org?.example.com/x"),
        ("https://foo.com*/x", "https://foo.com.evil.org/x"), ("https://foo.com/**", "https://foo.com.evil.org/x"),
        ("https://foo.com/**", "https://foo.com@evil.org/x"), ("https://foo.com/**", "https://evil.org\\foo.com/x"),
        ("**", "https://foo.bar/v1/../admin"), ("**", "https://foo.bar/v1/%2e%2e/admin"),
        ("**", "https://foo.bar/v1/a/../../admin"), ("**", "https://foo.bar.evil.org/v1/x"),
        ("**", "https://foo.bar:8443/v1/x"), ("**", "http://foo.bar/v1/x"), ("**", "https://user@foo.bar/v1/x"),
    ])
    func `CF-17 B-13 hostile URLs do not get into a pattern`(_ pattern: String, _ url: String) throws {
        #expect(!isMatch(try GlobPattern(pattern), url))
    }

    @Test(arguments: [
        ("HTTPS://FOO.com/a", "https://foo.COM/a"), ("/a b", "https://foo.bar/v1/a%20b"),
        ("/é", "https://foo.bar/v1/%c3%a9"), ("/%7euser", "https://foo.bar/v1/~user"), ("/*", "https://foo.bar/v1/a#b"),
        ("https://bücher.example/**", "https://XN--BCHER-KVA.example/x"), ("/x/y", "https://foo.bar/v1/a/../x/./y"),
    ])
    func `PT-06 B-13 spelling does not keep a URL out of its pattern`(_ pattern: String, _ url: String) throws {
        #expect(isMatch(try GlobPattern(pattern), url))
    }

    @Test func `B-13 the query of a base URL does not count`() {
        #expect(isMatch(GlobPattern("/a/*"), "https://foo.bar/v1/a/b", base: "https://foo.bar/v1/?key=x"))
    }

    @Test(arguments: [
        ("", PatternError.empty), ("ftp://h/**", .unsupportedScheme), ("users:list", .unsupportedScheme),
        ("https://u@h/", .userInformation), ("https://h:x/", .invalidPort), ("https://h:0/", .invalidPort),
        ("https:///x", .invalidHost), ("https://**.h/", .invalidHost), ("https://a..*/", .invalidHost),
        ("https://0x7f.1/", .invalidHost), ("/a/../b", .dotSegment), ("./a", .dotSegment),
        ("/a%zz", .invalidPercentEncoding), ("/a\\b", .refusedCharacter(0x5C)), ("/\u{7}", .refusedCharacter(7)),
        (String(repeating: "*a", count: 33), .tooManyWildcards(limit: 32)),
        (String(repeating: "a", count: 2_049), .tooLong(limit: 2_048)),
    ])
    func `what is no pattern is refused by name`(_ text: String, _ expected: PatternError) {
        #expect(throws: expected) { try GlobPattern(text) }
    }

    @Test func `PT-06 patterns at random agree with a naive reference`() throws {
        var random = SystemRandomNumberGenerator()
        let patternPieces = ["a", "b", "/", "*", "**", "**/", "?", "ab", "c/"]
        let urlPieces = ["a", "b", "c", "/", "ab"]
        for _ in 0..<4_000 {
            let pattern = (1...Int.random(in: 1...6, using: &random)).map { _ in
                patternPieces.randomElement(using: &random)!
            }
            .joined()
            let path = (0..<Int.random(in: 0...8, using: &random)).map { _ in urlPieces.randomElement(using: &random)! }
                .joined()
            let expected = Self.naive(Array(pattern.hasPrefix("/") ? pattern.dropFirst() : pattern[...]), Array(path))
            #expect(
                isMatch(try GlobPattern(pattern), "https://foo.bar/v1/" + path) == expected, "\(pattern) on \(path)")
        }
    }

    /// The rules of the wildcards, one by one, without a thought for speed.
    private static func naive(_ pattern: [Character], _ text: [Character]) -> Bool {
        if pattern.starts(with: Array("**/")) {
            let rest = Array(pattern.dropFirst(3))
            return naive(rest, text)
                || text.indices.contains { text[$0] == "/" && naive(rest, Array(text[($0 + 1)...])) }
        }
        if pattern.starts(with: Array("**")) {
            return (0...text.count).contains { naive(Array(pattern.dropFirst(2)), Array(text[$0...])) }
        }
        if pattern.first == "*" {
            let reach = text.prefix { $0 != "/" }.count
            return (0...reach).contains { naive(Array(pattern.dropFirst()), Array(text[$0...])) }
        }
        guard let first = pattern.first else { return text.isEmpty }
        guard let next = text.first, first == next || (first == "?" && next != "/") else { return false }
        return naive(Array(pattern.dropFirst()), Array(text.dropFirst()))
    }

    @Test func `PT-06 a hostile pattern stays cheap`() throws {
        let pattern = try GlobPattern(String(repeating: "*a", count: 32))
        let url = "https://foo.bar/v1/" + String(repeating: "a", count: 8_000) + "b"
        // A cost that grows with the power of the wildcards would not end.
        #expect(!isMatch(pattern, url))
    }
}

@Suite("Other patterns")
struct OtherPatternTests {
    @Test(arguments: [
        ("/.ump", false, "https://foo.bar/v1/wump", true), ("/.ump", false, "https://foo.bar/v1/gump/7", true),
        ("/.ump", false, "https://foo.bar/v1/wzmp", false),
        ("^https://foo\\.bar/v1/wump$", false, "https://foo.bar/v1/wump", true),
        ("^https://foo\\.bar/v1/wump$", false, "https://foo.bar/v1/wump/7", false),
        ("/wu+", false, "https://foo.bar/v1/WUUUUUMP", false), ("/wu+", true, "https://foo.bar/v1/WUUUUUMP", true),
        ("x=1", false, "https://foo.bar/v1/a?x=1", true), ("(a|bc){2}$", false, "https://h/abc", true),
        ("/(a|bc){2}$", false, "https://h/abca", false), ("[^/]{3,}$", false, "https://h/ab", false),
        ("/[a-c_]+\\d*$", false, "https://h/a_c12", true), ("\\bv\\d\\b", false, "https://h/v1/", true),
        ("\\bv\\d\\b", false, "https://h/xv1/", false), ("h/(?:a.*)?$", false, "https://h/", true),
        ("[]x]", false, "https://h/x", true), ("[a-]$", false, "https://h/b-", true),
        ("a{0}$", false, "https://h/", true),
        ("^[\\w:./-]+$", false, "https://h/a-b", true), ("\\Bx", false, "https://h/x", false),
        ("|", false, "https://h/", true),
    ])
    func `CF-04 a regular expression is searched in the whole URL`(
        _ text: String, _ ignoresCase: Bool, _ url: String, _ expected: Bool
    ) throws {
        #expect(isMatch(try RegexPattern(text, ignoresCase: ignoresCase), url) == expected)
    }

    @Test(arguments: [
        ("(", "("), ("a)", "a)"), ("*a", "*"), ("[a", "[a"), ("[z-a]", "z-a"), ("a{3,2}", "{3,2}"), ("a**", "**"),
        ("(?=a)", "(?="), ("\\1", "\\1"), ("\\q", "\\q"), ("\\", ""), ("a{9999}", "{9999}"),
        ("((((a{99}){99}){99}){99})", "{99}"), ("((((){256}){256}){256}){256}", "{256}"),
    ])
    func `CF-04 a malformed expression is refused with its place`(_ text: String, _ place: String) {
        let error = #expect(throws: PatternError.self) { try RegexPattern(text) }
        guard case .malformedExpression(let part, let problem) = error else {
            Issue.record("\(text) was not refused for its form")
            return
        }
        #expect(part.contains(place) && !problem.isEmpty, "\(text): \(part), \(problem)")
    }

    @Test func `CF-04 an expression that is too large is refused`() {
        #expect(throws: PatternError.tooLong(limit: 1_024)) { try RegexPattern(String(repeating: "a", count: 1_025)) }
        let ends = "bcdefghijklmnopqrstuvwxyz"
        #expect {
            try RegexPattern(ends.map { "[a-\($0)]{1000}" }.joined(separator: "|"))
        } throws: { error in
            "\(error)".contains("too large")
        }
    }

    @Test func `CF-04 an expression that ruins backtracking is harmless`() throws {
        let url = "https://h/" + String(repeating: "a", count: 4_000) + "!"
        #expect(!isMatch(try RegexPattern("(a+)+$"), url))
        #expect(!isMatch(try RegexPattern("(a|a)*b"), url))
    }

    @Test func `CF-05 a URL is the pattern that only it matches`() {
        let url = ResourceURL("https://foo.bar/v1/a?x=1")
        #expect(isMatch(url, "https://foo.bar/v1/a?x=1"))
        #expect(!isMatch(url, "https://foo.bar/v1/a"))
        #expect(!isMatch(url, "https://foo.bar/v1/a?x=2"))
    }

    @Test func `CF-05 a resource is a pattern and is not kept by being one`() {
        let service = Service(baseURL: "https://foo.bar/v1", transport: StubTransport())
        weak var gone: Resource?
        do {
            let resource = service.resource("a").withParam("x", "1")
            gone = resource
            service.configure(resource) { $0.expirationTime = .seconds(7) }
            #expect(isMatch(resource, "https://foo.bar/v1/a?x=1"))
            #expect(!isMatch(resource, "https://foo.bar/v1/a"))
            #expect(resource.patternDescription == "https://foo.bar/v1/a?x=1")
        }
        service.flushUnusedResources()
        #expect(gone == nil)
        #expect(service.resource("a").withParam("x", "1").configuration.expirationTime == .seconds(7))
        #expect(service.resource("a").configuration.expirationTime == .seconds(30))
    }

    private struct Even: ConfigurationPattern {
        let patternDescription = "even lengths"

        func predicate(relativeTo baseURL: TargetURI?) -> @Sendable (ResourceURL) -> Bool {
            { $0.string.utf8.count.isMultiple(of: 2) }
        }
    }

    @Test func `CF-05 a type of one's own is a pattern`() {
        #expect(isMatch(Even(), "https://h/ab"))
        #expect(!isMatch(Even(), "https://h/abc"))
    }

    @Test func `CF-03 patterns can be limited by others`() throws {
        let pattern = GlobPattern("**").except(GlobPattern("/secret/**"))
        #expect(isMatch(pattern, "https://foo.bar/v1/a"))
        #expect(!isMatch(pattern, "https://foo.bar/v1/secret/a"))
        #expect(pattern.patternDescription == "** except /secret/**")
        #expect(isMatch(PredicatePattern.all, "https://elsewhere/"))
    }
}
