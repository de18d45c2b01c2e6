// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderIO
import LarderTesting
import Testing

@Suite("Chains of many links")
struct ChainTests {
    /// Succeeds as soon as it is started.
    private struct Instant: RequestDelegate {
        func startUnderlyingOperation(_ completion: RequestCompletion) { completion.complete(ChainTests.info) }
        func cancelUnderlyingOperation() {}
        func repeated() -> any RequestDelegate { Instant() }
    }

    /// Succeeds when it is told to.
    private final class Pending: RequestDelegate {
        let completion = Recorder<RequestCompletion>()
        let cancels = Recorder<Int>()
        func startUnderlyingOperation(_ completion: RequestCompletion) { self.completion(completion) }
        func cancelUnderlyingOperation() { cancels(1) }
        func repeated() -> any RequestDelegate { Pending() }
        func computeProgress() -> Double { 0.25 }
        func succeed() { completion.values.first?.complete(ChainTests.info) }
    }

    private struct Weak: Sendable {
        weak var request: Request?
    }

    private static let info = ResponseInfo(.success(.text("at last")))
    private let clock = ManualClock()
    private let pending = Pending()

    /// Asks again and again; the last time `pending` is asked. `made` is called with each link.
    private func poll(
        _ request: Request, times: Int, _ made: @escaping @Sendable (Request, Int) -> Void = { _, _ in }
    ) -> Request {
        let left = Lock(times)
        @Sendable func link(_ request: Request) -> Request {
            let chain = request.chained { _ in
                let number = left.withLock { left in
                    left -= 1
                    return left
                }
                return .passTo(number > 0 ? link(request.repeated()) : Request.prepare(using: pending, clock: clock))
            }
            made(chain, left.withLock { $0 })
            return chain
        }
        return link(request)
    }

    private enum End: CaseIterable { case success, progress, cancellation }

    @Test(arguments: End.allCases)
    private func `RQ-16 RQ-17 a chain may have 100000 links`(_ end: End) async {
        let fractions = Recorder<Double>()
        let chain = poll(Request.prepare(using: Instant(), clock: clock), times: 100_000)
        chain.onProgress { fractions($0) }.start()
        #expect(chain.state == .inProgress)
        switch end {
        case .success: pending.succeed()
        case .progress:
            clock.advance(by: .seconds(1))
            #expect(fractions.values == [0.25])
            pending.succeed()
        case .cancellation:
            chain.cancel()
            #expect(pending.cancels.count == 1)
        }
        #expect(await chain.response().response.isCancellation == (end == .cancellation))
    }

    @Test func `RQ-16 links that complete at once need not be repetitions`() async {
        let left = Lock(100_000)
        @Sendable func link() -> Request {
            Request.prepare(using: Instant(), clock: clock).chained { _ in
                let isLast = left.withLock { left in
                    left -= 1
                    return left == 0
                }
                return isLast ? .useThisResponse : .passTo(link())
            }
        }
        #expect(await link().start().response().response.entity?.text == "at last")
    }

    @Test func `RQ-16 a chain keeps none of the links that are done`() {
        let links = Recorder<Weak>()
        let chain = poll(Request.prepare(using: Instant(), clock: clock), times: 100) { link, _ in
            links(Weak(request: link))
        }
        chain.start()
        #expect(links.count == 100)
        #expect(links.values.count { $0.request != nil } == 1)
        #expect(chain.state == .inProgress)
        pending.succeed()
    }

    @Test func `RQ-16 each link of a chain comes to what the last one does`() async {
        let (links, told) = (Recorder<Request>(), Recorder<String>())
        let dropped = Recorder<Weak>()
        let chain = poll(Request.prepare(using: Instant(), clock: clock), times: 100) { link, number in
            switch number {
            case 50..<80: links(link)
            case 20: link.onCompletion { told("early \($0.response.entity?.text ?? "")") }
            default: dropped(Weak(request: link))
            }
        }
        chain.start()
        // Nobody but its hook holds it from here on.
        Weak(request: links.values[3]).request?.onCompletion { told("late \($0.response.entity?.text ?? "")") }
        #expect(links.values.allSatisfy { $0.state == .inProgress })
        pending.succeed()
        for link in links.values { #expect(await link.response().response.entity?.text == "at last") }
        _ = await chain.response()
        #expect(told.values.sorted() == ["early at last", "late at last"])
        #expect(dropped.values.allSatisfy { $0.request == nil || $0.request === chain })
    }

    @Test func `RQ-03 a hook of a link that is let go after it has passed on is called`() async {
        let (link, told) = (Lock<Request?>(nil), Recorder<String>())
        let chain = poll(Request.prepare(using: Instant(), clock: clock), times: 3) { made, number in
            if number == 2 { link.withLock { $0 = made } }
        }
        chain.start()
        weak let gone = link.withLock { $0 }
        link.withLock { $0 }?.onCompletion { told($0.response.entity?.text ?? "") }
        link.withLock { $0 = nil }
        #expect(gone != nil)
        pending.succeed()
        _ = await chain.response()
        #expect(told.values == ["at last"])
        #expect(gone == nil)
    }

    @Test func `RQ-17 cancelling a link in the middle cancels the last one, and the chain fails so`() async {
        let link = Lock<Request?>(nil)
        let chain = poll(Request.prepare(using: Instant(), clock: clock), times: 10) { made, number in
            if number == 5 { link.withLock { $0 = made } }
        }
        chain.start()
        link.withLock { $0 }?.cancel()
        #expect(pending.cancels.count == 1)
        #expect(await chain.response().response.isCancellation)
    }

    @Test func `RQ-17 B-07 a chain that is cancelled while it decides cancels the link that it chose`() async {
        let own = Lock<Request?>(nil)
        let next = Request.prepare(using: pending, clock: clock).start()
        let chain = Request.prepare(using: Instant(), clock: clock).chained { _ in
            own.withLock { $0 }?.cancel()
            return .passTo(next)
        }
        own.withLock { $0 = chain }
        #expect(await chain.start().response().response.isCancellation)
        #expect(next.info?.response.isCancellation == true)
        #expect(pending.cancels.count == 1)
        own.withLock { $0 = nil }
    }

    @Test func `RQ-17 cancelling a chain that has not been started cancels what it wraps`() {
        let request = Request.prepare(using: pending, clock: clock)
        let chain = request.chained { _ in .useThisResponse }.chained { _ in .useThisResponse }
        chain.cancel()
        #expect(request.info?.response.isCancellation == true)
        #expect(pending.completion.count == 0)
    }
}
