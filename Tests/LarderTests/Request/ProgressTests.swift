// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("Progress")
struct ProgressTests {
    private let fixture = Fixture()

    enum Ending: String, CaseIterable { case success, unencodable, serverError, disconnected, cancelled }

    @Test(arguments: Ending.allCases)
    func `PG-01 progress ends at 1 however a request ends`(_ ending: Ending) async {
        let resource = fixture.service.resource("a")
        let reported = Recorder<Double>()
        let request: Request
        switch ending {
        case .unencodable: request = resource.request(.get, text: "漢", encoding: .ascii)
        case .success, .serverError, .disconnected, .cancelled:
            let held = fixture.transport.hold(.get, Fixture.url("a"))
            request = resource.load()
            request.onProgress { reported($0) }
            await held.sent()
            fixture.clock.advance(by: .seconds(1))
            switch ending {
            case .serverError: held.release(StubReply(500))
            case .disconnected: held.release(.failure(Disconnected()))
            case .cancelled: request.cancel()
            default: held.release()
            }
        }
        let order = Recorder<String>()
        request.onProgress { reported($0) }.onCompletion { _ in order("completed after \(reported.values.last ?? -1)") }
        _ = await request.response()
        #expect(request.progress == 1)
        #expect(reported.values.last == 1)
        #expect(order.values == ["completed after 1.0"])
        #expect(reported.values == reported.values.sorted())
    }

    @Test func `PG-02 progress is monotonic bounded and never done before it is`() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let isGet = Bool.random(using: &random)
            var estimate = ProgressEstimate(isGet: isGet)
            var counters = TransferProgress.Counters()
            let (toSend, toReceive) = (
                Int.random(in: 0...50_000, using: &random), Int.random(in: 1...500_000, using: &random)
            )
            let knowsTotals = Bool.random(using: &random)
            var last = 0.0
            var seconds = 0.0
            for step in 0..<60 {
                seconds += Double.random(in: 0...0.5, using: &random)
                if !isGet, knowsTotals, step == 5 { counters.toSend = toSend }
                if !isGet, step > 5, counters.sent < toSend { counters.sent = min(toSend, counters.sent + 5_000) }
                if step > 30 {
                    if knowsTotals { counters.toReceive = toReceive }
                    counters.received += Int.random(in: 0...30_000, using: &random)
                    if knowsTotals { counters.received = min(counters.received, toReceive - 1) }
                }
                let value = estimate.update(counters, at: seconds)
                #expect(value >= last && value >= 0)
                #expect(value < 1 || (knowsTotals && counters.received >= toReceive - 1))
                last = value
            }
        }
    }

    @Test func `PG-02 progress rises while waiting and does not jump when something becomes known`() {
        var estimate = ProgressEstimate(isGet: true)
        var counters = TransferProgress.Counters()
        var values = (0...20).map { estimate.update(counters, at: Double($0) * 0.1) }
        #expect(zip(values, values.dropFirst()).allSatisfy { $0 < $1 })
        let waited = values.last ?? 0
        counters.received = 1
        values.append(estimate.update(counters, at: 2.0))
        #expect(abs((values.last ?? 0) - waited) < 0.01)
        counters.toReceive = 1_000
        let known = estimate.update(counters, at: 2.0)
        #expect(abs(known - waited) < 0.01)
        counters.received = 500
        let half = estimate.update(counters, at: 2.0)
        #expect(half > known + 0.1)
        counters.received = 1_000
        let all = estimate.update(counters, at: 2.0)
        #expect(all > half && all <= 1)
        counters.received = 5_000
        #expect(estimate.update(counters, at: 2.0) <= 1)
    }

    @Test func `PG-02 time does not count while octets are sent`() {
        var estimate = ProgressEstimate(isGet: false)
        var counters = TransferProgress.Counters(sent: 10, toSend: 1_000)
        let before = estimate.update(counters, at: 1)
        #expect(estimate.update(counters, at: 100) == before)
        counters.sent = 500
        #expect(estimate.update(counters, at: 101) > before)
    }

    @Test func `PG-03 progress is told at its interval and before completion to observers too`() async {
        fixture.service.configure { $0.progressReportingInterval = .seconds(1) }
        let (resource, recorder) = fixture.observed("a")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = resource.load()
        await held.sent()
        fixture.clock.advance(by: .milliseconds(999))
        #expect(recorder.progress.isEmpty)
        fixture.clock.advance(by: .milliseconds(1))
        #expect(fixture.clock.scheduledCount == 1)
        held.progress {
            $0.toReceive = 100
            $0.received = 50
        }
        fixture.clock.advance(by: .seconds(1))
        #expect(recorder.progress.count <= 2)
        held.release()
        _ = await request.response()
        #expect(recorder.progress.last == 1)
        #expect(recorder.progress == recorder.progress.sorted())
        #expect(recorder.events.last == "newData(network)")
        #expect(fixture.clock.scheduledCount == 0)
    }

    @Test func `PG-03 progress can be iterated`() async {
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = fixture.service.resource("a").load()
        let updates = request.progressUpdates
        await held.sent()
        held.release()
        var last = 0.0
        for await value in updates { last = value }
        #expect(last == 1)
    }

    @Test func `B-36 a chain has the progress of the link that runs and never goes back`() async {
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let reported = Recorder<Double>()
        let request = fixture.service.resource("a").request(.get)
        let chain = request.chained { _ in .useThisResponse }.onProgress { reported($0) }
        await held.sent()
        for _ in 0..<10 { fixture.clock.advance(by: .milliseconds(100)) }
        #expect(reported.count > 1)
        #expect(reported.values == reported.values.sorted())
        held.release()
        _ = await chain.response()
        #expect(reported.values.last == 1)
    }

    @Test func `PG-03 progress is told once, however often observers come and go`() async {
        fixture.service.configure { $0.progressReportingInterval = .seconds(1) }
        let resource = fixture.service.resource("a")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let recorder = EventRecorder()
        var request: Request?
        for _ in 0..<3 {
            resource.addObserver(recorder, owner: recorder)
            request = request ?? resource.load()
            resource.removeObservers(ownedBy: recorder)
        }
        resource.addObserver(recorder, owner: recorder)
        await held.sent()
        for received in 1...4 {
            held.progress {
                $0.toReceive = 100
                $0.received = received * 20
            }
            fixture.clock.advance(by: .seconds(1))
        }
        held.release()
        _ = await request?.response()
        #expect(Set(recorder.progress).count == recorder.progress.count)
        #expect(recorder.progress.last == 1)
    }
}
