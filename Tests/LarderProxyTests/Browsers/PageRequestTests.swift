// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderProxy
import LarderSettings
import Testing

@Suite("Requests that pages cause")
struct PageRequestTests {
    static let allowed = [WebOrigin("http://localhost:5173")!, WebOrigin("https://app.example")!]

    /// The verdict on a request to `localhost:3128` with these fields.
    func verdict(_ method: LarderHTTP.Method = .get, _ lines: (FieldName, String)...) -> String {
        var head = RequestHead(method: method, target: "/api/a")
        head.fields[.host] = "localhost:3128"
        for (name, value) in lines { head.fields.append(name, value) }
        switch PageRequest(head, service: "api", allowed: PageRequestTests.allowed) {
        case .none: return "none"
        case .own: return "own"
        case .listed(let origin): return "listed \(origin)"
        case .preflight(let origin): return "preflight \(origin)"
        case .refused(let problem): return "\(problem.status.rawValue)"
        }
    }

    @Test func `what says nothing of pages is a program`() {
        #expect(verdict() == "none")
        #expect(verdict(.post, (.referer, "http://anywhere.example/"), (.userAgent, "Mozilla/5.0")) == "none")
        #expect(verdict(.get, ("Sec-Fetch-Mode", "cors")) == "none")
    }

    /// Site and origin as browsers name them, and the verdict on each.
    static let words: [(String?, String?, String)] = [
        ("none", nil, "own"), ("same-origin", nil, "own"), ("same-origin", "http://localhost:3128", "own"),
        (nil, "http://localhost:3128", "own"), (nil, "https://localhost:3128", "own"),
        ("none", "http://localhost:3128", "own"),
        ("cross-site", nil, "403"), ("same-site", nil, "403"), ("something-new", nil, "403"), ("", nil, "403"),
        ("cross-site", "http://localhost:3128", "403"), ("same-site", "http://localhost:3128", "403"),
        (nil, "null", "403"), ("none", "null", "403"), ("same-origin", "null", "403"), (nil, "", "403"),
        (nil, "http://localhost:3129", "403"), (nil, "http://localhost", "403"),
        (nil, "http://api.localhost:3128", "403"),
        (nil, "ftp://localhost:3128", "403"), ("same-origin", "http://evil.example", "403"),
        ("none", "http://evil.example", "403"), (nil, "http://localhost:3128, http://evil.example", "403"),
        (nil, "http://localhost:5173", "listed http://localhost:5173"),
        ("same-site", "http://localhost:5173", "listed http://localhost:5173"),
        ("cross-site", "https://app.example", "listed https://app.example"),
        ("cross-site", "https://APP.example:443", "listed https://app.example"),
        ("cross-site", "http://app.example", "403"), ("cross-site", "https://app.example:8443", "403"),
        ("cross-site", "https://app.example.evil.example", "403"),
        ("cross-site", "https://app.example@evil.example", "403"),
    ]

    @Test(arguments: words)
    func `the browser's word decides`(site: String?, origin: String?, expected: String) {
        var lines: [(FieldName, String)] = []
        if let site { lines.append((.secFetchSite, site)) }
        if let origin { lines.append((.origin, origin)) }
        for method in [LarderHTTP.Method.get, .post, .delete] {
            var head = RequestHead(method: method, target: "/api/a")
            head.fields[.host] = "localhost:3128"
            for (name, value) in lines { head.fields.append(name, value) }
            let said = PageRequest(head, service: "api", allowed: PageRequestTests.allowed)
            switch said {
            case .none: #expect(expected == "none")
            case .own: #expect(expected == "own")
            case .listed(let listed): #expect(expected == "listed \(listed)")
            case .preflight: Issue.record("\(method) is no preflight")
            case .refused(let problem): #expect(expected == "\(problem.status.rawValue)")
            }
        }
    }

    @Test func `two words are one too many`() {
        #expect(verdict(.get, (.secFetchSite, "none"), (.secFetchSite, "cross-site")) == "403")
        #expect(verdict(.get, (.origin, "http://localhost:3128"), (.origin, "http://evil.example")) == "403")
        #expect(verdict(.get, (.origin, "http://localhost:5173"), (.origin, "http://localhost:5173")) == "403")
    }

    @Test func `a listed page may embed what it may ask for`() {
        let image: [(FieldName, String)] = [(.secFetchSite, "same-site"), ("Sec-Fetch-Mode", "no-cors")]
        func asking(_ method: LarderHTTP.Method, _ referrer: String, _ more: (FieldName, String)...) -> String {
            var head = RequestHead(method: method, target: "/api/a")
            head.fields[.host] = "localhost:3128"
            for (name, value) in image + [(.referer, referrer)] + more { head.fields.append(name, value) }
            if case .listed(let origin) = PageRequest(head, service: "api", allowed: PageRequestTests.allowed) {
                return "\(origin)"
            }
            return "refused"
        }
        #expect(asking(.get, "http://localhost:5173/") == "http://localhost:5173")
        #expect(asking(.get, "http://localhost:5173/deep?q=http://x/#f") == "http://localhost:5173")
        #expect(asking(.get, "http://localhost:5173") == "http://localhost:5173")
        for referrer in [
            "http://evil.example/http://localhost:5173/", "http://localhost:5173@evil.example/",
            "http://localhost:51730/", "http:/localhost:5173/", "localhost:5173/", "",
            "http://evil.example?http://localhost:5173/", "http://localhost:5173.evil.example/",
        ] {
            #expect(asking(.get, referrer) == "refused", "\(referrer)")
        }
        #expect(asking(.post, "http://localhost:5173/") == "refused")
        #expect(asking(.get, "http://localhost:5173/", (.upgrade, "websocket")) == "refused")
        #expect(asking(.get, "http://localhost:5173/", (.origin, "null")) == "refused")
    }

    @Test func `preflights of listed pages are told apart from what they ask about`() {
        let asks: (FieldName, String) = ("Access-Control-Request-Method", "PUT")
        #expect(verdict(.options, (.origin, "https://app.example"), asks) == "preflight https://app.example")
        #expect(verdict(.options, (.origin, "https://app.example")) == "listed https://app.example")
        #expect(verdict(.options, (.origin, "https://evil.example"), asks) == "403")
    }

    @Test func `service workers are refused whoever asks`() {
        #expect(verdict(.get, ("Service-Worker", "script"), (.secFetchSite, "same-origin")) == "403")
        #expect(verdict(.get, ("Service-Worker", "script")) == "403")
        #expect(verdict(.get, ("Sec-Fetch-Dest", "serviceworker"), (.secFetchSite, "same-origin")) == "403")
    }

    @Test func `a refusal says what to write where`() {
        var head = RequestHead(method: .get, target: "/api/a")
        head.fields[.origin] = "http://localhost:8080"
        guard case .refused(let problem) = PageRequest(head, service: "api", allowed: []) else {
            Issue.record("not refused")
            return
        }
        #expect(problem.detail.contains("‘http://localhost:8080’"))
        #expect(problem.advice.contains("`services.api.browsers.allow`"))
    }

    @Test(arguments: [
        ("http://localhost:5173", "http://localhost:5173"), ("HTTPS://App.Example:443", "https://app.example"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("chrome-extension://abcdefg", "chrome-extension://abcdefg"),
        ("tauri://localhost", "tauri://localhost"), ("null", nil), ("*", nil), ("http://*.example", nil),
        ("http://localhost:5173/", nil), ("http://localhost:99999", nil), ("localhost:5173", nil), ("http://", nil),
        ("://x", nil), ("http://a b", nil), ("http://user@host", nil), ("http:localhost", nil),
    ])
    func `origins are read strictly`(text: String, expected: String?) {
        #expect(WebOrigin(text).map { "\($0)" } == expected)
    }
}
