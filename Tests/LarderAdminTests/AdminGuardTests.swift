// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderDashboard
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import Testing

@testable import LarderAdmin

@Suite("Who may look and who may change")
struct AdminGuardTests {
    /// Every page there is, and one of each kind that there is not.
    static let reading = [
        "/", "/-/status", "/-/metrics", "/-/health", "/-/ready", "/-/resources", "/-/explain?url=/api/a",
        "/-/permission",
        "/-/nothing",
    ]
    static let changing = [
        "/-/resource/invalidate?url=/api/a", "/-/invalidate?match=**", "/-/resource/wipe?url=/api/a",
        "/-/wipe?match=**",
        "/-/resource/load?url=/api/a", "/-/resource/load-if-needed?url=/api/a",
    ]

    @Test func `every page that looks answers under its own address only, and never to be kept or sniffed`()
        async throws
    {
        try await AdminFixture.run { daemon throws in
            for path in AdminGuardTests.reading {
                let answer = try daemon.get(path)
                #expect(path == "/-/nothing" ? answer.status == 404 : answer.status == 200, "\(path)")
                #expect(answer["X-Content-Type-Options"] == "nosniff", "\(path)")
                #expect(answer["Cache-Control"] == "no-store", "\(path)")
                #expect(answer["Content-Security-Policy"]?.contains("default-src 'none'") == true, "\(path)")
                for host in [
                    "attacker.example", "attacker.example:\(daemon.port)", "localhost.attacker.example:\(daemon.port)",
                    "localhost.example.", "127.0.0.1.nip.io", "10.0.0.1", "",
                ] {
                    let foreign = try daemon.get(path, "Host: \(host)")
                    #expect(foreign.status >= 400, "\(path) under \(host)")
                    #expect(!foreign.content.contains("uptimeSeconds"))
                }
            }
        }
    }

    @Test func `two Host fields are refused`() async throws {
        try await AdminFixture.run { daemon throws in
            let answer = try daemon.raw(
                "GET /-/status HTTP/1.1\r\nHost: localhost:\(daemon.port)\r\nHost: attacker.example\r\n\r\n")
            #expect(answer.status == 400)
        }
    }

    @Test func `pages of other sites read nothing and are granted nothing`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in AdminGuardTests.reading {
                for field in [
                    "Origin: null", "Origin: http://attacker.example", "Origin: https://localhost:\(daemon.port)",
                    "Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-site",
                ] {
                    let answer = try daemon.get(path, field)
                    #expect(answer.status == 403, "\(path) with \(field)")
                    #expect(answer["Access-Control-Allow-Origin"] == nil)
                }
                let own = try daemon.get(path, "Origin: http://localhost:\(daemon.port)", "Sec-Fetch-Site: same-origin")
                #expect(own.status == (path == "/-/nothing" ? 404 : 200), "\(path)")
            }
        }
    }

    @Test func `a URL that leads nowhere is refused with the advice of its own`() async throws {
        try await AdminFixture.run({ $0.forward.anyHost = false }) { daemon throws in
            let closed = try daemon.get("/-/explain?url=https://any.example/", "Accept: application/json")
            #expect(closed.status == 400)
            #expect(closed.content.contains("forward.anyHost"))
            let word = try daemon.get("/-/explain?url=word", "Accept: application/json")
            #expect(word.content.contains("Name an origin's URL"))
        }
    }

    @Test func `a link on another site may lead to the first page and to no other`() async throws {
        let script = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"]
        let link = script + ["Sec-Fetch-User: ?1"]
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.send("GET", "/", link).status == 200)
            #expect(try daemon.send("GET", "/-/status", link).status == 403)
            #expect(try daemon.send("GET", "/", script).status == 403)
            let framed = ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"]
            #expect(try daemon.send("GET", "/", framed).status == 403)
        }
    }

    @Test func `documents that came through the gateway get nothing, though they have the same address`() async throws {
        try await AdminFixture.run { daemon throws in
            let here = "http://localhost:\(daemon.port)"
            for path in AdminGuardTests.reading {
                for referrer in [
                    "\(here)/api/a", "\(here)/https/evil.example/x.html", "\(here)/-x",
                    "http://api.localhost:\(daemon.port)/-/",
                    "http://evil.example/", "\(here).evil.example/-/", "\(here)@evil.example/-/", here,
                ] {
                    let lines = ["Sec-Fetch-Site: same-origin", "Referer: \(referrer)"]
                    #expect(try daemon.send("GET", path, lines).status == 403, "\(path) from \(referrer)")
                    #expect(try daemon.send("GET", path, [lines[1]]).status == 403, "\(path) from \(referrer)")
                }
                #expect(try daemon.get(path, "Service-Worker: script", "Sec-Fetch-Site: same-origin").status == 403)
                let own = try daemon.get(path, "Referer: \(here)/", "Sec-Fetch-Site: same-origin")
                #expect(own.status == (path == "/-/nothing" ? 404 : 200), "\(path)")
            }
        }
    }

    @Test func `a change needs the socket or the token, and never comes from another site`() async throws {
        try await AdminFixture.run { daemon throws in
            let token = "Authorization: Bearer secret"
            #expect(try daemon.get("/-/permission").json["mayChange"] == false)
            #expect(try daemon.get("/-/permission").json["hasToken"] == true)
            #expect(try daemon.send("GET", "/-/permission", ["Authorization: Bearer wrong"]).json["mayChange"] == false)
            #expect(try daemon.send("GET", "/-/permission", [token]).json["mayChange"] == true)
            for path in AdminGuardTests.changing {
                #expect(try daemon.send("POST", path).status == 403, "\(path) without a token")
                #expect(try daemon.send("POST", path, ["Authorization: Bearer wrong"]).status == 403, "\(path)")
                #expect(try daemon.send("POST", path, ["Authorization: Basic secret"]).status == 403, "\(path)")
                for field in ["Origin: http://attacker.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
                    #expect(try daemon.send("POST", path, [token, field]).status == 403, "\(path) with \(field)")
                }
                #expect(try daemon.send("POST", path, [token, "Host: attacker.example"]).status == 421, "\(path)")
                #expect(try daemon.send("POST", path, [token]).status == 200, "\(path) with the token")
                #expect(try daemon.command("POST", path).status == 200, "\(path) over the socket")
            }
        }
    }

    @Test func `other methods are refused with those there are, and nothing overrides them`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in AdminGuardTests.changing {
                let answer = try daemon.get(path, "X-HTTP-Method-Override: POST")
                #expect(answer.status == 405, "\(path)")
                #expect(answer["Allow"] == "POST, OPTIONS", "\(path)")
                let preflight = try daemon.send(
                    "OPTIONS", path, ["Origin: http://attacker.example", "Access-Control-Request-Method: POST"])
                #expect(preflight.status == 403)
                #expect(!preflight.fields.contains { $0.name.hasPrefix("Access-Control-Allow") })
            }
            #expect(try daemon.command("DELETE", "/-/status")["Allow"] == "GET, HEAD, OPTIONS")
            #expect(try daemon.command("OPTIONS", "/-/status").status == 204)
            #expect(try daemon.send("HEAD", "/-/status").content.isEmpty)
            #expect(daemon.origin.requests.isEmpty)
        }
    }

    @Test func `no path leads out of the pages`() async throws {
        try await AdminFixture.run({ $0.admin.listen = [.loopback(port: 0)] }) { daemon throws in
            let admin = try #require(daemon.daemon.proxy.adminAddresses.first).port
            for port in [daemon.port, admin] {
                for path in [
                    "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/-/../../etc/passwd", "/-/%2e%2e/status",
                ] {
                    let answer = try daemon.send("GET", path, port: port)
                    #expect(answer.status == 404, "\(path)")
                    #expect(!answer.content.contains("root:"))
                }
            }
        }
    }

    @Test func `a listener of the admin surface forwards nothing`() async throws {
        try await AdminFixture.run({ $0.admin.listen = [.loopback(port: 0)] }) { daemon throws in
            let admin = try #require(daemon.daemon.proxy.adminAddresses.first).port
            #expect(try daemon.send("GET", "/-/status", port: admin).status == 200)
            #expect(try daemon.send("GET", "/", port: admin).status == 200)
            #expect(try daemon.send("GET", "/-/status", ["Host: 127.0.0.1:\(admin)"], port: admin).status == 200)
            for target in [daemon.url("/api/a"), "/api/a", "/http/127.0.0.1:\(daemon.origin.port)/api/a"] {
                #expect(try daemon.send("GET", target, port: admin).status >= 400, "\(target)")
            }
            #expect(try daemon.send("CONNECT", "127.0.0.1:\(daemon.origin.port)", port: admin).status >= 400)
            #expect(daemon.origin.requests.isEmpty)
        }
    }

    @Test func `the address of an admin listener may be named, a name that leads there may not`() {
        let guardian = AdminGuard(token: nil)
        func isAllowed(_ host: String, adminHost: String?) -> Bool {
            guardian.refusal(of: OwnRequest(path: "/-/status", fields: ["Host": host], adminHost: adminHost)) == nil
        }
        #expect(isAllowed("192.0.2.7:9128", adminHost: "192.0.2.7"))
        #expect(!isAllowed("192.0.2.7:9128", adminHost: nil))
        #expect(!isAllowed("192.0.2.8:9128", adminHost: "192.0.2.7"))
        #expect(!isAllowed("rebound.example:9128", adminHost: "192.0.2.7"))
        #expect(isAllowed("[2001:db8::1]:9128", adminHost: "[2001:db8::1]"))
    }

    @Test func `over TLS the pages' own origin is one of https`() {
        for (isSecure, scheme) in [(true, "https"), (false, "https"), (true, "http"), (false, "http")] {
            var request = OwnRequest(
                path: "/-/status", fields: ["Host": "localhost:3129", "Origin": "\(scheme)://localhost:3129"])
            request.isSecure = isSecure
            #expect((AdminGuard(token: nil).refusal(of: request) == nil) == (isSecure == (scheme == "https")))
        }
    }

    @Test func `clients on the network may ask whether Larder is ready, under any name`() {
        for (path, isAnswered) in [("/-/ready", true), ("/-/health", false), ("/-/status", false)] {
            let request = OwnRequest(path: path, fields: ["Host": "192.0.2.7:3128"], isLoopback: false)
            #expect((AdminGuard(token: nil).refusal(of: request) == nil) == isAnswered, "\(path)")
        }
    }

    @Test func `without a token no client over TCP changes anything`() async throws {
        try await AdminFixture.run({ $0.admin.token = nil }) { daemon throws in
            for authorization in [[], ["Authorization: Bearer "], ["Authorization: Bearer secret"]] {
                #expect(try daemon.send("POST", "/-/wipe?match=**", authorization).status == 403)
            }
        }
    }

    @Test func `the dashboard can tell that no token is set`() async throws {
        try await AdminFixture.run({ $0.admin.token = nil }) { daemon throws in
            #expect(try daemon.get("/-/permission").json["hasToken"] == false)
        }
        #expect(DashboardFile.explain.text.contains("hasToken"))
    }
}
