// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderShared

@Suite("The circuit of a node")
struct EngineCircuitTests {
    private static let second: Int64 = 1_000_000_000

    private func opened(at now: Int64 = 0, haste: Double = 0) -> EngineCircuit {
        var circuit = EngineCircuit(haste: haste)
        for _ in 0..<3 { _ = circuit.failed(at: now) }
        return circuit
    }

    @Test func `it opens with the third failure in a row`() {
        var circuit = EngineCircuit()
        let first = (0..<2).map { _ in circuit.failed(at: 0) }
        circuit.answered()
        let second = (0..<2).map { _ in circuit.failed(at: 0) }
        #expect(first + second == [false, false, false, false])
        #expect(circuit.isClosed)
        let third = circuit.failed(at: 5)
        #expect(third)
        #expect(circuit.probeAt == 250_000_005)
    }

    @Test func `answers to what was sent before do not close it`() {
        var circuit = opened()
        circuit.answered()
        let hasOpened = circuit.failed(at: 1)
        #expect(!circuit.isClosed && !hasOpened)
    }

    @Test func `each asks at intervals of its own, none of which is longer`() {
        #expect(opened(haste: 0.2).probeAt == 200_000_000)
    }

    @Test func `it asks at growing intervals, never more than two seconds apart`() {
        var circuit = opened()
        var now: Int64 = 0
        var intervals: [Int64] = []
        for _ in 0..<40 {
            guard let instant = circuit.probeAt else { break }
            intervals.append(instant - now)
            let beginnings = [instant - 1, instant].map { circuit.beginProbe(at: $0) }
            #expect(beginnings == [false, true])
            now = instant
            let hasClosed = circuit.endProbe(isGood: false, at: now)
            #expect(!hasClosed)
        }
        #expect(Array(intervals.prefix(5)) == [250, 500, 1000, 2000, 2000].map { $0 * 1_000_000 })
        #expect(intervals.count == 40 && intervals.max() == 2 * Self.second)
    }

    @Test func `a good probe closes it, and it counts from nothing`() {
        var circuit = opened()
        let beginnings = (0..<2).map { _ in circuit.beginProbe(at: Self.second) }
        #expect(beginnings == [true, false])
        let hasClosed = circuit.endProbe(isGood: true, at: Self.second)
        #expect(hasClosed && circuit.isClosed && circuit.probeAt == nil)
        let hasOpened = circuit.failed(at: Self.second)
        #expect(!hasOpened)
    }

    @Test func `the end of a probe that nobody began changes nothing`() {
        var circuit = opened()
        let hasClosed = circuit.endProbe(isGood: true, at: 0)
        #expect(!hasClosed && !circuit.isClosed)
    }
}
