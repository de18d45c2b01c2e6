// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderIO
import LarderTesting
import Testing

@Suite("Requests")
struct RequestTests {
    private let fixture = Fixture()
    private var resource: Resource { fixture.service.resource("a") }

    private func sent(_ request: Request) async -> OutgoingRequest? {
        _ = await request.response()
        return fixture.transport.sent.last
    }

    @Test(arguments: ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "REPORT"])
    func `RQ-01 B-17 HT-14 every method works and may bring nothing`(_ name: String) async {
        let method = Method(name)!
        fixture.transport.reply(method, Fixture.url("a"), StubReply(204, [.contentType: "application/json"]))
        let info = await resource.request(method).response()
        #expect(fixture.transport.sent.last?.method == method)
        #expect(info.response.entity?.typedContent() == [UInt8]())
        #expect(!info.response.isFailure)
    }

    enum Outcome: String, CaseIterable { case new, notModified, failure, cancelled }

    /// A request that has that outcome, or will have it.
    private func request(_ outcome: Outcome) async -> Request {
        let resource = resource
        let request: Request
        switch outcome {
        case .new:
            fixture.reply("a", .text("x"))
            request = resource.load()
        case .notModified:
            fixture.reply("a", .text("x", [.eTag: "\"1\""]), StubReply(304))
            _ = await resource.load().response()
            request = resource.load()
        case .failure:
            fixture.reply("a", StubReply(500))
            request = resource.load()
        case .cancelled:
            let held = fixture.transport.hold(.get, Fixture.url("a"))
            request = resource.load()
            await held.sent()
            request.cancel()
        }
        return request
    }

    /// Attaches a hook of each kind.
    private func attach(to request: Request, _ called: @escaping @Sendable (String) -> Void) {
        request.onCompletion { _ in called("completion") }
            .onSuccess { _ in called("success") }
            .onNewData { _ in called("newData") }
            .onNotModified { called("notModified") }
            .onFailure { called($0.isCancellation ? "cancellation" : "failure") }
    }

    @Test(arguments: Outcome.allCases)
    func `RQ-02 each outcome calls the hooks that are for it`(_ outcome: Outcome) async {
        let called = Recorder<String>()
        let request = await request(outcome)
        attach(to: request) { called($0) }
        _ = await request.response()
        let expected =
            switch outcome {
            case .new: ["completion", "success", "newData"]
            case .notModified: ["completion", "success", "notModified"]
            case .failure: ["completion", "failure"]
            case .cancelled: ["completion", "cancellation"]
            }
        #expect(called.values == expected)
    }

    @Test func `RQ-03 hooks are called once in order and never while they are attached`() async {
        let order = Recorder<String>()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = resource.request(.get)
        for number in 1...3 { request.onCompletion { _ in order("\(number)") } }
        await held.sent()
        #expect(order.count == 0)
        held.release()
        _ = await request.response()
        #expect(order.values == ["1", "2", "3"])
        // Attached to what is complete already: called soon, and not by the call that attaches.
        let late = Recorder<String>()
        let thread = Lock(pthread_t?.none)
        await withCheckedContinuation { continuation in
            thread.withLock { $0 = pthread_self() }
            request.onCompletion { _ in
                late(thread.withLock { $0 } == pthread_self() ? "by the call" : "late")
            }.onCompletion { _ in continuation.resume() }
            thread.withLock { $0 = nil }
        }
        #expect(late.values == ["late"])
        #expect(order.count == 3)
        #expect(request.onSuccess { _ in } === request)
    }

    @Test(arguments: Outcome.allCases)
    func `RQ-03 late hooks are called as early ones are, once each, and by no call that attaches them`(
        _ outcome: Outcome
    ) async {
        let (early, late) = (Recorder<String>(), Recorder<String>())
        let request = await request(outcome)
        attach(to: request) { early($0) }
        _ = await request.response()
        #expect(early.count >= 2)
        let thread = Lock(pthread_t?.none)
        for round in 1...2 {
            await withCheckedContinuation { continuation in
                thread.withLock { $0 = pthread_self() }
                attach(to: request) { name in
                    late(thread.withLock { $0 } == pthread_self() ? "\(name), by the call" : name)
                }
                request.onCompletion { _ in continuation.resume() }
                thread.withLock { $0 = nil }
            }
            #expect(late.values == Array(repeating: early.values, count: round).flatMap(\.self))
        }
        #expect(early.count * 2 == late.count)
    }

    @Test func `RQ-03 a hook attached by a hook comes after what was waiting`() async {
        let order = Recorder<String>()
        let request = Request.hardWired(returning: ResponseInfo(.success(.text("x"))))
        await withCheckedContinuation { continuation in
            request.onCompletion { _ in
                order("first")
                request.onCompletion { _ in
                    order("nested")
                    continuation.resume()
                }
                order("still first")
            }
        }
        #expect(order.values == ["first", "still first", "nested"])
    }

    @Test func `RQ-04 RQ-05 the caller's changes come after fields and before mutators`() async {
        fixture.service.configure {
            $0.fields["X"] = "configured"
            $0.mutateRequests { $0.fields["Seen"] = $0.fields["X"] }
            $0.mutateRequests { $0.fields["Y"] = ($0.fields["Y"] ?? "") + "2" }
        }
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        let request = await sent(
            resource.request(.post, text: "body") {
                #expect($0.fields["X"] == "configured")
                $0.fields["X"] = "mine"
                $0.fields["Y"] = "1"
            })
        #expect(request?.fields["Seen"] == "mine")
        #expect(request?.fields["Y"] == "12")
        #expect(request?.body == Array("body".utf8))
    }

    @Test func `RQ-05 mutators can change fields body and method of each request`() async {
        let nonces = Recorder<Int>()
        fixture.service.configure(methods: [.get]) {
            $0.mutateRequests { request in
                nonces(1)
                request.fields["Nonce"] = String(nonces.count)
                request.body = Array("changed".utf8)
                request.method = .post
            }
        }
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        let first = await sent(resource.request(.get))
        let second = await sent(resource.request(.get))
        #expect(first?.fields["Nonce"] == "1")
        #expect(second?.fields["Nonce"] == "2")
        #expect(first?.method == .post)
        #expect(first?.body == Array("changed".utf8))
    }

    @Test func `RQ-05 a mutator digests the content that is sent, after those before it, each time`() async {
        let nonces = Recorder<Int>()
        let resource = resource
        fixture.service.configure {
            $0.mutateRequests { request in
                nonces(1)
                request.body = (request.body ?? []) + Array(" #\(nonces.count)".utf8)
            }
            $0.mutateRequests { $0.fields["Content-Digest"] = Self.digest($0.method, $0.body) }
        }
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        fixture.transport.reply(.get, Fixture.url("a"), StubReply())
        let written = resource.request(.post, text: "body")
        let made: [(String, () -> Request)] = [
            ("body #1", { written }), ("body #2", { written.repeated() }), (" #3", { resource.load() }),
        ]
        for (content, make) in made {
            let request = await sent(make().start())
            #expect(request?.body == Array(content.utf8))
            #expect(request?.fields["Content-Digest"] == request.map { Self.digest($0.method, $0.body) })
        }
        #expect(Set(fixture.transport.sent.map { $0.fields["Content-Digest"] }).count == 3)
    }

    /// Depends on each octet and on its place.
    private static func digest(_ method: Method, _ octets: [UInt8]?) -> String {
        let sum = (Array(method.token.utf8) + (octets ?? [])).reduce(UInt64(5381)) { $0 &* 33 &+ UInt64($1) }
        return String(sum, radix: 16)
    }

    @Test func `RQ-06 a changed method keeps old mutators and gets new decorators`() async {
        let calls = Recorder<String>()
        for method in [Method.get, .post] {
            fixture.service.configure(methods: [method]) {
                $0.mutateRequests {
                    calls("mutate \(method)")
                    $0.method = .post
                }
                $0.decorateRequests { _, request in
                    calls("decorate \(method)")
                    return request
                }
                $0.fields["X"] = method.token
            }
        }
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        let request = await sent(resource.request(.get))
        #expect(calls.values == ["mutate GET", "decorate POST"])
        #expect(request?.fields["X"] == "GET")
    }

    @Test func `RQ-07 RQ-08 octets and text are sent with their types`() async {
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        let data = await sent(resource.request(.post, data: [1, 2, 3], contentType: "application/x"))
        #expect(data?.body == [1, 2, 3])
        #expect(data?.fields[.contentType] == "application/x")
        let text = await sent(resource.request(.post, text: "ý"))
        #expect(text?.body == Array("ý".utf8))
        #expect(text?.fields[.contentType] == "text/plain; charset=utf-8")
        let latin = await sent(resource.request(.post, text: "ý", contentType: "text/x", encoding: .isoLatin1))
        #expect(latin?.body == [0xFD])
        #expect(latin?.fields[.contentType] == "text/x; charset=iso-8859-1")
        let failed = await resource.request(.post, text: "漢", encoding: .ascii).response()
        #expect(failed.response.cause is UnencodableText)
        #expect(fixture.transport.sent.count == 3)
    }

    @Test func `RQ-09 JSON is sent if it is an object or array`() async {
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        let json = await sent(resource.request(.post, json: ["a": [1, true, nil, "\"\n"]]))
        #expect(json?.body == Array(#"{"a":[1,true,null,"\"\n"]}"#.utf8))
        #expect(json?.fields[.contentType] == "application/json")
        let decorated = Recorder<Int>()
        fixture.service.configure {
            $0.decorateRequests { _, request in
                decorated(1)
                return request
            }
        }
        let request = resource.request(.post, json: 17)
        #expect(request.state == .completed)
        let failed = await request.response()
        #expect(failed.response.cause is InvalidJSONObject)
        #expect(decorated.count == 0)
        #expect(resource.allRequests.isEmpty)
    }

    @Test(arguments: [
        (["foo": "bar", "how": "now", "brown": "cow"], "brown=cow&foo=bar&how=now"),
        (["f••": "b r", "℥=&": "ℌℑ=&"], "%E2%84%A5%3D%26=%E2%84%8C%E2%84%91%3D%26&f%E2%80%A2%E2%80%A2=b%20r"),
        (["a/b": "?"], "a/b=?"), ([:], ""),
    ])
    func `RQ-10 forms are escaped and sorted`(_ parameters: [String: String], _ expected: String) async {
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        let form = await sent(resource.request(.post, urlEncoded: parameters))
        #expect(form?.body.map { String(decoding: $0, as: UTF8.self) } == expected)
        #expect(form?.fields[.contentType] == "application/x-www-form-urlencoded")
    }

    @Test func `RQ-10 a form with a nameless parameter is refused`() async {
        let info = await resource.request(.post, urlEncoded: ["": "x"]).response()
        #expect(info.response.cause is NotURLEncodable)
    }

    @Test func `RQ-11 the content type of a request has an order of precedence`() async {
        fixture.transport.reply(.post, Fixture.url("a"), StubReply())
        fixture.service.configure { $0.fields[.contentType] = "configured" }
        #expect(await sent(resource.request(.post))?.fields[.contentType] == "configured")
        #expect(await sent(resource.request(.post, data: [1], contentType: "helper"))?.fields[.contentType] == "helper")
        let mutated = resource.request(.post, data: [1], contentType: "helper") { $0.fields[.contentType] = "ad hoc" }
        #expect(await sent(mutated)?.fields[.contentType] == "ad hoc")
        fixture.service.configure { $0.mutateRequests { $0.fields[.contentType] = "mutator" } }
        let all = resource.request(.post, data: [1], contentType: "helper") { $0.fields[.contentType] = "ad hoc" }
        #expect(await sent(all)?.fields[all: .contentType] == ["mutator"])
    }

    @Test func `RQ-20 a repetition is unstarted fresh and without consequences`() async {
        let token = Recorder<String>()
        token("1")
        let decorated = Recorder<Int>()
        let mutated = Recorder<Int>()
        fixture.service.configure {
            $0.fields["Token"] = token.values.last
            $0.mutateRequests { _ in mutated(1) }
            $0.decorateRequests { _, request in
                decorated(1)
                return request
            }
        }
        fixture.reply("a", .text("first"), .text("second"))
        let resource = resource
        let hooked = Recorder<Int>()
        let request = resource.load().onCompletion { _ in hooked(1) }
        _ = await request.response()
        token("2")
        fixture.service.invalidateConfiguration()
        let again = request.repeated()
        #expect(again.state == .notStarted)
        #expect(fixture.transport.sent.count == 1)
        let info = await again.start().response()
        #expect(info.response.entity?.text == "second")
        #expect(fixture.transport.sent.map { $0.fields["Token"] } == ["1", "2"])
        #expect(mutated.count == 2)
        #expect(decorated.count == 1)
        #expect(hooked.count == 1)
        #expect(resource.text == "first")
        #expect(request.info?.response.entity?.text == "first")
    }

    @Test func `RQ-20 so is that of a load that was made as one was needed`() async {
        let decorated = Recorder<Int>()
        fixture.service.configure {
            $0.decorateRequests { _, request in
                decorated(1)
                return request
            }
        }
        fixture.reply("a", .text("first"), .text("second"))
        let request = resource.loadIfNeeded()
        _ = await request?.response()
        #expect(await request?.repeated().start().response().response.entity?.text == "second")
        #expect(decorated.count == 1 && resource.text == "first")
    }

    @Test func `RQ-21 a request goes through its states once`() async {
        let starts = Recorder<Int>()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let deferred = Recorder<Request>()
        fixture.service.configure {
            $0.decorateRequests { _, request in
                starts(1)
                deferred(request)
                return request.repeatedHolder
            }
        }
        let returned = resource.request(.get)
        #expect(returned.state == .inProgress)
        let original = deferred.values[0]
        #expect(original.state == .notStarted)
        original.start().start()
        await held.sent()
        #expect(original.state == .inProgress)
        held.release()
        _ = await original.response()
        #expect(original.state == .completed)
        original.start()
        #expect(original.state == .completed)
        #expect(fixture.transport.sent.count == 1)
    }

    @Test func `RQ-22 cancelling completes at once and only if there is something to cancel`() async {
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let running = resource.request(.get)
        await held.sent()
        running.cancel()
        #expect(running.state == .completed)
        #expect(running.info?.response.isCancellation == true)
        await held.cancelled()
        fixture.reply("a", .text("x"))
        let done = resource.request(.get)
        _ = await done.response()
        done.cancel()
        #expect(done.info?.response.isFailure == false)
        let unstarted = done.repeated()
        unstarted.cancel()
        #expect(unstarted.start().info?.response.isCancellation == true)
        #expect(fixture.transport.sent.count == 2)
    }

    @Test func `RQ-23 hard-wired requests are born completed`() async {
        let info = ResponseInfo(.success(.text("wired")))
        let wired = resource.hardWiredRequest(returning: info)
        #expect(wired.state == .completed)
        #expect(wired.progress == 1)
        #expect(wired.repeated() === wired)
        wired.start()
        wired.cancel()
        let result = await wired.response()
        #expect(result.response.entity?.text == "wired")
        #expect(result.isNew)
        let failed = Request.failed(returning: RequestError(userMessage: "no", timestamp: fixture.clock.now))
        #expect(await failed.response().response.error?.userMessage == "no")
        #expect(fixture.transport.sent.isEmpty)
    }

    @Test func `a waiting task that is cancelled leaves the request alone`() async {
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = resource.request(.get)
        let waiter = Task { await request.response() }
        await held.sent()
        waiter.cancel()
        #expect(request.state == .inProgress)
        held.release(.text("x"))
        #expect(await waiter.value.response.entity?.text == "x")
    }
}

extension Request {
    /// Another request that never completes by itself, in whose place nothing is started.
    fileprivate var repeatedHolder: Request { Request.prepare(using: Idle()) }
}

/// Never completes by itself.
private final class Idle: RequestDelegate {
    private let kept = Recorder<RequestCompletion>()
    func startUnderlyingOperation(_ completion: RequestCompletion) { kept(completion) }
    func cancelUnderlyingOperation() {}
    func repeated() -> any RequestDelegate { Idle() }
}

@Suite("Requests with a logic of their own")
struct RequestDelegateTests {
    private final class Manual: RequestDelegate {
        let completions = Recorder<RequestCompletion?>()
        let cancels = Recorder<Int>()
        let repetitions = Recorder<Manual>()
        let keeps: Bool
        init(keeps: Bool = true) { self.keeps = keeps }
        func startUnderlyingOperation(_ completion: RequestCompletion) { completions(keeps ? completion : nil) }
        func cancelUnderlyingOperation() { cancels(1) }
        func repeated() -> any RequestDelegate {
            let other = Manual()
            repetitions(other)
            return other
        }
        func computeProgress() -> Double { 0.25 }
        var requestDescription: String { "manual" }
    }

    private let info = ResponseInfo(.success(.text("custom")))

    @Test func `RQ-24 a delegate starts when the request does and completes it`() async {
        let delegate = Manual()
        let request = Request.prepare(using: delegate)
        #expect(request.state == .notStarted)
        #expect(delegate.completions.count == 0)
        #expect(request.start() === request.start())
        #expect(delegate.completions.count == 1)
        #expect(request.state == .inProgress)
        delegate.completions.values[0]?.complete(info)
        #expect(await request.response().response.entity?.text == "custom")
        #expect(request.description == "manual (completed)")
    }

    @Test func `RQ-24 only the first completion counts`() async {
        let delegate = Manual()
        let hooks = Recorder<String>()
        let request = Request.prepare(using: delegate).start()
        request.onCompletion { hooks($0.response.entity?.text ?? "none") }
        let completion = delegate.completions.values[0]
        #expect(completion?.willBeIgnored == false)
        completion?.complete(info)
        #expect(completion?.willBeIgnored == true)
        completion?.complete(ResponseInfo(.success(.text("second"))))
        request.cancel()
        #expect(await request.response().response.entity?.text == "custom")
        await withCheckedContinuation { continuation in request.onCompletion { _ in continuation.resume() } }
        #expect(hooks.values == ["custom"])
        #expect(delegate.cancels.count == 0)
    }

    @Test func `RQ-24 cancelling tells the delegate, and what it completes with then is ignored`() async {
        let delegate = Manual()
        let request = Request.prepare(using: delegate).start()
        request.cancel()
        #expect(delegate.cancels.count == 1)
        #expect(delegate.completions.values[0]?.willBeIgnored == true)
        delegate.completions.values[0]?.complete(info)
        #expect(await request.response().response.error?.isCancellation == true)
        request.cancel()
        #expect(delegate.cancels.count == 1)
        let unstarted = Manual()
        Request.prepare(using: unstarted).cancel()
        #expect(unstarted.cancels.count == 0)
    }

    @Test func `RQ-22 a delegate that is cancelled while it starts is told once it has started`() {
        final class Late: RequestDelegate {
            let told = Recorder<String>()
            let during = Recorder<@Sendable () -> Void>()
            func startUnderlyingOperation(_ completion: RequestCompletion) {
                during.values.first?()
                told("started")
            }
            func cancelUnderlyingOperation() { told("cancelled") }
            func repeated() -> any RequestDelegate { Late() }
        }
        let delegate = Late()
        let request = Request.prepare(using: delegate)
        delegate.during { request.cancel() }
        request.start()
        #expect(delegate.told.values == ["started", "cancelled"])
        #expect(request.info?.response.error?.isCancellation == true)
    }

    @Test func `RQ-24 a repetition has a delegate of its own`() {
        let delegate = Manual()
        let request = Request.prepare(using: delegate).start()
        let repeated = request.repeated()
        #expect(repeated.state == .notStarted && delegate.repetitions.count == 1)
        repeated.start()
        #expect(delegate.completions.count == 1)
        #expect(delegate.repetitions.values[0].completions.count == 1)
        delegate.repetitions.values[0].completions.values[0]?.complete(info)
        #expect(repeated.state == .completed && request.state == .inProgress)
    }

    @Test func `RQ-24 a delegate that lets go of its completion fails the request`() async {
        let request = Request.prepare(using: Manual(keeps: false), clock: ManualClock(seconds: 7)).start()
        let error = await request.response().response.error
        #expect(error?.cause is AbandonedByDelegate && error?.timestamp == Timestamp(seconds: 7))
    }
}
