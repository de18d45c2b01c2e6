// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO
import LarderRules
import LarderTesting
import Testing

@testable import LarderUpstream

@Suite("T-06: what all clients know of origins")
struct OriginWatchTests {
    /// A watch with a clock of its own.
    struct Bench {
        let events = Recorder<OriginWatch.Event>()
        let watch: OriginWatch
        var now: Int64 = 1_000_000_000_000
        var limits = BreakerLimits()

        init() {
            let events = events
            watch = OriginWatch { events.add($0) }
            limits.failures = 2
        }

        func request(_ host: String = "api.example", _ target: String = "/a", key: String? = nil) -> UpstreamRequest {
            var head = RequestHead(method: .get, target: target)
            if let key { head.fields[.authorization] = key }
            var request = UpstreamRequest(origin: Origin(scheme: .https, host: host, port: 443), head: head)
            request.client = 1
            return request
        }

        func admit(_ request: UpstreamRequest) -> Result<OriginWatch.Ticket, UpstreamError> {
            do throws(UpstreamError) {
                return .success(try watch.admit(request, limits: limits, now: now))
            } catch {
                return .failure(error)
            }
        }

        func error(_ request: UpstreamRequest) -> UpstreamError? {
            if case .failure(let error) = admit(request) { error } else { nil }
        }

        func fail(_ request: UpstreamRequest, _ code: UpstreamError.Code = .connectionRefused) {
            fail(request, UpstreamError(code, "No."))
        }

        func fail(_ request: UpstreamRequest, _ error: UpstreamError) {
            guard case .success(let ticket) = admit(request) else { return }
            watch.failed(request, error: error, ticket: ticket, limits: limits, now: now)
        }

        func answer(_ request: UpstreamRequest, _ status: Status = 200, pause: Duration? = nil) {
            guard case .success(let ticket) = admit(request) else { return }
            watch.answered(request, status: status, pause: pause, ticket: ticket, limits: limits, now: now)
        }

        /// Each of the resources asks to be left alone, within a second and a bit.
        mutating func plead(
            _ targets: [String], key: String? = nil, _ status: Status, pause: Duration
        ) {
            for target in targets {
                answer(request("api.example", target, key: key), status, pause: pause)
                now += 500_000_000
            }
            now -= 500_000_000
        }

        var report: [OriginReport] { watch.report(limits: limits, now: now) }
    }

    @Test func `an origin that fails is left alone with the error it failed with, and others are not`() {
        var bench = Bench()
        bench.fail(bench.request())
        #expect(bench.report.first?.consecutiveFailures == 1)
        #expect(bench.error(bench.request()) == nil)
        bench.fail(bench.request())
        let held = bench.error(bench.request("api.example", "/other"))
        #expect(held?.code == .connectionRefused)
        #expect(held?.hold == OriginHold(reason: .circuitOpen, remaining: .seconds(1)))
        #expect(bench.error(bench.request("other.example")) == nil)
        #expect(bench.report.map(\.state) == [.open])
        bench.now += 1_000_000_000
        #expect(bench.watch.refusal(of: bench.request(), limits: bench.limits, now: bench.now) == nil)
        bench.answer(bench.request())
        #expect(bench.report.isEmpty)
        #expect(bench.error(bench.request()) == nil)
        let origin = bench.request().origin
        #expect(
            bench.events.values == [.stopped(origin, error: "connection_refused: No."), .recovered(origin)])
    }

    @Test func `it is known when an origin failed last`() {
        var bench = Bench()
        bench.fail(bench.request())
        bench.now += 2_000_000_000
        bench.fail(bench.request(), .connectionTimeout)
        bench.now += 3_000_000_000
        let report = bench.report.first
        #expect(report?.sinceLastError == .seconds(3))
        #expect(report?.lastError?.hasPrefix("connection_timeout") == true)
    }

    @Test func `the last error of several loops is the latest, with its time`() {
        let early = UpstreamStatistics(origin: "a", failures: 2, lastError: "early", sinceLastError: .seconds(9))
        let late = UpstreamStatistics(origin: "a", failures: 1, lastError: "late", sinceLastError: .seconds(1))
        let none = UpstreamStatistics(origin: "a")
        for sum in [early.adding(late), late.adding(early), none.adding(early).adding(late)] {
            #expect(sum.lastError == "late")
            #expect(sum.sinceLastError == .seconds(1))
        }
        #expect(early.adding(none).lastError == "early")
        #expect(none.adding(none).sinceLastError == nil)
    }

    @Test func `one who has the origin asked in any case is let through, and alone`() {
        let bench = Bench()
        for _ in 0..<2 { bench.fail(bench.request()) }
        var insisting = bench.request()
        insisting.bypassesBackoff = true
        #expect(bench.error(insisting) == nil)
        #expect(bench.error(insisting)?.hold?.reason == .circuitOpen)
    }

    @Test func `what clients on this machine learn is not for those elsewhere`() {
        let bench = Bench()
        for _ in 0..<2 { bench.fail(bench.request()) }
        var elsewhere = bench.request()
        elsewhere.allowsAddress = { !$0.isLoopback }
        #expect(bench.error(elsewhere) == nil)
        #expect(bench.error(bench.request()) != nil)
    }

    @Test func `what one client was told counts for all who share the quota, and is told once`() {
        var bench = Bench()
        bench.plead(["/x", "/y", "/z"], key: "anna", 429, pause: .seconds(30))
        for target in ["/a", "/b", "/x"] {
            let held = bench.error(bench.request("api.example", target, key: "anna"))
            #expect(held?.status == 429)
            #expect(held?.hold?.seconds == 30)
        }
        #expect(bench.error(bench.request(key: "ben")) == nil)
        bench.plead(["/x", "/y", "/z"], key: "ben", 503, pause: .seconds(60))
        #expect(bench.error(bench.request(key: "carl"))?.status == 503)
        #expect(bench.report.map(\.state) == [.paused])
        #expect(bench.report.first?.pausedFor == .seconds(60))
        #expect(bench.events.values.count == 2)
        bench.now += 60_000_000_000
        #expect(bench.report.isEmpty)
        bench.answer(bench.request(key: "carl"))
        #expect(bench.error(bench.request(key: "anna")) == nil)
    }

    @Test(arguments: ["PRIVATE-TOKEN", "X-Auth-Token", "DPoP", "X-Api-Key-Id"] as [FieldName])
    func `a quota is that of the credential, whatever its field is called`(field: FieldName) {
        let bench = Bench()
        func request(_ user: String) -> UpstreamRequest {
            var request = bench.request()
            request.head.fields.append(field, user)
            return request
        }
        bench.answer(request("anna"), 429, pause: .seconds(30))
        #expect(bench.error(request("anna"))?.status == 429)
        #expect(bench.error(request("ben")) == nil)
    }

    @Test(arguments: [429, 503])
    func `one URL that asks to be left alone takes the origin from nobody else`(status: Int) {
        var bench = Bench()
        for _ in 0..<9 {
            bench.answer(bench.request(), Status(status), pause: .seconds(3_600))
            bench.now += 1_000_000_000
        }
        #expect(bench.error(bench.request())?.hold?.reason == .retryAfter)
        #expect(bench.error(bench.request("api.example", "/b")) == nil)
        #expect(bench.error(bench.request(key: "ben")) == nil)
        #expect(bench.events.values.isEmpty)
        #expect(bench.report.map(\.state) == [.closed])
        #expect(bench.report.first?.pausedFor != nil)
    }

    @Test func `several URLs speak for the origin, unless it answers between them or they all come at once`() {
        var bench = Bench()
        bench.plead(["/a", "/b"], 503, pause: .seconds(60))
        bench.answer(bench.request("api.example", "/works"))
        bench.plead(["/c", "/d"], 503, pause: .seconds(60))
        #expect(bench.error(bench.request("api.example", "/e")) == nil)
        bench.now += 500_000_000
        for target in ["/f", "/g", "/h"] {
            bench.answer(bench.request("api.example", target), 503, pause: .seconds(60))
        }
        #expect(bench.error(bench.request("api.example", "/e"))?.hold?.reason == .retryAfter)

        let burst = Bench()
        for target in ["/a", "/b", "/c", "/d"] {
            burst.answer(burst.request("api.example", target), 503, pause: .seconds(60))
        }
        #expect(burst.error(burst.request("api.example", "/e")) == nil)
    }

    @Test func `who has the origin asked in any case need not wait for it, and ends the wait when it answers`() {
        var bench = Bench()
        bench.plead(["/a", "/b", "/c"], 503, pause: .seconds(60))
        var reload = bench.request("api.example", "/a")
        reload.bypassesBackoff = true
        #expect(bench.watch.refusal(of: reload, limits: bench.limits, now: bench.now) == nil)
        bench.answer(reload, 503, pause: .seconds(60))
        #expect(bench.error(bench.request("api.example", "/e")) != nil)
        bench.answer(reload, 200)
        for target in ["/e", "/a"] { #expect(bench.error(bench.request("api.example", target)) == nil) }
        // The other URLs spoke for themselves as well.
        #expect(bench.error(bench.request("api.example", "/b")) != nil)
    }

    @Test func `gateway errors of one URL stop nothing, those of several do when they last`() {
        var bench = Bench()
        for _ in 0..<9 { bench.answer(bench.request(), 502) }
        #expect(bench.error(bench.request("api.example", "/b")) == nil)
        bench.answer(bench.request("api.example", "/b"), 504)
        #expect(bench.error(bench.request("api.example", "/c")) == nil)
        bench.now += 1_000_000_000
        bench.answer(bench.request("api.example", "/b"), 504)
        #expect(bench.error(bench.request("api.example", "/c"))?.status == 503)
        #expect(bench.report.first?.lastError == "destination_unavailable: https://api.example answered 504.")
    }

    @Test func `other errors of the origin are answers`() {
        let bench = Bench()
        for number in 0..<9 { bench.answer(bench.request("api.example", "/\(number)"), 500) }
        #expect(bench.report.isEmpty)
    }

    @Test func `a malformed answer blocks nobody`() {
        let bench = Bench()
        for number in 0..<9 { bench.fail(bench.request("api.example", "/\(number)"), .protocolError) }
        #expect(bench.report.isEmpty)
        #expect(bench.error(bench.request()) == nil)
    }

    @Test func `the network is lost when several origins in a row cannot be reached, until one answers`() {
        let bench = Bench()
        for host in ["a.example", "a.example", "a.example", "localhost", "b.example"] {
            bench.fail(bench.request(host), .dnsError)
        }
        #expect(!bench.watch.isNetworkLost)
        bench.fail(bench.request("c.example"), .connectionRefused)
        #expect(!bench.watch.isNetworkLost)
        bench.fail(bench.request("c.example"), .connectionTimeout)
        #expect(bench.watch.isNetworkLost)
        #expect(bench.watch.isOutOfReach(Origin(scheme: .https, host: "d.example", port: 443), parent: nil))
        #expect(!bench.watch.isOutOfReach(Origin(scheme: .http, host: "127.0.0.1", port: 80), parent: nil))
        bench.answer(bench.request("localhost"))
        #expect(bench.watch.isNetworkLost)
        bench.answer(bench.request("d.example"))
        #expect(!bench.watch.isNetworkLost)
        #expect(bench.events.values.last == .networkBack)
    }

    @Test func `addresses that do not answer take the network from nobody whose origin did within a minute`() {
        var bench = Bench()
        func failThrice(_ code: UpstreamError.Code) {
            for host in ["a.example", "b.example", "c.example"] { bench.fail(bench.request(host), code) }
        }
        bench.answer(bench.request())
        bench.now += 59_000_000_000
        failThrice(.connectionTimeout)
        #expect(!bench.watch.isNetworkLost)
        bench.answer(bench.request("localhost"))
        bench.now += 1_000_000_000
        failThrice(.connectionTimeout)
        #expect(bench.watch.isNetworkLost)
    }

    @Test(arguments: [
        (IOError(errno: ENETUNREACH, operation: "connect"), true),
        (IOError(errno: EHOSTUNREACH, operation: "connect"), false),
        (IOError(.unreachable, errno: EAFNOSUPPORT, operation: "connect"), false),
        (IOError(.nameServerFailure, errno: ENETUNREACH, operation: "look up"), true),
        (IOError(.nameServerFailure, operation: "look up"), false),
        (IOError(.lookupTimedOut, operation: "look up"), false),
    ])
    func `a machine without a way out has lost the network within seconds, not so one that lacks the way to a host`(
        cause: IOError, isLost: Bool
    ) {
        var bench = Bench()
        let error = UpstreamError.connecting(cause, to: "it")
        bench.answer(bench.request())
        bench.now += 4_000_000_000
        for host in ["a.example", "b.example", "c.example"] { bench.fail(bench.request(host), error) }
        #expect(!bench.watch.isNetworkLost)
        bench.now += 1_000_000_000
        for host in ["a.example", "b.example", "c.example"] { bench.fail(bench.request(host), error) }
        #expect(bench.watch.isNetworkLost == isLost)
    }

    @Test func `others take the probe of no host that has answered`() {
        var bench = Bench()
        func isDue(_ host: String, isTaken: Bool = true) -> Bool {
            bench.watch.isProbeDue(
                Origin(scheme: .https, host: host, port: 443), parent: nil, of: bench.request(host), now: bench.now,
                isTaken: isTaken)
        }
        bench.answer(bench.request("api.example"))
        bench.now += 60_000_000_000
        for host in ["a.example", "b.example", "c.example"] { bench.fail(bench.request(host), .connectionTimeout) }
        bench.now += 1_000_000_000
        #expect(isDue("a.example") && !isDue("b.example"))
        #expect(isDue("api.example", isTaken: false) && isDue("api.example"))
        #expect(!isDue("api.example"))
        bench.now += NetworkHealth.interval
        #expect(isDue("api.example"))
    }

    @Test func `a connection that stands proves that the network works, though its request is never answered`() {
        let bench = Bench()
        for host in ["a.example", "b.example", "c.example"] { bench.fail(bench.request(host), .dnsError) }
        #expect(bench.watch.isNetworkLost)
        func connect(_ host: String) {
            bench.watch.connected(
                bench.request(host), ticket: OriginWatch.Ticket(), limits: bench.limits, now: bench.now)
        }
        connect("localhost")
        #expect(bench.watch.isNetworkLost)
        connect("d.example")
        #expect(!bench.watch.isNetworkLost)
        #expect(bench.events.values.last == .networkBack)
    }

    @Test func `a host with many ports is one that does not answer`() {
        let bench = Bench()
        for port: UInt16 in 80...90 {
            let origin = Origin(scheme: .https, host: "a.example", port: port)
            bench.fail(UpstreamRequest(origin: origin, head: bench.request().head), .connectionTimeout)
        }
        #expect(!bench.watch.isNetworkLost)
    }

    @Test func `an answer that there is no such name, or a parent's, does not lose the network`() {
        let bench = Bench()
        let unknown = UpstreamError.connecting(
            IOError(.nameNotFound, operation: "look up"), to: "a.example")
        let refused = UpstreamError.tunnelRefused(by: ParentAddress(host: "parent", port: 3128), to: "a.example", 503)
        for error in [unknown, refused] {
            for host in ["a.example", "b.example", "c.example", "d.example"] { bench.fail(bench.request(host), error) }
        }
        #expect(!bench.watch.isNetworkLost)
    }

    @Test func `a certificate that one trust refuses stops nobody who trusts others`() throws {
        let bench = Bench()
        for _ in 0..<3 { bench.fail(bench.request(), .tlsCertificate) }
        #expect(bench.error(bench.request()) != nil)
        var other = bench.request()
        other.tls = UpstreamTLS(
            try TLSClientContext(trustsSystem: false), serverName: nil)
        #expect(bench.error(other) == nil)
        #expect(!bench.watch.isOutOfReach(other.origin, parent: nil, tls: other.tls))
    }

    @Test func `a probe is due once for an origin that fails, and once a second for a network that is gone`() {
        var bench = Bench()
        func isDue(_ host: String) -> Bool {
            bench.watch.isProbeDue(
                bench.request(host).origin, parent: nil, of: bench.request(host), now: bench.now)
        }
        #expect(!isDue("api.example"))
        for _ in 0..<2 { bench.fail(bench.request()) }
        #expect(!isDue("api.example"))
        bench.now += 1_000_000_000
        #expect(isDue("api.example"))
        #expect(isDue("api.example"))
        #expect(bench.error(bench.request()) == nil)
        #expect(!isDue("api.example"))
        bench.answer(bench.request())
        bench.now += 1_000_000_000
        bench.answer(bench.request())
        #expect(!isDue("api.example"))

        bench.now += 60_000_000_000
        for host in ["a.example", "b.example", "c.example"] { bench.fail(bench.request(host), .dnsError) }
        #expect(!isDue("d.example"))
        bench.now += 1_000_000_000
        #expect(isDue("d.example"))
        #expect(!isDue("e.example"))
        bench.now += 1_000_000_000
        #expect(isDue("e.example"))
    }

    @Test func `however many origins fail, a bounded number is remembered, those left alone first`() {
        let bench = Bench()
        let stopped = bench.request("stopped.example")
        for _ in 0..<2 { bench.fail(stopped) }
        for number in 0..<5_000 { bench.fail(bench.request("h\(number).example")) }
        #expect(bench.report.count <= OriginWatch.limit)
        #expect(bench.error(stopped)?.hold != nil)
    }
}
