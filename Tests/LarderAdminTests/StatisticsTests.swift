// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import LarderProxy
import LarderSettings
import Testing

@testable import LarderAdmin

@Suite("Statistics of all runs")
struct StatisticsTests {
    /// A directory for a store, removed with this object.
    private final class Place {
        let directory = NSTemporaryDirectory() + "larder-statistics-\(UUID().uuidString.prefix(8))"
        var file: String { directory + "/" + StatisticsFile.name }

        init() throws {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }
    }

    @Test func `counts and the day's charts of earlier runs are there after a restart`() async throws {
        let place = try Place()
        for run in 1...3 {
            try await AdminFixture.run {
                $0.cache.path = .path(place.directory + "/larder.db")
            } _: { daemon throws in
                for _ in 0..<2 { _ = try daemon.get("/api/a") }
                await daemon.daemon.keepStatistics()
                let status = try daemon.get("/-/status").json
                #expect(self.total(status["requests"], ["hit", "miss"]) == 2)
                #expect(self.total(status["allTime"]?["requests"], ["hit", "miss"]) == 2 * run)
                #expect(status["allTime"]?["since"]?.string != nil)
                let sent = try #require(status["bytes"]?["sent"]?.int)
                #expect(status["allTime"]?["bytes"]?["sent"]?.int == sent * run)
                let history = try daemon.get("/-/history").json
                #expect(self.sum(history["day"], ["hits", "misses"]) == 2 * run)
                #expect(self.sum(history["services"]?["api"], ["hits", "others"]) == 2 * run)
                #expect(self.sum(history["recent"], ["hits", "misses"]) == 2)
            }
        }
    }

    private func total(_ object: JSONValue?, _ names: [String]) -> Int {
        names.reduce(0) { $0 + (object?[$1]?.int ?? 0) }
    }

    private func sum(_ columns: JSONValue?, _ names: [String]) -> Int {
        names.reduce(0) { $0 + (columns?[$1]?.array ?? []).reduce(0) { $0 + ($1.int ?? 0) } }
    }

    @Test func `a damaged file is put aside, and the daemon starts`() async throws {
        let place = try Place()
        try Data("larder statistics 1\nnonsense".utf8).write(to: URL(fileURLWithPath: place.file))
        try await AdminFixture.run {
            $0.cache.path = .path(place.directory + "/larder.db")
        } _: { daemon throws in
            #expect(try daemon.get("/-/status").json["allTime"]?["requests"]?["hit"]?.int == 0)
            #expect(!FileManager.default.fileExists(atPath: place.file))
            #expect(FileManager.default.fileExists(atPath: place.file + ".damaged"))
            await daemon.daemon.keepStatistics()
            #expect(FileManager.default.fileExists(atPath: place.file))
        }
    }

    @Test func `without a store nothing is kept`() async throws {
        try await AdminFixture.run {
            $0.cache.path = .none
        } _: { daemon throws in
            await daemon.daemon.keepStatistics()
            #expect(try daemon.get("/-/status").json["allTime"] == JSONValue.null)
            let names = try FileManager.default.contentsOfDirectory(atPath: daemon.directory)
            #expect(!names.contains { $0.contains("statistics") }, "\(names)")
        }
    }

    private static func statistics(services: Int, steps: Int) -> KeptStatistics {
        var kept = KeptStatistics(startingAt: Timestamp(seconds: 1_700_000_000))
        kept.allTime.totals.kinds[LoopCounters.Kind.hit.rawValue] = 42
        kept.allTime.totals.sent = 7
        let now = Timestamp(seconds: 1_700_000_000)
        for number in 0..<steps {
            kept.day.put(at: now + .seconds(300 * Int64(number)), blank: History.Step()) {
                $0.counts.hits = UInt64(number)
                $0.hitLatency = (0.25, 1.5)
            }
        }
        for service in 0..<services {
            var series = History.serviceSteps
            for number in 0..<steps {
                series.put(at: now + .seconds(900 * Int64(number)), blank: History.ServiceStep()) {
                    $0.errors = UInt64(number)
                }
            }
            kept.services[String(repeating: "s", count: 60) + "\(service)"] = series
        }
        return kept
    }

    @Test func `what is written is read back, and its size has a bound`() throws {
        let full = StatisticsTests.statistics(services: History.serviceLimit, steps: 300).octets
        #expect(full.count < 1 << 20)
        let read = try #require(KeptStatistics(full))
        #expect(read.octets == full)
        #expect(read.allTime.totals.count(.hit) == 42)
        #expect(read.day.values.last?.counts.hits == 299)
        #expect(read.services.count == History.serviceLimit)
    }

    @Test func `an altered byte and a missing end are found`() {
        let octets = StatisticsTests.statistics(services: 1, steps: 2).octets
        for place in octets.indices {
            var altered = octets
            altered[place] ^= 0x10
            #expect(KeptStatistics(altered) == nil)
            #expect(KeptStatistics(Array(octets[..<place])) == nil)
        }
        #expect(KeptStatistics(octets + [0]) == nil)
    }
}
