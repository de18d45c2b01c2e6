// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderCLI

@Suite("Giving memory back")
struct MemoryReleaseTests {
    @Test(
        arguments: [
            ("nothing has happened", [0, 0, 0], [false, false, false]),
            ("a crowd came and went", [50_000, 100_000, 100_010, 100_020], [false, false, true, false]),
            ("it is always busy", [5_000, 10_000, 15_000, 20_000], [false, false, false, false]),
            ("a little, now and then", [300, 600, 900, 1_200, 1_500], [false, false, false, true, false]),
            ("a second crowd", [9_000, 9_001, 20_000, 20_001], [false, true, false, true]),
        ])
    func `memory is given back once, when it becomes quiet after there was something to do`(
        label: String, turns: [Int], due: [Bool]
    ) {
        var release = MemoryRelease()
        #expect(turns.map { release.isDue(turns: $0, resident: nil) } == due, "\(label)")
    }

    @Test func `memory that a crowd took within a few turns is given back when it has gone`() {
        var release = MemoryRelease()
        let mebibyte: Int64 = 1 << 20
        // The crowd comes within one interval, and takes fewer turns than are worth it by themselves.
        let due = [(10, 20 * mebibyte), (200, 180 * mebibyte)].map { release.isDue(turns: $0, resident: $1) }
        #expect(due == [false, true])
        release.perform()
        let isDueAgain = release.isDue(turns: 210, resident: MemoryRelease.resident)
        #expect(!isDueAgain)
    }
}
