// SPDX-License-Identifier: Apache-2.0

import LarderTesting
import Testing

@testable import LarderUpstream

/// One client asks an origin that works again for what is never answered, 40 times a second, and another asks twice a
/// second for what is.
@Suite("T-06: whose turn it is to ask an origin that failed")
struct ProbeTurnsTests {
    static let millisecond: Int64 = 1_000_000

    /// The hostile client's requests.
    enum Hostile: Sendable, CaseIterable {
        case oneURL
        case manyURLs
        case oneThatLeaves
        case halfUploads
        case badAnswers

        func asker(_ number: Int, client: Int) -> ProbeTurns.Asker {
            let isOne = self == .oneURL || self == .oneThatLeaves
            return ProbeTurns.Asker(
                place: isOne ? 1 : 1 + number, client: client, lacksContent: self == .halfUploads)
        }
    }

    /// A circuit that has been open for long, as it is when the origin begins to work.
    static func circuit(at now: inout Int64) -> Circuit {
        var circuit = Circuit()
        let limits = OriginHealthTests.limits
        for _ in 0..<3 { _ = circuit.failed(subject: nil, probe: nil, now: now, limits: limits) }
        for _ in 0..<4 {
            now = circuit.heldUntil(now: now) ?? now
            guard case .probe(let number) = circuit.admit(ProbeTurns.Asker(), now: now, limits: limits) else { break }
            _ = circuit.failed(subject: nil, probe: number, now: now, limits: limits)
        }
        now = circuit.heldUntil(now: now) ?? now
        return circuit
    }

    /// Milliseconds until a request of `victim` is sent; `phase` is when the first one comes.
    static func wait(for victim: ProbeTurns.Asker, beside hostile: Hostile, phase: Int64) -> Int64? {
        var now: Int64 = 1_000_000 * millisecond
        var circuit = circuit(at: &now)
        var number = 0
        for time in Int64(0)..<600_000 {
            defer { now += millisecond }
            if time % 25 == 0 {
                number += 1
                let asker = hostile.asker(number, client: 1)
                if case .probe(let probe) = circuit.admit(asker, now: now, limits: OriginHealthTests.limits) {
                    if hostile == .oneThatLeaves { circuit.withdrawn(probe: probe) }
                    if hostile == .badAnswers {
                        _ = circuit.failed(subject: 1, probe: probe, now: now, limits: OriginHealthTests.limits)
                    }
                }
            }
            guard time % 500 == phase else { continue }
            var victim = victim
            victim.place = -1 - Int(time)
            if case .probe = circuit.admit(victim, now: now, limits: OriginHealthTests.limits) { return time }
        }
        return nil
    }

    @Test(arguments: Hostile.allCases) func `no client keeps an origin from those elsewhere`(hostile: Hostile) throws {
        for phase in stride(from: Int64(0), to: 500, by: 7) {
            let time = try #require(Self.wait(for: ProbeTurns.Asker(client: 2), beside: hostile, phase: phase))
            #expect(time < 1_000)
        }
    }

    @Test(arguments: [Hostile.oneURL, .oneThatLeaves, .halfUploads])
    func `one URL keeps no others from being asked for, wherever its client is`(hostile: Hostile) throws {
        for phase in stride(from: Int64(0), to: 500, by: 7) {
            let time = try #require(Self.wait(for: ProbeTurns.Asker(client: 1), beside: hostile, phase: phase))
            #expect(time < 2_000)
        }
    }

    /// Nothing tells such requests apart, so that each turn is as likely to be another's as that asks.
    @Test(arguments: [Hostile.manyURLs, .badAnswers])
    func `among many URLs of one client each gets the turns that chance gives it`(hostile: Hostile) throws {
        var generator = Seeded(7)
        var times: [Int64] = []
        for _ in 0..<200 {
            times.append(try Self.chanceWait(beside: hostile, &generator) ?? 600_000)
        }
        #expect(times.reduce(0, +) / 200 < 35_000)
    }

    /// What could not be reached and can be is likely to work.
    @Test func `they get more turns when the origin could not be reached, and can be`() throws {
        var generator = Seeded(7)
        var times: [Int64] = []
        for _ in 0..<200 {
            times.append(try Self.chanceWait(beside: .manyURLs, connects: true, &generator) ?? 600_000)
        }
        #expect(times.reduce(0, +) / 200 < 10_000)
        #expect(times.count { $0 > 40_000 } <= 2)
    }

    @Test func `but not for long if it goes on failing`() {
        var now: Int64 = 1_000_000 * Self.millisecond
        var circuit = Self.circuit(at: &now)
        var asked: [Int64] = []
        for time in Int64(0)..<100_000 {
            now += Self.millisecond
            let asker = ProbeTurns.Asker(place: Int(time), client: 1)
            guard case .probe(let probe) = circuit.admit(asker, now: now, limits: OriginHealthTests.limits) else {
                continue
            }
            circuit.connected(probe: probe, now: now, limits: OriginHealthTests.limits)
            asked.append(time)
        }
        #expect(asked.count { $0 < 40_000 } <= 4 * 4 * ProbeTurns.limit + 1)
        #expect(asked.count { $0 > 50_000 } <= 6 * ProbeTurns.limit)
    }

    /// As `wait`, where all ask at random times from the same place.
    static func chanceWait(
        beside hostile: Hostile, connects: Bool = false, _ generator: inout Seeded
    ) throws -> Int64? {
        var now: Int64 = 1_000_000 * millisecond
        var circuit = circuit(at: &now)
        for time in Int64(0)..<600_000 {
            defer { now += millisecond }
            let draw = generator.next() % 1_000
            guard draw < 42 else { continue }
            let asker = ProbeTurns.Asker(place: Int(time), client: 1)
            guard case .probe(let probe) = circuit.admit(asker, now: now, limits: OriginHealthTests.limits) else {
                continue
            }
            if draw < 2 { return time }
            if connects { circuit.connected(probe: probe, now: now, limits: OriginHealthTests.limits) }
            if hostile == .badAnswers {
                _ = circuit.failed(subject: 1, probe: probe, now: now, limits: OriginHealthTests.limits)
            }
        }
        return nil
    }

    struct Seeded: RandomNumberGenerator {
        private var state: UInt64
        init(_ seed: UInt64) { state = seed }
        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
    }

    // MARK: An origin that goes on failing

    /// How an origin fails.
    enum Failure: Sendable, CaseIterable {
        case isSilent
        case isUnreachable
        case answersBadly
    }

    @Test(arguments: Failure.allCases, [1, 1_000])
    func `an origin that still fails is asked a few times in an interval, however many ask`(
        failure: Failure, clients: Int
    ) {
        var now: Int64 = 1_000_000 * Self.millisecond
        var circuit = Self.circuit(at: &now)
        var asked = 0
        for number in 0..<60_000 {
            now += Self.millisecond
            let asker = ProbeTurns.Asker(place: number, client: number % clients)
            guard case .probe(let probe) = circuit.admit(asker, now: now, limits: OriginHealthTests.limits) else {
                continue
            }
            asked += 1
            let subject = failure == .isUnreachable ? nil : number
            if failure == .isSilent { continue }
            _ = circuit.failed(subject: subject, probe: probe, now: now, limits: OriginHealthTests.limits)
        }
        // In six intervals of ten seconds, and at most two more that begin.
        let each = failure == .isUnreachable ? 1 : (clients == 1 ? 1 : 2) * ProbeTurns.limit
        #expect(asked <= 7 * each + 1)
    }

    @Test func `half uploads keep no others from being sent before their time`() {
        var now: Int64 = 1_000_000 * Self.millisecond
        var circuit = Self.circuit(at: &now)
        func admit(_ asker: ProbeTurns.Asker) -> Circuit.Verdict {
            circuit.admit(asker, now: now, limits: OriginHealthTests.limits)
        }
        let half = ProbeTurns.Asker(place: 1, client: 1, bypassesBackoff: true, lacksContent: true)
        #expect(admit(half) == .probe(5))
        let whole = ProbeTurns.Asker(place: 2, client: 1, bypassesBackoff: true)
        #expect(admit(whole) == .probe(6))
        let plain = ProbeTurns.Asker(place: 3, client: 1)
        #expect(admit(plain) == .probe(7))
        // Another upload follows, and who has the same asked waits for the first.
        now += 1_250 * Self.millisecond
        var other = half
        #expect(circuit.heldUntil(other, now: now) != nil)
        other.place = 4
        #expect(circuit.heldUntil(other, now: now) == nil)
        circuit.withdrawn(probe: 5)
        #expect(circuit.heldUntil(half, now: now) == nil)
    }

    @Test func `an upload is sent when the origin may be asked, and is no probe`() {
        var now: Int64 = 1_000_000 * Self.millisecond
        var circuit = Self.circuit(at: &now)
        func admit(_ asker: ProbeTurns.Asker) -> Circuit.Verdict {
            circuit.admit(asker, now: now, limits: OriginHealthTests.limits)
        }
        let half = ProbeTurns.Asker(place: 1, client: 1, lacksContent: true)
        #expect(circuit.heldUntil(half, now: now - 1) == now)
        #expect(admit(half) == .probe(5))
        _ = circuit.failed(subject: nil, probe: 5, now: now, limits: OriginHealthTests.limits)
        #expect(circuit.heldUntil(now: now) == nil)
        let change = circuit.answered()
        #expect(change == .closed)
        #expect(circuit.isPristine)
    }

    // MARK: A network that was lost

    @Test func `a host that answered is asked for another URL soon, and one that did not answer keeps no others back`()
    {
        var network = NetworkHealth()
        var now: Int64 = 1_000_000 * Self.millisecond
        _ = network.answered(1, now: now)
        for host in 11...13 { _ = network.failed(host, now: now) }
        #expect(network.isLost)
        func isDue(_ host: Int, _ place: Int, client: Int) -> Bool {
            network.isProbeDue(host, ProbeTurns.Asker(place: place, client: client), now: now, isTaken: true)
        }
        now += NetworkHealth.interval
        #expect(isDue(1, 1, client: 1))
        #expect(!isDue(1, 2, client: 1) && !isDue(1, 2, client: 2))
        now += NetworkHealth.interval / 32
        #expect(!isDue(1, 2, client: 1) && isDue(1, 2, client: 2))
        now += NetworkHealth.interval / 8
        #expect(!isDue(1, 1, client: 1) && isDue(1, 3, client: 1))
        #expect(isDue(14, 1, client: 1) && !isDue(15, 1, client: 1))
        now += NetworkHealth.interval / 8
        #expect(isDue(15, 1, client: 1))
    }

    @Test func `what failed before an interval began takes none of its turns`() {
        let second = 1_000 * Self.millisecond
        var turns = ProbeTurns()
        for number in 1...ProbeTurns.limit {
            turns.take(
                number, ProbeTurns.Asker(place: number, client: 1), now: Int64(number) * second, interval: 8 * second)
        }
        let (again, other) = (ProbeTurns.Asker(place: 8, client: 1), ProbeTurns.Asker(place: 9, client: 1))
        #expect(turns.heldUntil(other, now: 8 * second) == 9 * second)
        turns.failed(1, now: 8 * second + 1, interval: 16 * second)
        #expect(turns.heldUntil(other, now: 9 * second) == 10 * second)
        #expect(turns.heldUntil(other, now: 10 * second) == nil)
        #expect(turns.heldUntil(again, now: 10 * second) == 24 * second + 1)
        // The next one that fails is not the first.
        turns.failed(2, now: 11 * second, interval: 16 * second)
        #expect(turns.until == 24 * second + 1)
    }

    @Test func `Larder itself has one turn in an interval, which no client takes from it`() {
        var now: Int64 = 1_000_000 * Self.millisecond
        var circuit = Self.circuit(at: &now)
        var times: [Int64] = []
        for time in Int64(0)..<60_000 {
            now += Self.millisecond
            let client = ProbeTurns.Asker(place: Int(time), client: 1)
            _ = circuit.admit(client, now: now, limits: OriginHealthTests.limits)
            let own = ProbeTurns.Asker(place: -Int(time), client: 0)
            let verdict = circuit.admit(own, now: now, limits: OriginHealthTests.limits)
            if case .probe = verdict { times.append(time) }
        }
        #expect(times.count == 6)
        #expect(times.first.map { $0 < 1_000 } == true)
    }
}
