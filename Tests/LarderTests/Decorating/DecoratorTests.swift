// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Larder
import LarderIO
import LarderTesting
import Testing

@Suite("Decorators and chains")
struct DecoratorTests {
    private let fixture = Fixture()
    private var resource: Resource { fixture.service.resource("a") }

    private func decorate(_ decorator: @escaping RequestDecorator) {
        fixture.service.configure { $0.decorateRequests(decorator) }
    }

    private static func info(_ text: String) -> ResponseInfo { ResponseInfo(.success(.text(text))) }

    @Test func `RQ-12 every request is decorated with its resource`() async {
        let seen = Recorder<String>()
        decorate { resource, request in
            seen("\(resource.url) \(request.state)")
            return request
        }
        fixture.reply("a", .text("x"))
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        _ = await resource.load().response()
        _ = await resource.request(.post).response()
        #expect(seen.values == Array(repeating: "https://api.example/v1/a notStarted", count: 2))
    }

    @Test func `RQ-13 a decorator can watch for refusals`() async {
        let prompts = Recorder<String>()
        decorate { resource, request in
            request.onFailure { if $0.status == 401 { prompts("log in for \(resource.url)") } }
        }
        fixture.reply("a", StubReply(401))
        _ = await resource.load().response()
        #expect(prompts.values == ["log in for https://api.example/v1/a"])
    }

    @Test func `RQ-13 hooks of decorators come before the state changes and those of callers after`() async {
        let order = Recorder<String>()
        let resource = resource
        decorate { resource, request in request.onCompletion { _ in order("decorator \(resource.text)") } }
        fixture.reply("a", .text("x"))
        let token = resource.observe { _, event in order("observer \(event)") }
        _ = await resource.load().onCompletion { _ in order("caller \(resource.text)") }.response()
        #expect(
            order.values == [
                "observer observerAdded", "observer requested", "decorator ", "observer newData(network)", "caller x",
            ])
        withExtendedLifetime(token) {}
    }

    @Test func `observers that hear of a load while it begins may load`() async throws {
        let attempts = Recorder<Void>()
        let resource = resource
        decorate { resource, request in
            attempts(())
            return attempts.count > 1 ? request : resource.hardWiredRequest(returning: Self.info("early"))
        }
        fixture.reply("a", .text("x"))
        let loads = Recorder<Request>()
        let token = resource.observe { _, event in
            guard case .newData = event, loads.count == 0 else { return }
            loads(resource.load())
        }
        #expect(try await resource.load().entity().text == "early")
        for load in loads.values { #expect(try await load.entity().text == "x") }
        #expect(loads.count == 1)
        withExtendedLifetime(token) {}
    }

    @Test func `RQ-14 a decorator can cancel before anything is sent`() async {
        decorate { _, request in
            request.cancel()
            return request
        }
        let info = await resource.load().response()
        #expect(info.response.isCancellation)
        #expect(fixture.transport.sent.isEmpty)
    }

    @Test func `RQ-14 a decorator can put another request in the place of one`() async {
        decorate { resource, _ in resource.hardWiredRequest(returning: Self.info("substitute")) }
        let resource = resource
        _ = await resource.load().response()
        #expect(resource.text == "substitute")
        #expect(fixture.transport.sent.isEmpty)
    }

    @Test func `RQ-14 decorators run in order each on what the last returned`() async {
        let order = Recorder<String>()
        decorate { resource, _ in
            order("first")
            return resource.hardWiredRequest(returning: Self.info("one"))
        }
        decorate { _, request in
            order("second \(request.info?.response.entity?.text ?? "-")")
            return request
        }
        _ = await resource.load().response()
        #expect(order.values == ["first", "second one"])
    }

    @Test func `RQ-14 a request that was replaced never starts`() async {
        let original = Recorder<Request>()
        decorate { resource, request in
            original(request)
            return resource.hardWiredRequest(returning: Self.info("other"))
        }
        _ = await resource.load().response()
        #expect(original.values.map(\.state) == [.notStarted])
        #expect(resource.allRequests.isEmpty)
    }

    @Test func `RQ-15 a decorator can defer a request`() async {
        let gate = Gate()
        let opening = Request.prepare(using: gate)
        decorate { _, request in opening.chained { _ in .passTo(request) } }
        fixture.reply("a", .text("x"))
        let resource = resource
        let request = resource.load()
        #expect(fixture.transport.sent.isEmpty)
        #expect(resource.isLoading)
        gate.open()
        _ = await request.response()
        #expect(resource.text == "x")
    }

    @Test func `RQ-16 a chain can use the response it has or another or another request`() async {
        let resource = resource
        fixture.reply("a", .text("x"))
        fixture.reply("b", .text("y"))
        let other = fixture.service.resource("b")
        let kept = await resource.request(.get).chained { _ in .useThisResponse }.response()
        #expect(kept.response.entity?.text == "x")
        let replaced = await resource.request(.get).chained { _ in .useResponse(Self.info("z")) }.response()
        #expect(replaced.response.entity?.text == "z")
        let passed = await resource.request(.get).chained { _ in .passTo(other.request(.get)) }.response()
        #expect(passed.response.entity?.text == "y")
    }

    @Test func `RS-11 a confirmation that a decorator makes counts like the origin's own`() async {
        let resource = resource
        decorate { _, request in
            request.chained { info in
                guard case .success(let entity) = info.response else { return .useThisResponse }
                return .useResponse(ResponseInfo(.success(entity), isNew: info.isNew))
            }
        }
        fixture.reply("a", .text("x", [.eTag: "\"1\""]), StubReply(500), StubReply(304))
        _ = await resource.load().response()
        _ = await resource.load().response()
        #expect(resource.latestError?.status == 500)
        resource.invalidate()
        fixture.clock.advance(by: .seconds(50))
        _ = await resource.load().response()
        #expect(resource.latestError == nil)
        #expect(resource.timestamp == Timestamp(seconds: 1_050))
        #expect(resource.isUpToDate)
        #expect(resource.text == "x")
    }

    @Test func `RQ-16 a chain starts what it wraps and leaves its hooks alone`() async {
        fixture.reply("a", .text("x"))
        let request = resource.request(.get)
        _ = await request.response()
        let again = request.repeated()
        let order = Recorder<String>()
        again.onCompletion { _ in order("wrapped") }
        let chain = again.chained { _ in .useResponse(Self.info("z")) }
        #expect(chain.state == .notStarted)
        chain.start()
        #expect(again.state == .inProgress || again.state == .completed)
        #expect(await chain.response().response.entity?.text == "z")
        #expect(order.values == ["wrapped"])
        #expect(again.info?.response.entity?.text == "x")
    }

    @Test func `RQ-17 cancelling a chain cancels what it wraps and decides nothing`() async {
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let decisions = Recorder<Int>()
        let request = resource.request(.get)
        let chain = request.chained { _ in
            decisions(1)
            return .useThisResponse
        }
        await held.sent()
        chain.cancel()
        #expect(chain.info?.response.isCancellation == true)
        #expect(request.info?.response.isCancellation == true)
        await held.cancelled()
        _ = await request.response()
        #expect(decisions.count == 0)
    }

    @Test func `RQ-17 cancelling what is wrapped is a failure like any other`() async {
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = resource.request(.get)
        let chain = request.chained { info in
            info.response.isCancellation ? .useResponse(Self.info("saved")) : .useThisResponse
        }
        await held.sent()
        request.cancel()
        #expect(await chain.response().response.entity?.text == "saved")
    }

    @Test func `RQ-17 B-07 cancelling a chain cancels the link that is running`() async {
        fixture.reply("a", .text("x"))
        let held = fixture.transport.hold(.get, Fixture.url("b"))
        let second = fixture.service.resource("b")
        let link = Recorder<Request>()
        let chain = resource.request(.get).chained { _ in
            let next = second.request(.get)
            link(next)
            return .passTo(next)
        }
        await held.sent()
        chain.cancel()
        #expect(link.values.first?.info?.response.isCancellation == true)
        await held.cancelled()
    }

    @Test func `RQ-18 repeating a chain applies its logic afresh`() async {
        fixture.reply("a", .text("x"))
        let decisions = Recorder<Int>()
        let inner = resource.request(.get).chained { _ in
            decisions(1)
            return .useThisResponse
        }
        let outerDecisions = Recorder<Int>()
        let outer = inner.chained { _ in
            outerDecisions(1)
            return .useThisResponse
        }
        _ = await outer.response()
        _ = await inner.repeated().start().response()
        #expect(decisions.count == 2)
        #expect(outerDecisions.count == 1)
        _ = await outer.repeated().start().response()
        #expect(decisions.count == 3)
        #expect(outerDecisions.count == 2)
        #expect(fixture.transport.sent.count == 3)
    }

    @Test func `B-25 a chain that passes to its own repetition ends`() async {
        fixture.reply("a", StubReply(401), .text("x"))
        let request = resource.request(.get)
        let chain = request.chained { info in
            info.response.error?.status == 401 ? .passTo(request.repeated()) : .useThisResponse
        }
        #expect(await chain.response().response.entity?.text == "x")
    }

    @Test func `B-27 failures that pass are retried with growing waits`() async {
        fixture.service.configure { $0.retry(RetryPolicy(limit: 2, delay: .seconds(1), jitter: 0)) }
        fixture.reply("a", StubReply(503), .failure(Disconnected()), .text("x"))
        let resource = resource
        let request = resource.load()
        for wait in [1, 2] {
            while fixture.clock.scheduledCount == 0 { await Task.yield() }
            let count = fixture.transport.sent.count
            fixture.clock.advance(by: .milliseconds(wait * 1_000 - 1))
            #expect(fixture.transport.sent.count == count)
            fixture.clock.advance(by: .milliseconds(1))
        }
        _ = await request.response()
        #expect(resource.text == "x")
        #expect(fixture.transport.sent.count == 3)
    }

    @Test func `B-27 all attempts have one bound together`() async {
        fixture.service.configure {
            $0.retry(RetryPolicy(limit: 9, delay: .seconds(10), within: .seconds(15), jitter: 0))
        }
        fixture.reply("a", StubReply(503), StubReply(504), .text("x"))
        let request = resource.request(.get)
        while fixture.clock.scheduledCount == 0 { await Task.yield() }
        fixture.clock.advance(by: .seconds(10))
        // Another wait of ten seconds would end too late.
        #expect(await request.response().response.error?.status == 504)
        #expect(fixture.transport.sent.count == 2)
    }

    @Test func `B-27 a clock may run what is due at once`() async {
        struct Hasty: ModelClock {
            var now: Timestamp { Timestamp(seconds: 1_000) }
            func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
                if delay == .zero { action() }
                return ScheduledAction {}
            }
        }
        let transport = StubTransport()
        let service = Service("test", baseURL: Fixture.base, transport: transport, clock: Hasty())
        service.configure { $0.retry(RetryPolicy(limit: 2, delay: .zero, jitter: 0)) }
        transport.reply(.get, Fixture.url("a"), StubReply(503), StubReply(503), .text("x"))
        #expect(await service.resource("a").load().response().response.entity?.text == "x")
    }

    @Test(arguments: [(Method.post, Status(503)), (.get, 404), (.get, 500)])
    func `B-27 what may happen twice or will not pass is not retried`(_ method: Method, _ status: Status) async {
        fixture.service.configure { $0.retry() }
        fixture.transport.reply(method, Fixture.url("a"), StubReply(status))
        let info = await resource.request(method).response()
        #expect(info.response.error?.status == status)
        #expect(fixture.transport.sent.count == 1)
    }

    @Test func `B-27 retries end with the last failure and its number`() async {
        fixture.service.configure { $0.retry(RetryPolicy(limit: 1, delay: .seconds(1), jitter: 0)) }
        fixture.reply("a", StubReply(503))
        let request = resource.request(.get)
        while fixture.clock.scheduledCount == 0 { await Task.yield() }
        fixture.clock.advance(by: .seconds(1))
        let info = await request.response()
        #expect(info.response.error?.status == 503)
        #expect(info.response.error?.attempt == 2)
        #expect(fixture.transport.sent.count == 2)
    }

    @Test func `B-26 RQ-19 two hundred refusals lead to one refresh`() async {
        let sent = Recorder<String>()
        let origin = ClosureTransport { request, _ in
            sent(request.url.path)
            let type: Fields = [.contentType: "text/plain"]
            if request.url.path == "/token" {
                for _ in 0..<50 { await Task.yield() }
                return IncomingResponse(response: ResponseHead(status: 200, fields: type), body: Array("new".utf8))
            }
            let isGood = request.fields[.authorization] == "new"
            return IncomingResponse(
                response: ResponseHead(status: isGood ? 200 : 401, fields: type), body: Array("x".utf8))
        }
        let service = Service(baseURL: "https://api.example", transport: origin)
        let refresh = TokenRefresh(
            token: "old", makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        service.configure("**") {
            $0.fields[.authorization] = refresh.token
            $0.decorateRequests(refresh.decorate)
        }
        let successes = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask { await !service.resource("r\(number)").load().response().response.isFailure }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(successes == 200)
        #expect(sent.values.count { $0 == "/token" } == 1)
        #expect(refresh.token == "new")
    }

    @Test func `RQ-19 loads that a hook of the request for a token begins are decorated, its next link is not`() async {
        let began = Recorder<Request>()
        let asked = Recorder<Void>()
        fixture.transport.reply(.post, Fixture.url("name"), StubReply.text("me"))
        fixture.transport.reply(.post, Fixture.url("token"), .text("t1"), .text("t2"))
        fixture.reply("a", StubReply(401), .text("a"))
        fixture.reply("b", StubReply(401), .text("b"))
        let refresh = TokenRefresh(
            makeRequest: { service in
                service.resource("name").request(.post).onSuccess { _ in
                    if began.count == 0 { began(service.resource("b").load()) }
                }.chained { _ in .passTo(service.resource("token").request(.post)) }
            }, readToken: { $0.text })
        decorate { resource, request in
            if resource.url.string.hasSuffix("token") { asked(()) }
            return refresh.decorate(resource, request)
        }
        #expect(await resource.load().response().response.entity?.text == "a")
        #expect(await began.values.first?.response().response.entity?.text == "b")
        #expect(asked.count > 0)
    }

    @Test func `RQ-19 a request that is built while the token is replaced is repeated without another refresh`() async {
        let refresh = TokenRefresh(
            token: "old", makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        fixture.transport.reply(.post, Fixture.url("token"), .text("new"), .text("newer"))
        for path in ["a", "b"] { fixture.reply(path, StubReply(401), .text("in")) }
        let (isBuilding, isReplaced) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        fixture.service.configure("**") {
            $0.fields[.authorization] = refresh.token
            $0.mutateRequests { request in
                guard request.url.path == "/v1/b", request.fields[.authorization] == "old" else { return }
                isBuilding.signal()
                isReplaced.wait()
            }
            $0.decorateRequests(refresh.decorate)
        }
        let other = fixture.service.resource("b")
        async let late = handedOver { tell in
            DispatchQueue.global().async { other.load().onCompletion { tell($0) } }
        }
        await handedOver { tell in DispatchQueue.global().async { tell(isBuilding.wait()) } }
        #expect(await resource.load().response().response.entity?.text == "in")
        isReplaced.signal()
        #expect(await late.response.entity?.text == "in")
        #expect(refresh.token == "new")
    }

    @Test func `RQ-19 RQ-17 whoever gives up waiting for a token leaves the others waiting`() async {
        let held = fixture.transport.hold(.post, Fixture.url("token"))
        for path in ["a", "b"] { fixture.reply(path, StubReply(401), .text("in")) }
        let refresh = TokenRefresh(makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        decorate(refresh.decorate)
        let loads = ["a", "b"].map { fixture.service.resource($0).load() }
        await held.sent()
        while fixture.transport.sent.count < 3 { await Task.yield() }
        // The second refusal is followed by a few steps that nobody is told of.
        for _ in 0..<2_000 { await Task.yield() }
        loads[0].cancel()
        #expect(await loads[0].response().response.isCancellation)
        held.release(.text("t"))
        #expect(await loads[1].response().response.entity?.text == "in")
        #expect(refresh.token == "t")
    }

    @Test func `RQ-19 when nobody waits for a token any longer it is not asked for`() async {
        let held = fixture.transport.hold(.post, Fixture.url("token"))
        for path in ["a", "b"] { fixture.reply(path, StubReply(401)) }
        let refresh = TokenRefresh(makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        decorate(refresh.decorate)
        let loads = ["a", "b"].map { fixture.service.resource($0).load() }
        await held.sent()
        while fixture.transport.sent.count < 3 { await Task.yield() }
        for load in loads { load.cancel() }
        await held.cancelled()
    }

    @Test func `B-26 each of those that share a request can give up alone`() async {
        let flight = SingleFlight()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let requests = (0..<3).map { _ in flight.request { self.resource.load() } }
        await held.sent()
        requests[1].cancel()
        held.release(.text("x"))
        for index in [0, 2] { #expect(await requests[index].response().response.entity?.text == "x") }
        #expect(fixture.transport.sent.count == 1)
        fixture.reply("a", .text("y"))
        #expect(await flight.request { self.resource.load() }.response().response.entity?.text == "y")
    }

    @Test func `RQ-19 a token request that is refused itself is the failure`() async {
        fixture.reply("a", StubReply(401))
        fixture.transport.reply(.post, Fixture.url("token"), StubReply(401, body: "no such user"))
        let refresh = TokenRefresh(makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        decorate(refresh.decorate)
        let info = await resource.load().response()
        #expect(info.response.error?.status == 401)
        #expect(info.response.error?.url?.string == Fixture.url("token"))
        #expect(fixture.transport.sent.count == 2)
    }

    @Test func `RQ-19 what is asked for after a refresh is decorated like all else`() async {
        for path in ["a", "b"] { fixture.reply(path, StubReply(401), .text(path)) }
        fixture.transport.reply(.post, Fixture.url("token"), .text("t"))
        let refresh = TokenRefresh(makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        decorate(refresh.decorate)
        let details = Recorder<Request>()
        let load = resource.load().onSuccess { _ in
            fixture.clock.advance(by: .seconds(1))
            details(fixture.service.resource("b").load())
        }
        await load.response()
        while details.values.isEmpty { await Task.yield() }
        #expect(await details.values[0].response().response.entity?.text == "b")
    }

    @Test func `RQ-18 RQ-19 a repeated request refreshes the token again`() async {
        fixture.reply("a", StubReply(401), .text("one"))
        fixture.transport.reply(.post, Fixture.url("token"), .text("t"))
        let refresh = TokenRefresh(makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        decorate(refresh.decorate)
        let load = resource.load()
        #expect(await load.response().response.entity?.text == "one")
        fixture.clock.advance(by: .seconds(1))
        fixture.reply("a", StubReply(401), .text("two"))
        #expect(await load.repeated().start().response().response.entity?.text == "two")
        #expect(fixture.transport.sent.count { $0.url.path == "/v1/token" } == 2)
    }

    @Test func `RQ-19 one refusal after a refresh is final`() async {
        fixture.reply("a", StubReply(401))
        fixture.transport.reply(.post, Fixture.url("token"), .text("t"))
        let refresh = TokenRefresh(makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        decorate(refresh.decorate)
        let info = await resource.load().response()
        #expect(info.response.error?.status == 401)
        #expect(fixture.transport.sent.map(\.url.path) == ["/v1/a", "/v1/token", "/v1/a"])
    }

    @Test(arguments: [true, false]) func `RQ-19 an origin that refuses all is asked for one token a second`(
        hasToken: Bool
    ) async {
        fixture.reply("a", StubReply(401))
        fixture.transport.reply(.post, Fixture.url("token"), hasToken ? .text("t") : StubReply(503))
        let refresh = TokenRefresh(makeRequest: { $0.resource("token").request(.post) }, readToken: { $0.text })
        decorate(refresh.decorate)
        var logins: [Int] = []
        for wait in [Duration.zero, .milliseconds(999), .milliseconds(1)] {
            fixture.clock.advance(by: wait)
            for _ in 0..<5 { #expect(await resource.load().response().response.isFailure) }
            logins.append(fixture.transport.sent.count { $0.url.path == "/v1/token" })
        }
        #expect(logins == [1, 1, 2])
    }
}

/// Completes when it is opened.
private final class Gate: RequestDelegate {
    private let waiting = Recorder<RequestCompletion>()

    func open() {
        for completion in waiting.values { completion.complete(ResponseInfo(.success(.text("open")))) }
    }

    func startUnderlyingOperation(_ completion: RequestCompletion) { waiting(completion) }
    func cancelUnderlyingOperation() {}
    func repeated() -> any RequestDelegate { Gate() }

    @Test(
        arguments: [
            { resource, request in resource.loadIfNeeded() ?? request },
            { resource, _ in resource.load() },
            { resource, request in
                request.chained { _ in resource.loadIfNeeded().map { .passTo($0) } ?? .useThisResponse }
            },
            { _, request in
                let own = Lock<Request?>(nil)
                let chain = request.chained { _ in own.withLock { $0 }.map { .passTo($0) } ?? .useThisResponse }
                own.withLock { $0 = chain }
                return chain
            },
            { resource, request in request.chained { _ in .passTo(resource.load()) } },
            { resource, request in request.chained { _ in .passTo(resource.request(.get)) } },
            { resource, _ in resource.request(.get) },
            { resource, request in
                request.chained { _ in .passTo(resource.prepareRequest(using: Asking { resource.load() })) }
            },
            { resource, request in
                request.chained { _ in
                    .passTo(resource.service.resource("b").request(.post).chained { _ in .passTo(resource.load()) })
                }
            },
            { resource, _ in resource.prepareRequest(using: Asking { resource.loadIfNeeded() }) },
            { resource, _ in resource.prepareRequest(using: Asking { resource.load() }) },
        ] as [RequestDecorator], [false, true])
    func `RQ-15 a decorator that waits for its own load fails and says so`(
        _ decorator: @escaping RequestDecorator, onlyIfNeeded: Bool
    ) async {
        let fixture = Fixture()
        fixture.reply("a", .text("apples"))
        fixture.service.configure("/a") { $0.decorateRequests(decorator) }
        let resource = fixture.service.resource("a")
        let load = onlyIfNeeded ? resource.loadIfNeeded() : resource.load()
        guard case .failure(let error)? = await load?.response().response else {
            Issue.record("it is loaded")
            return
        }
        #expect("\(error)".contains("waits for itself"), "\(error)")
        #expect(!resource.isLoading && resource.latestError != nil)
        #expect(fixture.transport.sent.count <= 2)
    }

    @Test func `RQ-15 decorators that pass to each other's loads fail and name both`() async {
        let fixture = Fixture()
        for (path, other) in [("a", "b"), ("b", "a")] {
            fixture.reply(path, .text(path))
            fixture.service.configure(GlobPattern(stringLiteral: path)) {
                $0.decorateRequests { resource, request in
                    request.chained { _ in .passTo(resource.service.resource(other).load()) }
                }
            }
        }
        let info = await fixture.service.resource("a").load().response()
        #expect(info.response.error?.cause is CircularWait)
        let (a, b) = (Fixture.url("a"), Fixture.url("b"))
        #expect(info.response.error?.userMessage.contains("'load of \(a)' → 'load of \(b)' → 'load of \(a)'") == true)
        #expect(fixture.transport.sent.count == 2)
    }
}
