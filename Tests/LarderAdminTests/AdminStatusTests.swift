// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import Testing

@testable import LarderAdmin

@Suite("Status, metrics, health")
struct AdminStatusTests {
    @Test func `a clock that is set back does not change for how long the daemon runs`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.advance(.seconds(5))
            scene.time.setWall(scene.time.now() - 86_400_000_000_000)
            #expect(await StatusReport(of: scene.proxy).json["uptimeSeconds"]?.int == 5)
        }
    }

    @Test func `the status counts what happened and names what is there`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in ["/api/a", "/api/a", "/api/b"] { #expect(try daemon.get(path).status == 200) }
            let status = try daemon.get("/-/status").json
            #expect(status["version"]?.string == LarderVersion.current)
            #expect(status["state"]?.string == "serving")
            #expect(status["requests"]?["hit"]?.int == 1)
            #expect(status["requests"]?["miss"]?.int == 2)
            for name in ["stale", "validated", "collapsed", "error", "tunnel"] {
                #expect(status["requests"]?[name]?.int == 0, "\(name)")
            }
            #expect(status["hitRatio"]?.double == 0.3333)
            // One of three answers was saved, and the status is none.
            let sent = try #require(try daemon.get("/-/status").json["bytes"]?["sent"]?.int)
            #expect(sent == status["bytes"]?["sent"]?.int)
            #expect(status["bytes"]?["saved"]?.int == sent / 3)
            #expect(status["byteHitRatio"]?.double == 0.3333)
            #expect(try #require(status["uptimeSeconds"]?.int) >= 0)
            #expect(status["memory"]?["limit"]?.int == 16 << 20)
            #expect(try #require(status["memory"]?["bytes"]?.int) > 0)
            #expect(status["disk"]?["limit"]?.int == 64 << 20)
            #expect(status["disk"]?["configuredLimit"]?.int == 64 << 20)
            #expect(try #require(status["disk"]?["bytes"]?.int) > 0)
            #expect(status["resources"]?.int == 2)
            #expect(status["store"]?["state"]?.string == "working")
            #expect(status["services"]?[0]?["name"]?.string == "api")
            #expect(status["upstreams"]?[0]?["origin"]?.string == "http://127.0.0.1:\(daemon.origin.port)")
            #expect(status["upstreams"]?[0]?["requests"]?.int == 2)
            #expect(status["addresses"]?[0]?.string == "127.0.0.1:\(daemon.port)")
            #expect(status["loops"]?.array?.count == 2)
            let text = try daemon.get("/-/status").content
            #expect(!text.contains("secret"))
        }
    }

    @Test func `a daemon without a store says so`() async throws {
        try await AdminFixture.run({ $0.cache.path = .none }) { daemon throws in
            #expect(try daemon.get("/-/status").json["store"]?["state"]?.string == "none: nothing is kept on disk")
            #expect(try daemon.get("/-/metrics").content.contains("larder_disk_bytes 0\n"))
        }
    }

    @Test func `metrics are in the format that is asked for`() async throws {
        try await AdminFixture.run { daemon throws in
            _ = try daemon.get("/api/a")
            let plain = try daemon.get("/-/metrics")
            #expect(plain["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(plain.content.contains("# TYPE larder_requests_total counter\n"))
            #expect(plain.content.contains("larder_requests_total{outcome=\"miss\"} 1\n"))
            #expect(!plain.content.contains("# EOF"))
            let open = try daemon.get(
                "/-/metrics", "Accept: application/openmetrics-text; version=1.0.0, text/plain;q=0.1")
            #expect(open["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
            #expect(open.content.contains("# TYPE larder_requests counter\n"))
            #expect(open.content.hasSuffix("# EOF\n"))
            for text in [plain.content, open.content] { try checkMetrics(text) }
        }
    }

    @Test func `metrics say why, in words that are a closed list`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in ["/api/a", "/api/a", "/api/no-store", "/api/no-store"] { _ = try daemon.get(path) }
            #expect(try daemon.get("/api/no-store")["Cache-Status"]?.hasSuffix("; detail=no-store") == true)
            _ = try daemon.get("/api/b", "Cache-Control: only-if-cached")
            let text = try daemon.get("/-/metrics").content
            for line in [
                "larder_forwarded_requests_total{reason=\"uri-miss\"} 4",
                "larder_forwarded_requests_total{reason=\"vary-miss\"} 0",
                "larder_unstored_responses_total{reason=\"no-store\"} 3",
                "larder_unstored_responses_total{reason=\"too-large\"} 0",
                "larder_stale_responses_total{reason=\"stale-if-error\"} 0",
                "larder_problems_total{reason=\"proxy_configuration_error\"} 0",
            ] { #expect(text.contains(line + "\n"), "\(line)") }
            #expect(
                text.split(separator: "\n").count { $0.hasPrefix("larder_problems_total{") && $0.hasSuffix(" 1") } == 1)
        }
    }

    /// Each family has its help and type before its samples, once; a histogram's buckets grow up to its count.
    private func checkMetrics(_ text: String) throws {
        var types: [String: String] = [:]
        var buckets: [Double] = []
        for line in text.split(separator: "\n") where line != "# EOF" {
            let words = line.split(separator: " ", maxSplits: 3).map(String.init)
            if line.hasPrefix("# TYPE ") {
                #expect(types.updateValue(words[3], forKey: words[2]) == nil, "\(line)")
                continue
            }
            if line.hasPrefix("# HELP ") { continue }
            let name = String(line.prefix { $0 != "{" && $0 != " " })
            let family = types.keys.contains { name == $0 || name.hasPrefix($0 + "_") }
            #expect(family, "\(line)")
            let value = try #require(line.split(separator: " ").last.flatMap { Double($0) }, "\(line)")
            if name == "larder_request_duration_seconds_bucket" { buckets.append(value) }
        }
        #expect(buckets == buckets.sorted())
        #expect(text.contains("larder_request_duration_seconds_count \(Int(try #require(buckets.last)))\n"))
    }

    @Test func `labels and help are escaped`() {
        var text = MetricsText(isOpenMetrics: true)
        text.counter("a", "quotes \" and \\ and\nlines", [([("l", "x\"y\\z\nw")], 1.5)])
        text.finish()
        #expect(
            text.text == """
                # HELP a quotes \\" and \\\\ and\\nlines
                # TYPE a counter
                a_total{l="x\\"y\\\\z\\nw"} 1.5
                # EOF

                """)
    }

    @Test func `ready means listening and not draining`() async throws {
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.get("/-/ready").content == "ready\n")
            #expect(try daemon.get("/-/health").content == "healthy\n")
            await daemon.daemon.proxy.drain()
            let pages = AdminPages()
            let request = OwnRequest(path: "/-/ready", isOverSocket: true)
            let answer = await pages.answer(request, of: daemon.daemon.proxy)
            #expect(answer.status == 503)
            let health = await pages.answer(OwnRequest(path: "/-/health", isOverSocket: true), of: daemon.daemon.proxy)
            #expect(health.status == 200)
        }
    }

    @Test func `parameters that no page has are refused`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in [
                "/-/status?verbose=1", "/-/resources?limt=1", "/-/resources?limit=0",
                "/-/resources?limit=99999999999999999999",
                "/-/resources?after=nonsense", "/-/resources?match=", "/-/resources?match=http:/x",
                "/-/resources?service=no",
                "/-/resources?limit=1&limit=2", "/-/resources?url=", "/-/resources?url=api.example/x",
                "/-/resources?url=ftp://a/", "/-/resources?url=/-/status", "/-/resources?url=http://a:b@c/",
                "/-/explain", "/-/explain?url=/api/a&header=nonsense", "/-/explain?url=/api/a&header=A:%0D%0AB:c",
            ] {
                let answer = try daemon.get(path)
                #expect(answer.status == 400, "\(path): \(answer.content)")
                #expect(try answer.json["advice"]?.string?.isEmpty == false, "\(path)")
            }
        }
    }

    @Test func `without IPv6 the other half of localhost is enough`() async throws {
        // Port 0 is another one for each address, so this only says that both halves may be asked for.
        try await AdminFixture.run({ $0.listen = [.loopback(port: 0), .loopbackIPv6(port: 0)] }) { daemon throws in
            #expect(!daemon.daemon.proxy.addresses.isEmpty)
        }
    }
}
