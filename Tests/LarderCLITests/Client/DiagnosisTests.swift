// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import Testing

@testable import LarderCLI

@Suite("Finding what is wrong")
struct DiagnosisTests {
    /// The daemon's answers about a URL with which nothing is wrong.
    private static let well: [String: String] = [
        "status": #"{"state": "serving", "version": "1", "addresses": ["127.0.0.1:1"], "store": {"state": "working"}}"#,
        "before": #"{"decision": "forward", "reason": "uri-miss", "service": [{"name": "name", "value": "api"}]}"#,
        "load": #"{"result": "loaded and stored", "status": 200}"#,
        "after": #"""
        {"decision": "answer", "outcome": "It would be answered from the cache.", "stored": [{"response": "200, fresh"}],
         "storage": {"conditions": [{"met": true, "meaning": "so"}]}}
        """#,
    ]

    /// A diagnosis where the daemon says something else to one question.
    private func diagnosis(_ question: String = "", _ status: Int = 200, _ answer: String = "") throws -> Diagnosis {
        var isLoaded = false
        return try Diagnosis(of: "https://a/b") { method, target in
            let asked: String
            switch (method, target.prefix { $0 != "?" }) {
            case (.get, "/-/status"): asked = "status"
            case (.get, "/-/explain"): asked = isLoaded ? "after" : "before"
            case (.post, "/-/resource/load"):
                asked = "load"
                isLoaded = true
            default: throw CommandFailure("what is \(target)?")
            }
            let isOther = asked == question
            let content = isOther ? answer : DiagnosisTests.well[asked] ?? ""
            return AdminAnswer(status: isOther ? status : 200, content: Array(content.utf8))
        }
    }

    @Test func `fields of the request are asked about, and sent`() throws {
        var targets: [String] = []
        _ = try Diagnosis(of: "https://a/b", headers: ["Cookie: a=b"]) { method, target in
            if target.contains("url=") { targets.append("\(method) \(target)") }
            let isLoaded = targets.contains { $0.hasPrefix("POST") }
            let asked =
                target.hasPrefix("/-/status") ? "status" : method == .post ? "load" : isLoaded ? "after" : "before"
            return AdminAnswer(status: 200, content: Array((DiagnosisTests.well[asked] ?? "").utf8))
        }
        #expect(targets.count == 3 && targets.allSatisfy { $0.contains("header=Cookie") }, "\(targets)")
    }

    @Test func `where nothing is wrong everything was looked at`() throws {
        let found = try diagnosis()
        #expect(found.isWell)
        #expect(
            found.checks.map(\.name) == [
                "daemon", "store", "tunnels", "service", "configuration", "permission", "origin", "storage", "answer",
            ])
        #expect(found.text(.plain).hasPrefix("ok    daemon         1, serving on 127.0.0.1:1\nok    store"))
        #expect(found.json(of: "https://a/b")["isWell"]?.bool == true)
    }

    @Test(arguments: [
        ("status", 200, #"{"state": "stopping"}"#, "daemon", "it is stopping", "ask again"),
        (
            "status", 200, #"{"state": "serving", "store": {"state": "reading only: disk full"}}"#, "store",
            "disk full", "room"
        ),
        (
            "before", 400, #"{"title": "Not a resource", "detail": "D", "advice": "A"}"#, "service",
            "Not a resource: D", "A"
        ),
        (
            "before", 200,
            #"{"decision": "refuse", "reason": "host-not-allowed", "outcome": "403", "toChangeThat": ["allowHosts"]}"#,
            "service", "403", "allowHosts"
        ),
        (
            "before", 200,
            #"{"decision": "forward", "reason": "bypass", "outcome": "cache: none", "toChangeThat": ["out"]}"#,
            "configuration", "cache: none", "out"
        ),
        (
            "before", 200, #"{"decision": "refuse", "reason": "offline", "outcome": "504", "toChangeThat": ["off"]}"#,
            "permission", "504", "off"
        ),
        (
            "before", 200,
            #"{"decision": "wait", "reason": "circuit-open", "outcome": "left alone", "toChangeThat": []}"#,
            "permission", "left alone", ""
        ),
        (
            "status", 200,
            #"{"state": "serving", "store": {"state": "working"}, "offline": {"mode": "on"}}"#,
            "permission", "offline", "larder offline off"
        ),
        (
            "status", 200,
            #"{"state": "serving", "store": {"state": "working"}, "services": [{"name": "api", "offline": true}]}"#,
            "permission", "offline", "larder offline off"
        ),
        (
            "after", 200, #"{"stored": [], "toChangeThat": ["validate"], "storage": {"conditions": []}}"#,
            "storage", "there is no room", "cache.disk"
        ),
        (
            "load", 502, #"{"title": "Origin not found", "detail": "no address", "advice": "see DNS"}"#, "origin",
            "Origin not found: no address", "see DNS"
        ),
        ("load", 200, #"{"result": "loaded, but", "status": 404}"#, "origin", "it answered 404", "curl -i"),
        (
            "after", 200,
            #"""
            {"stored": [], "toChangeThat": ["ask the origin"], "storage": {"conditions": [
             {"condition": "no-store", "met": false, "meaning": "no no-store", "field": "cache-control: no-store"},
             {"condition": "vary", "met": true, "meaning": "x"}]}}
            """#, "storage", "not stored: the response says no-store (cache-control: no-store)", "ask the origin"
        ),
        (
            "after", 200,
            #"{"decision": "validate", "outcome": "asked each time", "stored": [{}], "toChangeThat": ["override"]}"#,
            "answer", "asked each time", "override"
        ),
        ("load", 500, "nonsense", "origin", "does not look like a Larder", ""),
        ("before", 200, "nonsense", "daemon", "not JSON", "one version"),
    ]) func `the first thing that fails is told with its cure, and nothing after it`(
        question: String, status: Int, answer: String, check: String, found: String, cure: String
    ) throws {
        let diagnosis = try diagnosis(question, status, answer)
        let last = try #require(diagnosis.checks.last)
        #expect(diagnosis.checks.count { !$0.isGood } == 1)
        #expect(!last.isGood && last.name == check)
        #expect(last.found.contains(found), "\(last.found)")
        #expect(cure.isEmpty ? last.cure == nil : last.cure?.contains(cure) == true, "\(last.cure ?? "")")
    }

    @Test(arguments: [("[]", nil), (#"["have the client offer HTTP/1.1"]"#, "have the client offer HTTP/1.1")])
    func `a tunnel without a way to change it has no cure`(ways: String, cure: String?) throws {
        let found = try diagnosis(
            "status", 200,
            #"""
            {"state": "serving", "version": "1", "addresses": [], "store": {"state": "working"}, "interception": {"tunnels": [
              {"host": "a:443", "requests": 1, "why": "the client speaks HTTP/2 only", "client": "x", "lasts": true,
               "toChangeThat": \#(ways)}]}}
            """#)
        let check = try #require(found.checks.first { $0.name == "tunnels" })
        #expect(!check.isGood && check.found.contains("the client speaks HTTP/2 only"))
        #expect(check.cure == cure)
    }

    @Test func `after a tunnel to the host the other checks are made`() throws {
        let found = try diagnosis(
            "status", 200,
            #"""
            {"state": "serving", "version": "1", "addresses": [], "store": {"state": "working"}, "interception": {"tunnels": [
             {"host": "a:443", "lasts": true, "requests": 1, "why": "no CA", "toChangeThat": ["larder run"]}]}}
            """#)
        #expect(found.checks.filter { !$0.isGood }.map(\.name) == ["tunnels"])
        #expect(found.checks.last?.name == "answer")
    }

    @Test func `without a daemon that is what is wrong`() throws {
        let found = try Diagnosis(of: "https://a/b") { method, target in
            try AdminClient(socket: "/nowhere/larder.sock").ask(method, target)
        }
        #expect(found.checks.count == 1)
        #expect(found.checks[0].found.hasPrefix("no daemon is running"))
        #expect(found.checks[0].cure?.contains("larder serve") == true)
        #expect(found.text(.plain).contains("\n      cure           start it with"))
    }

    @Test(arguments: [
        ("api.test", "https://api.test/"), ("api.test:443", "https://api.test:443/"),
        ("api.test:8080/a?b", "http://api.test:8080/a?b"), ("[::1]/x", "https://[::1]/x"),
        ("https:/api.test/x", "https://api.test/x"), ("http:api.test", "http://api.test"),
        ("http://api.test", "http://api.test"), ("/github/a", "/github/a"),
        ("github/a/b", "/github/a/b"), ("localhost/a", "https://localhost/a"), ("registry", "https://registry/"),
        ("http://a.test/ü b?q=é", "http://a.test/%C3%BC%20b?q=%C3%A9"), ("http://[::1]/a%20|", "http://[::1]/a%20|"),
    ])
    func `a host is meant over https, unless it has another port`(text: String, url: String) {
        #expect(Diagnosis.meantURL(text) == url)
    }

    @Test func `what is answered without the origin is well offline`() throws {
        let diagnosis = try Diagnosis(of: "https://a/b") { method, target in
            #expect(method == .get)
            let content =
                target.hasPrefix("/-/status")
                ? #"{"state": "serving", "store": {"state": "working"}, "offline": {"mode": "on"}}"#
                : DiagnosisTests.well["after"] ?? ""
            return AdminAnswer(status: 200, content: Array(content.utf8))
        }
        #expect(diagnosis.isWell)
        let checks = diagnosis.checks.map(\.name)
        #expect(
            checks == ["daemon", "store", "tunnels", "service", "configuration", "permission", "storage", "answer"])
        #expect(diagnosis.checks[5].found.contains("offline"))
    }
}
