// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderTesting
import LarderUpstream
import Testing

@testable import Larder

@Suite("RFC 9110 §15.4 Redirections")
struct RedirectionTests {
    private func next(
        _ status: Status, _ location: String?, _ method: LarderHTTP.Method = .get, from url: String = "https://h/a/b"
    ) throws -> Redirection.Decision {
        let fields: Fields = [.contentType: "text/plain", .authorization: "x", "X-Key": "y", .accept: "*/*"]
        let request = OutgoingRequest(method: method, url: try TargetURI(url), fields: fields, body: [1])
        var head = ResponseHead(status: status)
        head.fields[.location] = location
        return Redirection.decision(about: head, to: request)
    }

    private func followed(_ decision: Redirection.Decision) throws -> OutgoingRequest {
        guard case .follow(let request, _) = decision else { throw NotFollowed() }
        return request
    }

    private struct NotFollowed: Error {}

    @Test(arguments: [
        (301, "GET", "GET", true), (301, "POST", "GET", false), (302, "POST", "GET", false), (302, "PUT", "PUT", true),
        (303, "POST", "GET", false), (303, "PUT", "GET", false), (303, "HEAD", "HEAD", true),
        (307, "POST", "POST", true),
        (308, "PUT", "PUT", true), (301, "DELETE", "DELETE", true),
    ])
    func `the method stays but where history says otherwise`(
        _ status: Int, _ method: String, _ expected: String, _ repeatsContent: Bool
    ) throws {
        let decision = try next(Status(status), "c", Method(method)!)
        guard case .follow(let request, let repeats) = decision else { throw NotFollowed() }
        #expect(request.method.token == expected)
        #expect(repeats == repeatsContent)
        #expect((request.body != nil) == repeatsContent)
        #expect(request.fields.contains(.contentType) == repeatsContent)
        #expect(request.fields[.authorization] == "x")
    }

    @Test(arguments: [
        ("c", "https://h/a/c"), ("/c?d", "https://h/c?d"), ("../c", "https://h/c"), ("//i/c", "https://i/c"),
        ("https://h:444/", "https://h:444/"), ("?q", "https://h/a/b?q"), ("c#part", "https://h/a/c"),
        ("https://h/x/../y", "https://h/y"),
    ])
    func `a location is a reference`(_ location: String, _ expected: String) throws {
        let request = try followed(next(302, location))
        #expect(request.url.string == expected)
    }

    @Test(arguments: ["https://other/", "https://h:444/", "//other/"])
    func `another origin gets nothing that could be a credential`(_ location: String) throws {
        let fields = try followed(next(307, location)).fields
        #expect(!fields.contains(.authorization) && !fields.contains("X-Key"))
        #expect(fields.contains(.accept))
    }

    @Test func `what is no redirection is the answer`() throws {
        for (status, location) in [(200, "c"), (304, "c"), (300, "c"), (302, nil), (201, "c"), (404, "c")] {
            let decision = try next(Status(status), location)
            #expect(decision == .final)
        }
    }

    @Test(arguments: [
        "http://h/", "ftp://h/", "javascript:alert(1)", "https://user:pw@h/", "https://h:99999/",
    ])
    func `some are refused`(_ location: String) throws {
        guard case .refuse(let reason) = try next(302, location) else { throw NotFollowed() }
        #expect(!reason.isEmpty)
    }
}

@Suite("Proxies from the environment")
struct ProxyRulesTests {
    private func rules(_ environment: [String: String]) throws -> ProxyRules {
        try ProxyRules { environment[$0] }
    }

    private func proxy(_ rules: ProxyRules, _ url: String) -> String? {
        guard let url = try? TargetURI(url) else { return "no URL" }
        return rules.proxy(for: url).map { "\($0.host):\($0.port)" }
    }

    private func proxy(_ environment: [String: String], _ url: String) throws -> String? {
        proxy(try rules(environment), url)
    }

    @Test func `each scheme has its own and capitals do not count for http`() throws {
        let rules = try rules(["http_proxy": "proxy:3128", "HTTPS_PROXY": "http://[2001:db8::1]:8080/"])
        #expect(proxy(rules, "http://far.test/") == "proxy:3128")
        #expect(proxy(rules, "https://far.test/") == "2001:db8::1:8080")
        #expect(try proxy(["HTTP_PROXY": "http://evil"], "http://far.test/") == nil)
        #expect(try proxy(["http_proxy": ""], "http://far.test/") == nil)
        #expect(try proxy(["http_proxy": "http://p"], "http://far.test/") == "p:80")
    }

    @Test(arguments: [
        "http://localhost/", "http://a.localhost/", "http://127.0.0.1/", "http://[::1]:80/", "http://127.9.9.9:1/",
    ])
    func `this machine is reached directly`(_ url: String) throws {
        #expect(try proxy(["http_proxy": "http://p:1"], url) == nil)
    }

    @Test(arguments: [
        ("http://example.org/", true), ("http://a.example.org/", true), ("http://badexample.org/", false),
        ("http://dot.test/", true), ("http://x.dot.test/", true), ("http://star.test/", true),
        ("http://port.test:8080/", true), ("http://port.test/", false), ("http://10.1.2.3/", true),
        ("http://11.1.2.3/", false), ("http://192.0.2.7/", true), ("http://192.0.2.8/", false),
        ("http://[2001:db8::5]/", true), ("http://[2001:db9::5]/", false),
    ])
    func `what no_proxy names is reached directly`(_ url: String, _ isDirect: Bool) throws {
        let rules = try rules([
            "http_proxy": "http://p:1",
            "no_proxy": "example.org, .dot.test,*.star.test,port.test:8080,10.0.0.0/8,192.0.2.7,2001:db8::/32,/,a:b:c",
        ])
        #expect(proxy(rules, url) == (isDirect ? nil : "p:1"))
    }

    @Test func `a star exempts everything`() throws {
        #expect(try proxy(["http_proxy": "http://p:1", "no_proxy": "*"], "http://far.test/") == nil)
    }

    @Test(arguments: ["socks5://p:1", "https://p", "http://", "http://p:port", "http://a b"])
    func `what is no proxy is an error`(_ text: String) {
        #expect(throws: TransportError.self) { try rules(["http_proxy": text]) }
    }

    @Test func `credentials are shown to the proxy`() throws {
        let rules = try rules(["https_proxy": "http://user:p%40ss@p:1"])
        let url = try TargetURI("https://far.test/")
        #expect(rules.proxy(for: url)?.authorization == "Basic dXNlcjpwQHNz")
    }

    @Test(arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")])
    func `RFC 4648 §10 octets are written in base64`(_ text: String, _ expected: String) {
        #expect(Base64Text.encoded(Array(text.utf8)) == expected)
    }
}
