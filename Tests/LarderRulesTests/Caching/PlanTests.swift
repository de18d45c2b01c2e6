// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@testable import LarderRules

@Suite("What becomes of a request")
struct PlanTests {
    struct Known: OriginOutlook {
        var standing = OriginStanding.asked
        var isProbeDue = false
        var failure: RecentFailure?
        var hold: OriginHold?
    }

    private static let minute = StoredResponse.stored(.ok("Cache-Control: max-age=60", "ETag: \"a\""))
    private static let strict = StoredResponse.stored(.ok("Cache-Control: max-age=60, must-revalidate", "ETag: \"a\""))
    private static let circuit = OriginHold(reason: .circuitOpen, remaining: .seconds(1))
    private static let pause = OriginHold(reason: .retryAfter, remaining: .seconds(1), status: 503)

    private func failure(_ failure: UpstreamFailure = .disconnected, until: Double = 999) -> RecentFailure {
        RecentFailure(at: .at(0), retryAt: .at(until), failure: failure)
    }

    private func plan(
        _ request: RequestHead, _ stored: StoredResponse..., at: Double = 70, policy: CachePolicy = CachePolicy(),
        by known: Known
    ) -> Plan {
        Plan.decide(request, stored, policy: policy, now: .at(at)) { known }
    }

    private func asking(_ cacheControl: String) -> RequestHead { .get("Cache-Control: " + cacheControl) }

    private static let staleSelection = ReuseDecision.Selection(index: 0, age: .seconds(70), ttl: .seconds(-10))

    @Test func `what is fresh answers, and nobody looks at the origin`() {
        var isAsked = false
        let plan = Plan.decide(.get(), [Self.minute], policy: CachePolicy(), now: .at(1)) {
            isAsked = true
            return Known(standing: .offline)
        }
        #expect(plan.action == .answer(.init(index: 0, age: .seconds(1), ttl: .seconds(59))))
        #expect(!isAsked && plan.wait == nil && !plan.refreshes && !plan.asksOrigin)
    }

    @Test func `what is stale is validated where nothing keeps the origin from being asked`() {
        let plan = plan(.get(), Self.minute, by: Known())
        #expect(plan.action == .validate(Self.staleSelection, .stale))
        #expect(plan.asksOrigin)
        #expect(CacheStatus(plan)?.member() == "Larder; fwd=stale")
    }

    @Test func `what may be used while it is validated is, and the validation follows`() {
        let stored = StoredResponse.stored(.ok("Cache-Control: max-age=60, stale-while-revalidate=60"))
        let plan = plan(.get(), stored, by: Known())
        #expect(plan.action == .answerStale(Self.staleSelection, .staleWhileRevalidate))
        #expect(plan.refreshes && plan.wait == nil)
        let held = self.plan(.get(), stored, by: Known(hold: Self.circuit))
        #expect(held.action == plan.action)
        #expect(!held.refreshes && held.wait == nil)
    }

    @Test func `parts are completed`() {
        let part = StoredResponse.stored(
            ResponseHead(
                status: 206,
                fields: Fields(lines: ["Cache-Control: max-age=60", "Content-Range: bytes 0-4/10", "ETag: \"a\""])),
            length: 5)
        let plan = plan(.get(), part, at: 1, by: Known())
        #expect(plan.action == .forward(.partial, fallback: nil))
        #expect(plan.parts == 0)
    }

    // MARK: Failures

    @Test func `after a failure stale data answer, as far as that failure allows it`() {
        let plan = plan(.get(), Self.minute, by: Known(failure: failure()))
        #expect(plan.wait?.cause == .retryTime)
        #expect(plan.wait?.stale == Self.staleSelection)
        #expect(CacheStatus(plan)?.member() == "Larder; hit; ttl=-10; detail=retry-time")
        let strict = self.plan(.get(), Self.strict, by: Known(failure: failure()))
        #expect(strict.wait == Plan.Wait(cause: .retryTime))
        let answered = self.plan(.get(), Self.minute, by: Known(failure: failure(.status(502))))
        #expect(answered.wait == Plan.Wait(cause: .retryTime))
        #expect(!answered.asksOrigin)
    }

    @Test func `an old failure, or a client that says how it wants it, asks the origin`() {
        #expect(plan(.get(), Self.minute, by: Known(failure: failure(until: 70))).wait == nil)
        #expect(plan(asking("max-age=5"), Self.minute, by: Known(failure: failure())).wait == nil)
        #expect(plan(.get("Pragma: foo"), Self.minute, by: Known(failure: failure())).wait == nil)
    }

    @Test func `a failure of its own comes before what is known of the origin`() {
        #expect(plan(.get(), by: Known(failure: failure(), hold: Self.circuit)).wait?.cause == .retryTime)
        #expect(
            plan(asking("no-store"), by: Known(failure: failure(), hold: Self.circuit)).wait?.cause
                == .held(Self.circuit))
    }

    @Test func `an origin that is left alone is covered by stale data, within bounds if it could be asked`() {
        let open = plan(.get(), Self.minute, by: Known(hold: Self.circuit))
        #expect(open.wait?.stale == Self.staleSelection)
        #expect(CacheStatus(open)?.member() == "Larder; hit; ttl=-10; detail=circuit-open")
        let paused = plan(.get(), Self.minute, by: Known(hold: Self.pause))
        #expect(paused.wait == Plan.Wait(cause: .held(Self.pause)))
        #expect(CacheStatus(paused)?.member() == "Larder; detail=retry-after")
        let bounds = CachePolicy.with { $0.staleIfError = .seconds(10) }
        let lenient = plan(.get(), Self.minute, policy: bounds, by: Known(hold: Self.pause))
        #expect(lenient.wait?.stale == Self.staleSelection)
    }

    // MARK: Offline

    @Test func `offline, what is stored answers and nothing else does`() {
        let offline = Known(standing: .offline, isProbeDue: true)
        let stale = plan(.get(), Self.minute, by: offline)
        #expect(stale.action == .answerStale(Self.staleSelection, .offline))
        #expect(!stale.refreshes)
        #expect(plan(.get(), by: offline).action == .refuse(.offline))
        let fresh = plan(asking("no-cache"), Self.minute, at: 1, by: offline)
        #expect(fresh.action == .answer(.init(index: 0, age: .seconds(1), ttl: .seconds(59))))
    }

    @Test func `what was chosen later comes before what is configured`() {
        let policy = CachePolicy.with { $0.offline = true }
        let plan = plan(asking("no-cache"), Self.minute, at: 1, policy: policy, by: Known())
        #expect(plan.action == .validate(.init(index: 0, age: .seconds(1), ttl: .seconds(59)), .request))
    }

    @Test func `out of reach, one that has something to lose is answered, one that has not finds out`() {
        let (due, early) = (Known(standing: .outOfReach, isProbeDue: true), Known(standing: .outOfReach))
        #expect(plan(.get(), Self.minute, by: due).action == .answerStale(Self.staleSelection, .offline))
        #expect(plan(.get(), Self.minute, by: due).refreshes)
        #expect(!plan(.get(), Self.minute, by: early).refreshes)
        #expect(plan(.get(), by: due).action == .forward(.uriMiss, fallback: nil))
        #expect(plan(.get(), by: early).action == .refuse(.offline))
        #expect(plan(asking("no-cache"), Self.minute, by: early).action == .validate(Self.staleSelection, .stale))
        let held = Known(standing: .outOfReach, isProbeDue: true, hold: Self.pause)
        #expect(!plan(.get(), Self.minute, by: held).refreshes)
        #expect(plan(.get(), by: held).action == .refuse(.offline))
    }

    // MARK: Loads without a client

    @Test func `a load that is made only if needed is not made by a fresh response, or right after a failure`() {
        #expect(plan(.get(), Self.minute, at: 1, by: Known()).isUpToDate)
        #expect(plan(.get(), Self.minute, at: 1, by: Known(standing: .offline)).isUpToDate)
        #expect(plan(.get(), Self.minute, by: Known(failure: failure())).isUpToDate)
        #expect(!plan(.get(), Self.minute, by: Known(failure: failure(until: 70))).isUpToDate)
        #expect(!plan(.get(), Self.minute, by: Known(hold: Self.circuit)).isUpToDate)
        #expect(!plan(.get(), Self.minute, by: Known(standing: .offline, failure: failure())).isUpToDate)
        #expect(!Plan.passing(.bypass, outlook: Known(failure: failure())).isUpToDate)
    }

    /// Data with an `expirationTime` of a minute, and a failure at 10 that is tried again from 20 on.
    @Test(arguments: [
        ("never loaded", false, false, false, 1, false),
        ("younger than its lifetime", true, false, false, 59.999, true),
        ("as old as its lifetime", true, false, false, 60, true),
        ("older than its lifetime", true, false, false, 60.000001, false),
        ("before the clock was set back", true, false, false, -2, false),
        ("invalidated", true, false, true, 1, false), ("failed just now", false, true, false, 10, true),
        ("failed after it was loaded", true, true, false, 19.999, true),
        ("as old as retryTime", true, true, false, 20, true),
        ("to be tried again, whatever the data", true, true, false, 20.000001, false),
        ("failed before the clock was set back", true, true, false, 8, false),
        ("failed and invalidated", false, true, true, 10, false),
    ])
    func `RS-07 what a program has by itself is up to date by the model`(
        _ label: String, _ hasData: Bool, _ hasFailed: Bool, _ isInvalidated: Bool, _ now: Double, _ expected: Bool
    ) {
        let policy = CachePolicy.with {
            $0.expirationTime = .seconds(60)
            $0.expirationMode = .override
        }
        let plan = Plan.decide(
            data: hasData ? .stored(.ok("Cache-Control: no-cache"), policy: policy) : nil,
            failure: hasFailed ? RecentFailure(at: .at(10), retryAt: .at(20), failure: .disconnected) : nil,
            isInvalidated: isInvalidated, policy: policy, now: .at(now))
        #expect(plan.isUpToDate == expected, "\(label): \(plan)")
    }

    @Test func `a request has the origin asked for a failure that the clock was set back to before`() {
        let failed = RecentFailure(at: .at(100), retryAt: .at(110), failure: .disconnected)
        #expect(!plan(.get(), at: 105, by: Known(failure: failed)).asksOrigin)
        #expect(plan(.get(), at: 110, by: Known(failure: failed)).asksOrigin)
        #expect(plan(.get(), at: 98, by: Known(failure: failed)).asksOrigin)
    }

    @Test func `a refresh ahead of time asks an origin with which all is well`() {
        func refresh(_ known: Known) -> Plan {
            Plan.refreshing(0, of: [Self.minute], for: .get(), policy: CachePolicy(), now: .at(1), outlook: known)
        }
        #expect(refresh(Known()).action == .validate(.init(index: 0, age: .seconds(1), ttl: .seconds(59)), .request))
        #expect(refresh(Known()).asksOrigin)
        for known in [
            Known(standing: .offline), Known(standing: .outOfReach, isProbeDue: true), Known(failure: failure()),
            Known(hold: Self.circuit),
        ] { #expect(!refresh(known).asksOrigin) }
    }

    // MARK: By what is stored

    @Test func `a request that goes by what is stored is sent unless the origin is not asked`() {
        let post = Plan.passing(.method, outlook: Known(failure: failure()))
        #expect(post.action == .forward(.method, fallback: nil))
        #expect(post.asksOrigin)
        #expect(Plan.passing(.bypass, outlook: Known(standing: .outOfReach)).asksOrigin)
        #expect(Plan.passing(.bypass, outlook: Known(standing: .offline)).action == .refuse(.offline))
        let held = Plan.passing(.method, outlook: Known(hold: Self.circuit))
        #expect(CacheStatus(held)?.member() == "Larder; detail=circuit-open")
    }
}
