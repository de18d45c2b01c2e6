// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@testable import LarderUpstream

@Suite("T-06: which origins are left alone")
struct OriginHealthTests {
    static let second: Int64 = 1_000_000_000
    static let limits: BreakerLimits = {
        var limits = BreakerLimits()
        limits.failures = 3
        return limits
    }()

    /// Events of a circuit, and their outcomes.
    enum Event: Sendable {
        case fail(Int?, probe: Int? = nil)
        case answer
        case admit
        case insist
        case withdraw(Int)
        /// Seconds pass.
        case pass(Double)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var events: [Event]
        var verdict: String

        init(_ name: String, _ events: [Event], _ verdict: String) {
            (testDescription, self.events, self.verdict) = (name, events, verdict)
        }
    }

    static let plain = ProbeTurns.Asker(client: 1)
    static let insisting = ProbeTurns.Asker(client: 1, bypassesBackoff: true)
    static let opened: [Event] = [.fail(nil), .fail(nil), .fail(nil)]

    @Test(arguments: [
        Case("nothing happened", [], "pass"),
        Case("two failures", [.fail(nil), .fail(nil)], "pass"),
        Case("three failures", opened, "held 1.0"),
        Case("three failures of one resource", [.fail(7), .fail(7), .fail(7)], "pass"),
        Case("failures of three resources at once", [.fail(7), .fail(8), .fail(9)], "pass"),
        Case("however many they are", (1...99).map { .fail($0) }, "pass"),
        Case("of three for a second", [.fail(7), .fail(8), .pass(1), .fail(9)], "held 1.0"),
        Case("of three, for nearly a second", [.fail(7), .fail(8), .pass(0.99), .fail(9)], "pass"),
        Case("of three, and a second later still", [.fail(7), .fail(8), .fail(9), .pass(1), .fail(7)], "held 1.0"),
        Case("of two for long", [.fail(7), .fail(8), .pass(30), .fail(7), .pass(30), .fail(8)], "pass"),
        Case("of three, and an answer between", [.fail(7), .fail(8), .answer, .pass(1), .fail(9)], "pass"),
        Case("both kinds together", [.fail(7), .fail(7), .fail(nil), .fail(nil)], "pass"),
        Case("both kinds for a second", [.fail(7), .fail(7), .fail(nil), .pass(1), .fail(nil)], "held 1.0"),
        Case("one kind is enough by itself", [.fail(7), .fail(nil), .fail(nil), .fail(nil)], "held 1.0"),
        Case("an answer between", [.fail(nil), .fail(nil), .answer, .fail(nil), .fail(nil)], "pass"),
        Case("too long between", [.fail(nil), .fail(nil), .pass(61), .fail(nil)], "pass"),
        Case("just in time", [.fail(nil), .pass(59), .fail(nil), .pass(59), .fail(nil)], "held 1.0"),
        Case("its time is not up", opened + [.pass(0.5)], "held 0.5"),
        Case("its time is up", opened + [.pass(1)], "probe"),
        Case("one probe at a time", opened + [.pass(1), .admit], "held 1.0"),
        Case("a silent probe is joined", opened + [.pass(1), .admit, .pass(1)], "probe"),
        Case("the probe fails", opened + [.pass(1), .admit, .fail(nil, probe: 1)], "held 2.0"),
        Case("the probe's resource fails again", opened + [.pass(1), .admit, .fail(7, probe: 1)], "held 2.0"),
        Case(
            "two probes fail",
            opened + [.pass(1), .admit, .fail(nil, probe: 1), .pass(2), .admit, .fail(nil, probe: 2)], "held 4.0"),
        Case(
            "five probes fail",
            opened + (1...5).flatMap { [.pass(10), .admit, .fail(nil, probe: $0)] }, "held 10.0"),
        Case("the probe is answered", opened + [.pass(1), .admit, .answer], "pass"),
        Case("a probe that was given up lets others go first", opened + [.pass(1), .admit, .withdraw(1)], "held 0.25"),
        Case("and may be repeated", opened + [.pass(1), .admit, .withdraw(1), .pass(0.25)], "probe"),
        Case("a late failure after opening", opened + [.pass(0.5), .fail(nil)], "held 0.5"),
        Case("a late answer after opening", opened + [.answer], "pass"),
        Case("a late failure during the probe", opened + [.pass(1), .admit, .fail(nil)], "held 1.0"),
        Case(
            "an old probe's failure", opened + [.pass(1), .admit, .pass(1), .admit, .fail(nil, probe: 1)], "held 2.0"),
        Case("who has it asked in any case does not wait", opened + [.insist], "held 1.0"),
        Case("whose failure is no news", opened + [.pass(0.5), .insist, .fail(nil, probe: 1)], "held 0.5"),
        Case("nor is it the probe", opened + [.insist, .pass(1)], "probe"),
        Case("not even when that is due", opened + [.pass(1), .insist, .fail(7, probe: 1)], "probe"),
        Case("and its answer is one", opened + [.insist, .answer], "pass"),
        Case("after it closed, it counts from the beginning", opened + [.answer, .fail(nil), .fail(nil)], "pass"),
        Case("after it closed, it opens shortly", opened + [.pass(1), .admit, .answer] + opened, "held 1.0"),
    ])
    func `a circuit opens, waits, probes and closes`(case: Case) {
        var circuit = Circuit()
        var now: Int64 = 1_000 * Self.second
        for event in `case`.events {
            switch event {
            case .fail(let subject, let probe):
                _ = circuit.failed(subject: subject, probe: probe, now: now, limits: Self.limits)
            case .answer: _ = circuit.answered()
            case .admit: _ = circuit.admit(Self.plain, now: now, limits: Self.limits)
            case .insist:
                let verdict = circuit.admit(Self.insisting, now: now, limits: Self.limits)
                #expect(verdict == .probe(1))
            case .withdraw(let probe): circuit.withdrawn(probe: probe)
            case .pass(let seconds): now += Int64(seconds * Double(Self.second))
            }
        }
        let shown = circuit.heldUntil(Self.plain, now: now)
        let verdict = circuit.admit(Self.plain, now: now, limits: Self.limits)
        switch verdict {
        case .pass: #expect(`case`.verdict == "pass")
        case .probe: #expect(`case`.verdict == "probe")
        case .held(let until):
            #expect(`case`.verdict == "held \(Double(until - now) / Double(Self.second))")
            #expect(shown == until)
        }
        if case .held = verdict {} else { #expect(shown == nil) }
    }

    @Test func `one request at a time is sent before its time`() {
        var circuit = Circuit()
        for _ in 0..<3 { _ = circuit.failed(subject: nil, probe: nil, now: 0, limits: Self.limits) }
        func admit(_ now: Int64) -> Circuit.Verdict {
            circuit.admit(Self.insisting, now: now, limits: Self.limits)
        }
        #expect(admit(10) == .probe(1))
        #expect(admit(20) == .held(until: Self.second + 10))
        circuit.withdrawn(probe: 1)
        #expect(admit(40) == .probe(2))
        _ = circuit.failed(subject: nil, probe: 2, now: 50, limits: Self.limits)
        #expect(admit(60) == .probe(3))
        // One that is not heard of keeps others waiting no longer than the circuit does.
        #expect(admit(Self.second + 60) == .probe(4))
    }

    @Test func `a circuit that is switched off lets everything through, and none opens`() {
        var off = Self.limits
        off.failures = 0
        var circuit = Circuit()
        for _ in 0..<100 { _ = circuit.failed(subject: nil, probe: nil, now: 0, limits: off) }
        #expect(circuit.isClosed)
        var open = Circuit()
        for _ in 0..<3 { _ = open.failed(subject: nil, probe: nil, now: 0, limits: Self.limits) }
        #expect(!open.isClosed)
        let verdict = open.admit(Self.plain, now: 0, limits: off)
        #expect(verdict == .pass)
    }

    // MARK: Who is asked to wait

    static let anna = OriginHealth.Ask(credentials: 1, resource: 10)
    static let annaElsewhere = OriginHealth.Ask(credentials: 1, resource: 11)
    static let ben = OriginHealth.Ask(credentials: 2, resource: 10)
    /// For which resources that ask at once are enough.
    static let hasty: BreakerLimits = {
        var limits = OriginHealthTests.limits
        limits.persistence = 0
        return limits
    }()

    @Test(arguments: [
        (503, true, true, true), (429, true, true, false), (403, true, true, false),
    ])
    func `an unavailable service is left alone by all, a quota by those whose it is`(
        status: Int, anna: Bool, annaElsewhere: Bool, ben: Bool
    ) {
        var health = OriginHealth()
        let status = Status(status)
        let result1 = health.pleaded(Self.anna, status: status, until: 100)
        #expect(result1)
        for (ask, waits) in [(Self.anna, anna), (Self.annaElsewhere, annaElsewhere), (Self.ben, ben)] {
            let expected: OriginHealth.Verdict =
                waits ? .paused(OriginHealth.Pause(until: 100, status: status)) : .pass
            #expect(health.verdict(on: ask, now: 99, limits: Self.limits) == expected)
            let result2 = health.admit(ask, now: 99, limits: Self.limits)
            #expect(result2 == expected)
            let result3 = health.admit(ask, now: 100, limits: Self.limits)
            #expect(result3 == .pass)
        }
        #expect(!health.isForgettable(now: 99))
        #expect(health.isForgettable(now: 100))
    }

    @Test func `nobody ends a pause of the origin by asking for many resources that pause longer`() {
        var health = OriginHealth()
        _ = health.pleaded(Self.anna, status: 503, until: 100)
        for resource in 0..<1000 {
            let insisting = OriginHealth.Ask(credentials: 3, resource: resource, bypassesBackoff: true)
            _ = health.paused(insisting, status: 503, until: 10_000, now: 1, limits: Self.hasty)
        }
        #expect(health.pauses.count == OriginHealth.pauseLimit)
        #expect(health.verdict(on: Self.anna, now: 99, limits: Self.limits) != .pass)
    }

    @Test func `where nobody described a service, only the same request waits`() {
        var health = OriginHealth()
        func unclaimed(_ credentials: Int, _ resource: Int) -> OriginHealth.Ask {
            OriginHealth.Ask(credentials: credentials, resource: resource, belongsToService: false)
        }
        _ = health.pleaded(unclaimed(1, 10), status: 503, until: 100)
        let result4 = health.admit(unclaimed(1, 10), now: 1, limits: Self.limits)
        #expect(result4 != .pass)
        let result5 = health.admit(unclaimed(1, 14), now: 1, limits: Self.limits)
        #expect(result5 == .pass)
        let result6 = health.admit(unclaimed(2, 10), now: 1, limits: Self.limits)
        #expect(result6 == .pass)
        // And a bad answer is an answer.
        for resource in 0..<9 {
            _ = health.ended(.troubled, unclaimed(1, resource), probe: nil, now: 1, limits: Self.limits)
        }
        let result7 = health.admit(unclaimed(1, 15), now: 1, limits: Self.limits)
        #expect(result7 == .pass)
    }

    @Test func `what is asked for first is news, and a shorter word does not shorten it`() {
        var health = OriginHealth()
        let result8 = health.pleaded(Self.anna, status: 503, until: 100)
        #expect(result8)
        let result9 = health.paused(Self.ben, status: 503, until: 50, now: 0, limits: Self.hasty)
        #expect(!result9)
        #expect(health.pausedUntil(now: 0) == 100)
        #expect(health.isPaused(now: 99))
        #expect(!health.isPaused(now: 100))
        let result10 = health.pleaded(Self.ben, status: 503, until: 300, now: 200)
        #expect(result10)
    }

    @Test func `nobody who is let through a pause prolongs it, however many paths it asks`() {
        var health = OriginHealth()
        let begins = health.pleaded(Self.anna, status: 503, until: 100)
        #expect(begins)
        for now in 1..<Int64(99) {
            var insisting = OriginHealth.Ask(credentials: 3, resource: 20 + Int(now) % 5, bypassesBackoff: true)
            insisting.place = insisting.resource
            _ = health.paused(insisting, status: 503, until: now + 100, now: now, limits: Self.hasty)
        }
        #expect(health.verdict(on: Self.anna, now: 99, limits: Self.limits) != .pass)
        #expect(health.verdict(on: Self.anna, now: 100, limits: Self.limits) == .pass)
    }

    @Test func `one path speaks for itself only, whatever its queries`() {
        var health = OriginHealth()
        for number in 1...1000 {
            let ask = OriginHealth.Ask(credentials: 1, resource: number, place: 7)
            let now = Int64(number) * 1_000_000_000
            let isForAll = health.paused(ask, status: 503, until: .max, now: now, limits: Self.limits)
            #expect(!isForAll)
            let change = health.ended(.troubled, ask, probe: nil, now: now, limits: Self.limits)
            #expect(change == nil)
        }
    }

    @Test func `the number of those who ask is bounded`() {
        var health = OriginHealth()
        for number in 1...1000 {
            _ = health.paused(
                OriginHealth.Ask(credentials: 1, resource: number), status: 503, until: 1000, now: 0,
                limits: Self.limits)
        }
        #expect(health.pauses.count <= OriginHealth.pauseLimit)
        #expect(!health.isPaused(now: 0))
    }

    @Test func `the number of those who wait is bounded`() {
        var health = OriginHealth()
        for number in 1...1000 {
            _ = health.paused(
                OriginHealth.Ask(credentials: number, resource: 0), status: 429, until: Int64(number), now: 0,
                limits: Self.limits)
        }
        #expect(health.pauses.count == OriginHealth.pauseLimit)
        #expect(health.pausedUntil(now: 0) == 1000)
    }

    @Test(arguments: [
        (UpstreamError.Code.connectionRefused, OriginHealth.Outcome.unreachable), (.dnsError, .unreachable),
        (.dnsTimeout, .unreachable), (.connectionTimeout, .unreachable), (.tlsCertificate, .unreachable),
        (.destinationUnavailable, .unreachable), (.responseTimeout, .troubled), (.connectionTerminated, .troubled),
        (.protocolError, .answered), (.responseIncomplete, .answered), (.readTimeout, .answered),
        (.aborted, .unknown), (.connectionLimit, .unknown), (.destinationProhibited, .unknown),
        (.internalError, .unknown),
    ])
    func `failures count by what they say about the origin`(code: UpstreamError.Code, outcome: OriginHealth.Outcome) {
        #expect(UpstreamError(code, "").outcome == outcome)
    }
}

extension OriginHealth {
    /// As many resources as it takes ask to be left alone, that of `ask` last. Returns the outcome of the last.
    fileprivate mutating func pleaded(_ ask: Ask, status: Status, until: Int64, now: Int64 = 0) -> Bool {
        for number in 1..<Self.pleaLimit {
            var other = ask
            other.resource += number
            other.place += number
            _ = paused(other, status: status, until: until, now: now, limits: OriginHealthTests.hasty)
        }
        return paused(ask, status: status, until: until, now: now, limits: OriginHealthTests.hasty)
    }
}
