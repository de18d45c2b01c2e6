// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Resources that are watched while their origin fails and recovers.
@Suite("Scenarios: recovery")
struct RecoveryScenarios {
    static func run(_ body: (Scenario) async throws -> Void) async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/")) { service in
                service.configure { $0.reloadOnRecovery = true }
                service.configure {
                    $0.pattern.match = "/quiet/**"
                    $0.reloadOnRecovery = false
                }
            }
            settings.upstream.breaker.failures = 3
        } _: {
            try await body($0)
        }
    }

    /// Has the origin fail for these and be left alone.
    static func fail(_ scene: Scenario, _ paths: [String]) async throws {
        scene.origin.answer { _ in .response(502) }
        for path in paths { #expect(try await scene.get(path).status == 502) }
        for number in 0..<3 {
            #expect(try await scene.get("/broken\(number)").status == 502)
            scene.advance(.milliseconds(500))
        }
        #expect(try await scene.get("/held").status == 503)
    }

    @Test func `B-28 what is watched and in error is loaded when its origin works again`() async throws {
        try await Self.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=600", content: "good") }
            #expect(try await scene.get("/good").status == 200)
            let quiet = try await scene.events(about: "/quiet/a")
            let good = try await scene.events(about: "/good")
            let events = try await scene.events(about: "/watched")
            for stream in [quiet, good, events] { _ = try await stream.next() }
            try await Self.fail(scene, ["/quiet/a", "/unwatched", "/watched"])
            scene.origin.answer { .ok("Cache-Control: max-age=600", content: "back: \($0.target)") }
            // Nobody asks: that the origin works again is found out by what is watched.
            // It is left alone for a second, of which half has passed, and looked at once a second.
            let back = try await scene.lettingTimePass(within: .milliseconds(500)...(.seconds(3))) {
                while true {
                    let event = try await events.next()
                    if event.name == "newData" { return event }
                }
            }
            #expect(back.state["latestError"] == .null)
            #expect(try await scene.get("/watched")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            for path in ["/quiet/a", "/unwatched", "/good"] { #expect(scene.origin.count(of: path) == 1) }
            #expect(scene.origin.count(of: "/watched") == 2)
        }
    }

    @Test func `B-28 an origin that has come back is asked for a few at a time`() async throws {
        try await Self.run { (scene) async throws in
            let paths = (0..<12).map { "/watched/\($0)" }
            var streams: [EventReader] = []
            for path in paths { streams.append(try await scene.events(about: path)) }
            try await Self.fail(scene, paths)
            scene.origin.answer { _ in nil }
            let probe = try await scene.lettingTimePass(within: .milliseconds(500)...(.seconds(3))) {
                try await scene.origin.request()
            }
            func asked() -> Int { paths.reduce(0) { $0 + scene.origin.count(of: $1) } - paths.count }
            // However much time passes, it is one that finds out.
            #expect(asked() == 1)
            try await probe.reply("Cache-Control: max-age=600", content: "good")
            var pending: [OriginRequest] = []
            for _ in 0..<4 { pending.append(try await scene.origin.request()) }
            for number in 6...12 {
                // One goes, one comes.
                #expect(asked() == number - 1)
                try await pending.removeFirst().reply("Cache-Control: max-age=600", content: "good")
                pending.append(try await scene.origin.request())
            }
            for request in pending { try await request.reply("Cache-Control: max-age=600", content: "good") }
            try await eventually("all are loaded") {
                paths.allSatisfy { path in
                    (try? scene.proxy.subject(of: scene.url(path))).flatMap {
                        scene.proxy.registry.resource(for: $0.key(in: .shared))
                    }?.memory.snapshot.variants.isEmpty == false
                }
            }
            #expect(asked() == 12)
        }
    }

    @Test func `B-28 an origin that goes on failing is asked as often as clients would ask it`() async throws {
        try await Self.run { (scene) async throws in
            let events = try await scene.events(about: "/watched")
            _ = try await events.next()
            try await Self.fail(scene, ["/watched"])
            let before = scene.origin.seen.count
            let times = Recorder<Int64>()
            scene.origin.answer { _ in
                times(scene.time.monotonic())
                return .response(502)
            }
            // It is left alone for 1 s, 2 s, 4 s, 8 s and then for 10 s each time, and looked at once a second.
            try await scene.lettingTimePass(.milliseconds(100), after: { await scene.proxy.settle() }) {
                try await eventually("it was asked again") { times.count == 6 }
            }
            for (number, pause) in [2, 4, 8, 10, 10].enumerated() {
                let passed = Duration.nanoseconds(times.values[number + 1] - times.values[number])
                #expect((.seconds(pause)...(.seconds(2 * pause + 2))).contains(passed), "before \(number + 2)")
            }
            let paths = Set(scene.origin.seen.dropFirst(before).map(\.target))
            #expect(paths == ["/watched"])
            #expect(try await scene.get("/held").status == 503)
        }
    }
}
