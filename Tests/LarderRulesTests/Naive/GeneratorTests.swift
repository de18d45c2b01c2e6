// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderHTTP
import LarderRules
import Testing

/// Random requests, responses and times, decided by the rules and by a naive reading of the RFC.
///
/// `LARDER_STEPS` says how many requests are played, `LARDER_SEED` where to begin. A disagreement names its seed.
@Suite("RFC 9111 against a naive cache")
struct GeneratorTests {
    static let steps = ProcessInfo.processInfo.environment["LARDER_STEPS"].flatMap(Int.init) ?? 20_000
    static let seed = ProcessInfo.processInfo.environment["LARDER_SEED"].flatMap(UInt64.init) ?? 20_220_601
    private static let lanes = 4
    private static let stepsPerSequence = 50

    @Test(arguments: 0..<lanes)
    func `two readings of the RFC agree`(_ lane: Int) {
        var played = 0
        var sequence = UInt64(lane)
        while played < Self.steps / Self.lanes {
            let seed = Self.seed &+ sequence
            var game = Game(seed: seed)
            for _ in 0..<Self.stepsPerSequence {
                if let disagreement = game.step() {
                    Issue.record("seed \(seed), step \(game.stepCount): \(disagreement)")
                    return
                }
            }
            played += Self.stepsPerSequence
            sequence += UInt64(Self.lanes)
        }
        #expect(played >= Self.steps / Self.lanes)
    }

    /// The random sequences are of use only if they lead everywhere.
    @Test func `every kind of decision occurs`() {
        var seen: Set<String> = []
        for seed in 0..<UInt64(100) {
            var game = Game(seed: seed)
            for _ in 0..<Self.stepsPerSequence { _ = game.step() }
            seen.formUnion(game.kinds)
        }
        let expected: Set = [
            "answer", "stale max-stale", "stale stale-while-revalidate", "stale offline", "validate request",
            "validate stale",
            "forward method", "forward uri-miss", "forward vary-miss", "forward miss", "forward request",
            "forward stale",
            "forward partial", "refuse only-if-cached", "refuse offline", "304 updates", "304 matches nothing",
            "304 discards",
            "HEAD updates", "HEAD shows a difference", "store durable", "store memory", "stale after failure",
            "no stale after failure",
        ]
        #expect(expected.subtracting(seen) == [])
    }
}
