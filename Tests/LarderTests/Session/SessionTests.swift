// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderIO
import LarderTesting
import Testing

private struct Oops: Error, Equatable { let code: Int }

@Suite("Sessions")
struct SessionTests {
    private let square = AnySession<Int, Int, Oops>(single: { $0 * $0 })
    private let broken = AnySession<Int, Int, Oops> { Values(failure: Oops(code: $0)) }

    private func all<Value, Failure>(_ values: Values<Value, Failure>) async throws(Failure) -> [Value] {
        var result: [Value] = []
        for try await value in values { result.append(value) }
        return result
    }

    @Test func `SH-01 a session is a closure and can forget what it was`() async throws {
        #expect(try await square.value(for: 4) == 16)
        #expect(try await AnySession(square).value(for: 4) == 16)
        #expect(try await all(square.values(for: 3)) == [9])
        await #expect(throws: Oops(code: 7)) { try await broken.value(for: 7) }
    }

    @Test func `SH-02 nothing happens before values are wanted and each iteration is one start`() async {
        let starts = Recorder<Int>()
        let session = AnySession<Int, Int, Never> { request in
            Values(single: { () async throws(Never) -> Int in
                starts(request)
                return request
            })
        }
        let values = session.transform { $0 + 1 }.values(for: 1)
        #expect(starts.count == 0)
        #expect(await all(values) == [2])
        #expect(await all(values) == [2])
        #expect(starts.count == 2)
    }

    @Test func `SH-02 cancelling the task gives the work up`() async throws {
        let gate = HeldRequestBox()
        let session = gate.transport.session.transform { $0.body }
        let request = OutgoingRequest(url: try TargetURI("https://h/a"))
        let task = Task { try await session.value(for: request) }
        await gate.held.sent()
        task.cancel()
        await gate.held.cancelled()
        let result = await task.result
        #expect(throws: CancellationError.self) { try result.get() }
    }

    @Test func `SH-03 values are transformed and that may fail`() async throws {
        #expect(try await square.transform { $0 * 2 }.value(for: 2) == 8)
        let failing = square.transform { (value: Int) throws(Oops) -> Int in throw Oops(code: value) }
        await #expect(throws: Oops(code: 4)) { try await failing.value(for: 2) }
        let many = square.transformStream { Values([$0, $0 + 1]) }.transformStream { Values([$0, -$0]) }
        #expect(try await all(many.values(for: 2)) == [4, -4, 5, -5])
        #expect(try await square.value(for: 2) == 4)
    }

    @Test func `SH-04 errors are transformed or recovered from`() async throws {
        let other = broken.transformError { Oops(code: $0.code + 1) }
        await #expect(throws: Oops(code: 3)) { try await other.value(for: 2) }
        let recovered: AnySession<Int, Int, Never> = broken.recover { Values([$0.code, 0]) }
        #expect(await all(recovered.values(for: 5)) == [5, 0])
        let untouched: AnySession<Int, Int, Never> = square.recover { _ in Values([]) }
        #expect(await all(untouched.values(for: 3)) == [9])
    }

    @Test(arguments: [("", 0), ("a", 1), ("test", 16)])
    func `SH-05 requests are transformed`(_ text: String, _ expected: Int) async throws {
        #expect(try await square.transformRequest { (text: String) in text.count }.value(for: text) == expected)
    }

    @Test func `SH-05 a request that cannot be transformed fails before any work`() async {
        let starts = Recorder<Int>()
        let base = AnySession<Int, Int, Oops>(single: { request in
            starts(request)
            return request
        })
        let session = base.transformRequest { (text: String) throws(Oops) -> Int in
            guard let number = Int(text) else { throw Oops(code: -1) }
            return number
        }
        await #expect(throws: Oops(code: -1)) { try await session.value(for: "x") }
        #expect(starts.count == 0)
    }

    private struct Post: Sendable, Equatable { let title: String }

    @Test func `SH-06 many sessions share one base`() async throws {
        let starts = Recorder<String>()
        let base = AnySession<OutgoingRequest, IncomingResponse, any Error>(single: { request in
            starts(request.url.path)
            return IncomingResponse(response: ResponseHead(status: 200), body: Array(#"{"title":"t","name":"n"}"#.utf8))
        })
        let json = base.json().body()
        let posts = json.transform { Post(title: $0["title"]?.string ?? "") }.transformRequest { (id: Int) in
            OutgoingRequest(url: try TargetURI("https://h/posts/\(id)"))
        }
        let users = json.transform { $0["name"]?.string ?? "" }.transformRequest { (id: Int) in
            OutgoingRequest(url: try TargetURI("https://h/users/\(id)"))
        }
        #expect(try await posts.value(for: 1) == Post(title: "t"))
        #expect(try await users.value(for: 2) == "n")
        #expect(starts.values == ["/posts/1", "/users/2"])
    }

    private func messages(_ body: String, _ status: Status = 200) -> AnySession<Int, IncomingResponse, any Error> {
        AnySession(single: { _ in
            IncomingResponse(response: ResponseHead(status: status, fields: ["X-A": "1"]), body: Array(body.utf8))
        })
    }

    @Test func `SH-07 a response that is none of HTTP's is an error`() async throws {
        let anything = AnySession<Int, Message<any Sendable, Int>, any Error>(single: { request in
            let response: any Sendable = request == 0 ? ResponseHead(status: 201) : "not HTTP"
            return Message(response: response, body: request)
        })
        #expect(try await anything.http().value(for: 0)?.response.status == 201)
        await #expect(throws: SessionError.notHTTPResponse) { try await anything.http().value(for: 1) }
        #expect(SessionError.unknownError.description.count > 3)
    }

    @Test func `SH-08 octets and messages are read as JSON`() async throws {
        #expect(try await messages("[1]").body().json().value(for: 0) == [1])
        let message = try await messages("[1]").json().value(for: 0)
        #expect(message?.body == [1])
        #expect(message?.response.fields["X-A"] == "1")
        await #expect(throws: JSONSyntaxError.self) { try await messages("[").json().value(for: 0) }
        await #expect(throws: JSONResponseIsNotDictionaryOrArray.self) { try await messages("17").json().value(for: 0) }
        #expect(try await messages("17").body().json(allowsFragments: true).value(for: 0) == 17)
    }

    @Test func `SH-09 messages are taken apart`() async throws {
        #expect(try await messages("x").body().value(for: 0) == Array("x".utf8))
        let pair = try await messages("x").tuple().value(for: 0)
        #expect(pair?.0.status == 200)
        #expect(pair?.1 == Array("x".utf8))
        let message = Message(response: 1, body: "b")
        #expect(message.tuple == (1, "b"))
        #expect(message == Message(response: 1, body: "b"))
    }

    @Test func `SH-10 error statuses can be raised`() async throws {
        #expect(try await messages("x").raiseHTTPErrors().value(for: 0)?.response.status == 200)
        #expect(try await messages("x", 399).raiseHTTPErrors().value(for: 0)?.response.status == 399)
        await #expect { try await messages("x", 400).raiseHTTPErrors().value(for: 0) } throws: { error in
            let error = error as? HTTPError
            return error?.status == 400 && error?.message == "Bad Request" && error?.description == "400 Bad Request"
        }
        let custom = messages("too many cats", 418).raiseHTTPErrors { String(decoding: $0.body, as: UTF8.self) }
        await #expect { try await custom.value(for: 0) } throws: { ($0 as? HTTPError)?.message == "too many cats" }
    }

    @Test func `SH-13 the laws of transforms hold`() async throws {
        for request in -20...20 {
            let plain = try await square.value(for: request)
            #expect(try await square.transform { $0 }.value(for: request) == plain)
            #expect(try await square.transformRequest { (r: Int) in r }.value(for: request) == plain)
            let f: @Sendable (Int) -> Int = { $0 + 3 }
            let g: @Sendable (Int) -> Int = { $0 * 5 }
            let composed = square.transformRequest { (r: Int) in f(r) }.transformRequest { (r: Int) in g(r) }
            #expect(try await composed.value(for: request) == square.value(for: f(g(request))))
            let twice = square.transform { f($0) }.transform { g($0) }
            #expect(try await twice.value(for: request) == g(f(request * request)))
        }
    }
}

@Suite("Deduplicated sessions")
struct DeduplicationTests {
    /// Work that is done when the test says so.
    private final class Works: Sendable {
        private struct State {
            var starts: [Int] = []
            var waiting: [CheckedContinuation<Int?, Never>] = []
            var ends = 0
        }

        private let state = Lock(State())
        var starts: [Int] { state.withLock { $0.starts } }
        var ends: Int { state.withLock { $0.ends } }
        var waitingCount: Int { state.withLock { $0.waiting.count } }

        /// Gives each waiting piece of work its next value, nil for the end.
        func give(_ value: Int?) async {
            while waitingCount == 0 { await Task.yield() }
            let waiting = state.withLock { state in
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume(returning: value) }
        }

        var session: AnySession<Int, Int, Never> {
            AnySession { request in
                Values {
                    self.state.withLock { $0.starts.append(request) }
                    return { () async throws(Never) -> Int? in
                        await withTaskCancellationHandler {
                            await withCheckedContinuation { continuation in
                                let isOver = self.state.withLock { state in
                                    if Task.isCancelled { return true }
                                    state.waiting.append(continuation)
                                    return false
                                }
                                if isOver { continuation.resume(returning: nil) }
                            }
                        } onCancel: {
                            let waiting = self.state.withLock { state in
                                state.ends += 1
                                defer { state.waiting = [] }
                                return state.waiting
                            }
                            for continuation in waiting { continuation.resume(returning: nil) }
                        }
                    }
                }
            }
        }
    }

    private func collect(_ values: Values<Int, Never>, _ seen: Recorder<Int>) -> Task<[Int], Never> {
        Task {
            var all: [Int] = []
            for await value in values {
                seen(value)
                all.append(value)
            }
            return all
        }
    }

    @Test func `SH-11 B-40 equal requests share work and late ones get what they missed`() async {
        let works = Works()
        let session = works.session.deduplicated()
        let (first, second) = (Recorder<Int>(), Recorder<Int>())
        let one = collect(session.values(for: 1), first)
        await works.give(10)
        while first.count < 1 { await Task.yield() }
        let two = collect(session.values(for: 1), second)
        while second.count < 1 { await Task.yield() }
        await works.give(11)
        await works.give(nil)
        #expect(await one.value == [10, 11])
        #expect(await two.value == [10, 11])
        #expect(works.starts == [1])
    }

    @Test func `SH-11 different requests and later ones do their own work`() async {
        let works = Works()
        let session = works.session.deduplicated()
        let seen = Recorder<Int>()
        let one = collect(session.values(for: 1), seen)
        while works.waitingCount < 1 { await Task.yield() }
        let two = collect(session.values(for: 2), seen)
        while works.waitingCount < 2 { await Task.yield() }
        await works.give(nil)
        _ = await (one.value, two.value)
        let again = collect(session.values(for: 1), seen)
        await works.give(nil)
        _ = await again.value
        #expect(works.starts == [1, 2, 1])
    }

    @Test func `SH-11 B-40 work is given up when the last one leaves and not before`() async {
        let works = Works()
        let session = works.session.deduplicated()
        let (first, second) = (Recorder<Int>(), Recorder<Int>())
        let one = collect(session.values(for: 1), first)
        await works.give(10)
        let two = collect(session.values(for: 1), second)
        while first.count + second.count < 2 { await Task.yield() }
        one.cancel()
        _ = await one.value
        #expect(works.ends == 0)
        two.cancel()
        _ = await two.value
        while works.ends == 0 { await Task.yield() }
        let third = collect(session.values(for: 1), first)
        await works.give(nil)
        _ = await third.value
        #expect(works.starts == [1, 1])
    }

    @Test func `SH-11 work that ends at once does not wait for itself`() async throws {
        let session = AnySession<Int, Int, any Error> { Values([$0]) }.deduplicated()
        let results = try await withThrowingTaskGroup(of: Int?.self) { group in
            for _ in 0..<100 { group.addTask { try await session.value(for: 7) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results == Array(repeating: 7, count: 100))
    }

    @Test func `SH-11 a failure reaches everyone and frees the request`() async {
        let starts = Recorder<Int>()
        let session = AnySession<Int, Int, Oops>(single: { request throws(Oops) in
            starts(request)
            for _ in 0..<20 { await Task.yield() }
            throw Oops(code: request)
        }).deduplicated()
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    do throws(Oops) {
                        _ = try await session.value(for: 3)
                        return false
                    } catch {
                        return error == Oops(code: 3)
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
        let before = starts.count
        _ = try? await session.value(for: 3)
        #expect(starts.count == before + 1)
    }
}

/// One held request of a stubbed transport.
private struct HeldRequestBox {
    let transport = StubTransport()
    let held: HeldRequest
    init() { held = transport.hold(.get, "https://h/a") }
}
