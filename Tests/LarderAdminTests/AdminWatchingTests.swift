// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderDashboard
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

@testable import LarderAdmin

/// Reports of requests, of the past, of content and of reloads.
@Suite("Admin surface: watching")
struct AdminWatchingTests {
    @Test func `the last requests are told, hits from memory while somebody looks`() async throws {
        try await AdminFixture.run { daemon throws in
            for _ in 0..<4 { _ = try daemon.get("/api/a?secret=1") }
            let first = try daemon.get("/-/requests").json
            let notes = try #require(first["requests"]?.array)
            #expect(notes.map { $0["outcome"]?.string } == ["miss"])
            #expect(notes[0]["url"]?.string == daemon.url("/api/a?secret=1"))
            #expect(notes[0]["cacheStatus"]?.string?.hasPrefix("Larder; fwd=uri-miss; fwd-status=200; stored") == true)
            #expect(notes[0]["service"]?.string == "api")
            for _ in 0..<3 { _ = try daemon.get("/api/a?secret=1") }
            let last = first["last"]?.int ?? 0
            let more = try daemon.get("/-/requests?after=\(last)").json["requests"]?.array ?? []
            #expect(more.map { $0["outcome"]?.string } == ["hit", "hit", "hit"])
            #expect(try daemon.get("/-/requests?match=/b").json["requests"]?.array == [])
        }
    }

    @Test func `the query of what is not kept is nobody's business`() async throws {
        try await AdminFixture.run(origin: { _, _ in
            "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"
        }) { daemon throws in
            _ = try daemon.get("/api/a?token=s3cret")
            let text = try daemon.get("/-/requests").content + daemon.get("/-/highlights").content
            #expect(!text.contains("s3cret"))
            #expect(text.contains("/api/a?…"))
            let kept = try daemon.get("/-/highlights").json["notKept"]?[0]
            #expect(kept?["url"]?.string == daemon.url("/api/a"))
            #expect(kept?["reason"]?.string == "no-store")
        }
    }

    @Test func `the hottest resources are those that answered most`() async throws {
        try await AdminFixture.run { daemon throws in
            for _ in 0..<5 { _ = try daemon.get("/api/a") }
            for _ in 0..<2 { _ = try daemon.get("/api/b") }
            let hottest = try daemon.get("/-/highlights?limit=2").json["hottest"]?.array ?? []
            #expect(hottest.first?["url"]?.string == daemon.url("/api/a"))
            let sorted = try daemon.get("/-/resources?sort=hits").json
            #expect(sorted["resources"]?[0]?["url"]?.string == daemon.url("/api/a"))
            #expect(sorted["total"]?.int == 2)
            #expect(sorted["isComplete"]?.bool == true)
            #expect(try daemon.get("/-/resources?state=stale").json["resources"]?.array == [])
            #expect(try daemon.get("/-/resources?state=fresh&sort=url").json["resources"]?.array?.count == 2)
            #expect(try daemon.get("/-/resources?sort=colour").status == 400)
            #expect(try daemon.get("/-/resources?sort=size&after=m-1").status == 400)
        }
    }

    @Test func `services are counted, and metrics say it by service and outcome`() async throws {
        try await AdminFixture.run { daemon async throws in
            for _ in 0..<3 { _ = try daemon.get("/api/a") }
            _ = try daemon.get("/http/127.0.0.1:\(daemon.origin.port)/elsewhere")
            await daemon.daemon.proxy.settle()
            let status = try daemon.get("/-/status").json
            let service = status["services"]?[0]
            #expect(service?["requests"]?["hit"]?.int == 2)
            #expect(service?["requests"]?["miss"]?.int == 1)
            #expect(service?["hitRatio"]?.double == 0.6667)
            #expect(status["otherHosts"]?["requests"]?["miss"]?.int == 1)
            let metrics = try daemon.get("/-/metrics").content
            #expect(metrics.contains("larder_service_requests_total{service=\"api\",outcome=\"hit\"} 2\n"))
            #expect(
                metrics.contains(
                    "larder_service_request_duration_seconds_count{service=\"api\",from=\"cache\"} 2\n"))
            #expect(metrics.contains("larder_request_duration_seconds_bucket{le=\"1e-06\"}"))
        }
    }

    @Test func `what was wiped is not counted any more`() async throws {
        try await AdminFixture.run { daemon throws in
            for path in ["a", "b", "c"] { _ = try daemon.get("/api/\(path)") }
            #expect(try daemon.get("/-/status").json["resources"]?.int == 3)
            let trial = try daemon.command("POST", "/-/wipe?match=/a&dryRun=true").json
            #expect(trial["wouldWipe"]?["memory"]?.int == 1)
            let one = try daemon.command("POST", "/-/resource/wipe?url=/api/b&dryRun=true").json
            #expect(one["wouldWipe"]?.int == 1)
            #expect(try daemon.get("/-/status").json["resources"]?.int == 3)
            _ = try daemon.command("POST", "/-/wipe?match=**")
            #expect(try daemon.get("/-/status").json["resources"]?.int == 0)
        }
    }

    @Test func `the list and a resource's own page count the same hits`() async throws {
        try await AdminFixture.run { daemon async throws in
            func hits() throws -> [Int?] {
                let list = try daemon.get("/-/resources").json["resources"]?[0]
                return [list?["hits"]?.int, try daemon.get("/-/resources?url=/api/a").json["hits"]?.int]
            }
            for _ in 0..<3 { _ = try daemon.get("/api/a") }
            // Hits may be added up for a second.
            try await eventually("they are counted") { try hits() == [2, 2] }
            #expect(try daemon.command("POST", "/-/resource/wipe?url=/api/a&caches=keep").status == 200)
            #expect(try hits() == [0, 0])
        }
    }

    @Test func `the past is told in steps`() async throws {
        try await AdminFixture.run { daemon async throws in
            daemon.daemon.history.sample(daemon.daemon.proxy)
            for _ in 0..<3 { _ = try daemon.get("/api/a") }
            _ = try daemon.send("POST", "/api/b")
            // An exchange is counted after its answer has gone out.
            await daemon.daemon.proxy.settle()
            daemon.daemon.history.sample(daemon.daemon.proxy)
            let history = try daemon.get("/-/history").json
            for series in ["recent", "day"] {
                let hits = history[series]?["hits"]?.array?.compactMap(\.int) ?? []
                #expect(hits.reduce(0, +) == 2, "\(series)")
                #expect(history[series]?["misses"]?.array?.compactMap(\.int).reduce(0, +) == 2)
                #expect(history[series]?["passes"]?.array?.compactMap(\.int).reduce(0, +) == 1)
                #expect((history[series]?["loadMedian"]?.array?.compactMap(\.double).max() ?? 0) > 0)
            }
            #expect(history["services"]?["api"]?["hits"]?.array?.compactMap(\.int).reduce(0, +) == 2)
        }
    }

    @Test func `steps are bounded, have no gaps, and outlast a clock that is set back`() {
        var series = History.Series<Int>(seconds: 5, limit: 3)
        for second in [0, 1, 5, 20, 21, 17] as [Int64] {
            series.put(at: Timestamp(nanoseconds: second * 1_000_000_000), blank: 0) { $0 += 1 }
        }
        #expect(series.values == [0, 0, 3])
        #expect(series.beginning == 10)
        series.put(at: Timestamp(nanoseconds: 1_000_000_000_000), blank: 0) { $0 += 1 }
        #expect(series.values == [0, 0, 1])
    }

    @Test func `new services get the places of former ones, and their own counts alone`() {
        var state = History.State()
        func add(_ names: some Sequence<Int>, hits: UInt64, configured: Range<Int>) {
            let totals = names.map { ("\($0)", History.ServiceStep(hits: hits)) }
            state.add(Dictionary(uniqueKeysWithValues: totals), at: Timestamp(seconds: 0)) { name in
                configured.contains { "\($0)" == name }
            }
        }
        let limit = History.serviceLimit
        add(0..<limit + 1, hits: 5, configured: 0..<limit + 1)
        #expect(state.services.count == limit)
        let left = (0...limit).first { state.services["\($0)"] == nil }
        // Counters of former services stay.
        add(0..<limit + 2, hits: 7, configured: limit..<limit + 2)
        #expect(Set(state.services.keys) == ["\(limit)", "\(limit + 1)"])
        #expect(state.services["\(limit)"]?.values.map(\.hits) == [left == limit ? 2 : 7])
        #expect(state.services["\(limit + 1)"]?.values.map(\.hits) == [7])
    }

    @Test(arguments: [
        // Within the steps: those that have not come yet are forgotten.
        ([0, 10, 20], 12, [1, 0, 2], 0), ([0, 10, 20], 5, [1, 1], 0), ([0, 10, 20], 0, [2], 0),
        // Before all of them, as after a start with a clock in another century.
        ([0, 5, 4_000_000_000], 20, [1], 20), ([1_000, 1_005], 20, [1], 20),
    ])
    func `time that a wrong clock was ahead is not waited for`(
        before: [Int64], now: Int64, values: [Int], beginning: Int64
    ) {
        var series = History.Series<Int>(seconds: 5, limit: 6)
        for second in before + [now] {
            series.put(at: Timestamp(seconds: second), blank: 0) { $0 += 1 }
        }
        #expect(series.values == values)
        #expect(series.beginning == beginning)
    }

    @Test func `content is octets to browsers, and decoded`() async throws {
        let page = "<script>alert(1)</script>"
        try await AdminFixture.run(origin: { path, _ in
            let type = path.hasSuffix(".png") ? "image/png" : path.hasSuffix(".svg") ? "image/svg+xml" : "text/html"
            return "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Type: \(type)\r\n"
                + "Content-Length: \(page.utf8.count)\r\nConnection: close\r\n\r\n\(page)"
        }) { daemon throws in
            for (path, type) in [
                ("a.html", "application/octet-stream"), ("a.svg", "application/octet-stream"), ("a.png", "image/png"),
            ] {
                #expect(try daemon.get("/-/content?url=/api/\(path)").status == 404)
                _ = try daemon.get("/api/\(path)")
                let answer = try daemon.get("/-/content?url=/api/\(path)")
                #expect(answer["Content-Type"] == type)
                #expect(answer["Content-Security-Policy"] == "default-src 'none'; sandbox")
                #expect(answer["X-Content-Type-Options"] == "nosniff")
                #expect((answer["Content-Disposition"] == "attachment") == (type != "image/png"))
                #expect(answer.content == page)
            }
        }
    }

    @Test func `content that a credential selects is for who has it, or may make changes`() async throws {
        try await AdminFixture.run(origin: { _, _ in
            "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nVary: Cookie\r\n"
                + "Content-Length: 5\r\nConnection: close\r\n\r\nalice"
        }) { daemon throws in
            _ = try daemon.get("/api/a", "Cookie: sid=alice")
            let page = "/-/content?url=/api/a"
            #expect(try daemon.get(page).status == 404)
            #expect(try daemon.get(page + "&header=Cookie:+sid=bob").status == 404)
            #expect(try daemon.get(page + "&header=Cookie:+sid=alice").content == "alice")
            #expect(try daemon.get(page, "Authorization: Bearer secret").content == "alice")
        }
    }

    @Test func `a reload is asked for and its outcome is told`() async throws {
        try await AdminFixture.run { daemon throws in
            #expect(try daemon.command("POST", "/-/reload").status == 501)
            let outcomes = Lock<[[String]]>([["listen: wrong"], []])
            let proxy = daemon.daemon.proxy
            proxy.reloading.attach {
                Reloading.Attempt(at: proxy.now, file: "/x.yaml", problems: outcomes.withLock { $0.removeFirst() })
            }
            let refused = try daemon.command("POST", "/-/reload").json
            #expect(refused["accepted"]?.bool == false)
            #expect(refused["problems"] == ["listen: wrong"])
            let status = try daemon.get("/-/status").json["configuration"]
            #expect(status?["refused"]?.int == 1)
            #expect(status?["latest"]?["problems"] == ["listen: wrong"])
            #expect(try daemon.get("/-/metrics").content.contains("\nlarder_configuration_refused 1\n"))
            #expect(try daemon.command("POST", "/-/reload").json["accepted"]?.bool == true)
            #expect(try daemon.get("/-/metrics").content.contains("\nlarder_configuration_refused 0\n"))
            #expect(try daemon.send("POST", "/-/reload").status == 403)
        }
    }

    @Test func `a stream tells of requests when it is asked to`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", content: "apples") }
            let only = try await scene.stream("match=**&requests=only")
            #expect(try await only.next().name == "observerAdded")
            for _ in 0..<3 { _ = try await scene.get("/a") }
            let notes = [try await only.next().json, try await only.next().json, try await only.next().json]
            #expect(notes.map { $0["event"]?.string } == ["request", "request", "request"])
            #expect(notes.map { $0["outcome"]?.string } == ["miss", "hit", "hit"])
            #expect(notes[0]["url"]?.string == scene.url("/a"))
        }
    }

    @Test(arguments: [
        (AccessFormat.combined, #"\] "GET http\S+/a HTTP/1\.1" 200 6 "-" "tests \\x22quoted\\x22"$"#),
        (.squid, #"^\d+\.\d{3} +\d+ 127\.0\.0\.1 TCP_MISS/200 6 GET http\S+/a - HIER_DIRECT/127\.0\.0\.1 text/plain$"#),
    ])
    func `lines of exchanges as other programs write them`(format: AccessFormat, pattern: String) async throws {
        try await Scenario.run({ settings, _ in
            settings.log.access = true
            settings.log.accessFormat = format
        }) { (scene) async throws in
            scene.origin.answer { _ in
                .ok("Cache-Control: max-age=60", "Content-Type: text/plain; charset=utf-8", content: "apples")
            }
            let client = try await scene.client()
            try await client.get(scene.url("/a?query"), "User-Agent: tests \"quoted\"")
            _ = try await client.response()
            try await eventually("it is logged") { scene.log.values.contains { $0.contains("/a ") } }
            let line = try #require(scene.log.values.first { $0.contains("/a ") })
            #expect(line.range(of: pattern, options: .regularExpression) != nil, "\(line)")
        }
    }

    @Test func `Larder's own pages are no hits to readers of Squid's lines`() async throws {
        try await AdminFixture.run({
            $0.log.access = true
            $0.log.accessFormat = .squid
        }) { daemon async throws in
            let lines = Lock<[String]>([])
            daemon.daemon.proxy.accessLog.send { line in lines.withLock { $0.append(line) } }
            _ = try daemon.get("/-/ready")
            try await eventually("it is logged") { lines.withLock { !$0.isEmpty } }
            #expect(lines.withLock { $0[0].contains(" NONE/200 ") && $0[0].contains(" HIER_NONE/- ") })
        }
    }

    @Test func `what no origin could answer is no hit, and shows in the ratio`() async throws {
        try await AdminFixture.run(origin: { method, path in
            (method + path).contains("bad")
                ? "HTTP/1.1 200 OK\r\nContent-Length: x\r\nConnection: close\r\n\r\n"
                : "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"
        }) { daemon throws in
            for _ in 0..<2 { _ = try daemon.get("/api/a") }
            for number in 0..<2 { #expect(try daemon.get("/api/bad\(number)").status == 502) }
            let status = try daemon.get("/-/status").json
            #expect(status["services"]?[0]?["requests"]?["error"]?.int == 2)
            #expect(status["services"]?[0]?["hitRatio"]?.double == 0.25)
            #expect(status["hitRatio"]?.double == 0.25)
        }
    }
}
