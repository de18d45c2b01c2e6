// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderPeers
import LarderProxy
import LarderTesting
import Testing

/// What decorators see of a daemon's requests, and what they make of them.
@Suite("Scenarios: decorators in Swift")
struct HostedDecoratorScenarios {
    private static let passing = "Cache-Control: no-store"

    private func run(
        configuring configure: @escaping @Sendable (Service) -> Void,
        _ body: (Scenario, Service) async throws -> Void
    ) async throws {
        try await HostedConfigurationScenarios.run(configuring: configure, body)
    }

    private static func entity(_ text: String) -> AnyEntity {
        Entity(content: text as any Sendable, contentType: "text/plain", timestamp: Timestamp(seconds: 1_000))
    }

    /// A request that ends when the test says so.
    private final class Held: RequestDelegate {
        let started = Recorder<RequestCompletion>()

        func startUnderlyingOperation(_ completion: RequestCompletion) { started(completion) }
        func cancelUnderlyingOperation() {}
        func repeated() -> any RequestDelegate { self }
    }

    // MARK: Giving up

    @Test(arguments: [false, true])
    func `RQ-16 what is not chosen is given up, though it has yet to come`(hasHead: Bool) async throws {
        let (held, kept) = (Held(), Recorder<Request>())
        try await run { service in
            service.configure("/a") {
                $0.decorateRequests { resource, request in
                    kept.add(request.start())
                    return resource.prepareRequest(using: held)
                }
            }
        } _: { (scene, _) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            if hasHead { try await request.send("HTTP/1.1 200 OK", "Content-Length: 10", content: "apple") }
            try await eventually("the decorator decides") { held.started.count == 1 }
            await scene.proxy.settle()
            held.started.values[0].complete(ResponseInfo(.success(Self.entity("mine"))))
            #expect(try await client.response().text == "mine")
            _ = try await request.wire.end()
            let given = await kept.values[0].response()
            #expect(given.response.isCancellation)
        }
    }

    @Test func `RQ-16 RQ-17 a decorator may cancel the request and answer itself`() async throws {
        let sent = Recorder<Request>()
        try await run { service in
            service.configure("/a") {
                $0.decorateRequests { _, request in
                    sent.add(request)
                    return request.chained { info in
                        guard info.response.isCancellation else { return .useThisResponse }
                        return .useResponse(ResponseInfo(.success(Self.entity("mine"))))
                    }
                }
            }
        } _: { (scene, service) async throws in
            for isProgram in [false, true] {
                let client = try await scene.client()
                let load = isProgram ? service.resource("/a").load() : nil
                if !isProgram { try await client.get(scene.url("/a")) }
                let request = try await scene.origin.request()
                sent.values.last?.cancel()
                if let load {
                    #expect(try await load.entity().content as? String == "mine")
                } else {
                    #expect(try await client.response().text == "mine")
                }
                _ = try await request.wire.end()
            }
        }
    }

    @Test(arguments: [0, 100, 205, 304, 600])
    func `RQ-16 an answer of a decorator has a status that ends a request`(_ status: Int) async throws {
        try await run { service in
            service.configure("/a") {
                $0.decorateRequests { resource, _ in
                    let held = Held()
                    let request = resource.prepareRequest(using: held)
                    var own = Self.entity("mine")
                    own.status = Status(status)
                    let answer = own
                    _ = request.start()
                    held.started.values.first?.complete(ResponseInfo(.success(answer)))
                    return request
                }
            }
        } _: { (scene, _) async throws in
            let answer = try await scene.get("/a")
            #expect(answer.status == (status == 205 ? 205 : 502))
            #expect(status == 205 ? answer.text.isEmpty : answer.text.contains("Let it answer with a status from 200"))
        }
    }

    @Test func `RQ-17 a request that a decorator cancels is cancelled, not failed`() async throws {
        try await run { service in
            service.configure("/a") {
                $0.decorateRequests { _, request in
                    request.cancel()
                    return request
                }
            }
        } _: { (scene, service) async throws in
            let resource = service.resource("/a")
            let events = Recorder<String>()
            let token = resource.observe { _, event in events.add(event.description) }
            let ended = await resource.load().response()
            #expect(ended.response.isCancellation)
            try await eventually("it is heard") { events.count == 3 }
            #expect(try await scene.get("/a").status == 502)
            try await eventually("that is heard too") { events.count == 5 }
            #expect(
                events.values
                    == ["observerAdded", "requested", "requestCancelled", "requested", "requestCancelled"])
            #expect(resource.latestError == nil && scene.origin.count(of: "/a") == 0)
            withExtendedLifetime(token) {}
        }
    }

    // MARK: Failures

    @Test(arguments: [true, false])
    func `RQ-14 what fails for a passing reason is repeated as the program says`(isRefused: Bool) async throws {
        let seen = Recorder<String>()
        try await run { service in
            service.configure(methods: [.get, .post]) {
                $0.decorateRequests { _, request in
                    request.onFailure { error in
                        let url = error.url.map { "\($0.string.suffix(2))" }
                        seen.add("\(error.method?.token ?? "none") \(url ?? "none") \(error.attempt)")
                    }
                }
                $0.retry(RetryPolicy(limit: 2, delay: .zero))
            }
        } _: { (scene, service) async throws in
            scene.origin.answer { head in
                if scene.origin.count(of: head.target) % 3 == 0 { return .ok(Self.passing, content: "apples") }
                return isRefused ? .response(503, Self.passing, content: "busy") : "nonsense\r\n\r\n"
            }
            #expect(try await scene.getStored("/a").text == "apples")
            #expect(seen.values == ["GET /a 1"])
            #expect(try await service.resource("/b").load().entity().content as? [UInt8] == Array("apples".utf8))
            #expect(scene.origin.count(of: "/a") == 3 && scene.origin.count(of: "/b") == 3)
            // What may have been done is not done again.
            let client = try await scene.client()
            try await client.send("POST \(scene.url("/c")) HTTP/1.1", "Host: x", "Content-Length: 0")
            #expect(try await client.response(to: "POST").status == (isRefused ? 503 : 502))
            #expect(scene.origin.count(of: "/c") == 1 && seen.values.last == "POST /c 1")
        }
    }

    // MARK: What is chosen

    @Test func `RQ-16 a response that was changed, or is of another request, is what clients get`() async throws {
        let saved = Lock<ResponseInfo?>(nil)
        try await run { service in
            service.configure("/changed") {
                $0.decorateRequests { _, request in
                    request.chained { info in
                        var changed = info
                        changed.response = .success(Self.entity("changed"))
                        return .useResponse(changed)
                    }
                }
            }
            service.configure("/saved") {
                $0.decorateRequests { _, request in
                    request.chained { info in
                        .useResponse(
                            saved.withLock { saved in
                                saved = saved ?? info
                                return saved ?? info
                            })
                    }
                }
            }
        } _: { (scene, service) async throws in
            scene.origin.answer { head in
                .ok(Self.passing, content: "\(head.target) \(scene.origin.count(of: head.target))")
            }
            #expect(try await scene.getStored("/changed").text == "changed")
            let changed = try await service.resource("/changed").load().entity()
            #expect(changed.content as? String == "changed")
            for _ in 0..<2 { #expect(try await scene.getStored("/saved").text == "/saved 1") }
            let same = try await service.resource("/saved").load().entity()
            #expect(same.content as? [UInt8] == Array("/saved 1".utf8))
            #expect(scene.origin.count(of: "/saved") == 3)
        }
    }

    @Test(arguments: ["changed", "made anew"])
    func `RQ-16 a response that is changed without its content is refused`(_ how: String) async throws {
        try await run { service in
            service.configure {
                $0.decorateRequests { _, request in
                    request.chained { info in
                        guard case .success(var entity) = info.response else { return .useThisResponse }
                        entity.fields["X-Seen"] = "yes"
                        guard how == "changed" else { return .useResponse(ResponseInfo(.success(entity))) }
                        var changed = info
                        changed.response = .success(entity)
                        return .useResponse(changed)
                    }
                }
            }
        } _: { (scene, _) async throws in
            let long = String(repeating: "o", count: (1 << 20) + 1)
            scene.origin.answer { head in .ok(Self.passing, content: head.target == "/long" ? long : "short") }
            let refused = try await scene.getStored("/long")
            #expect(refused.status == 502 && refused.text.contains("had not seen"))
            let changed = try await scene.getStored("/short")
            #expect(changed.text == "short" && changed["X-Seen"] == "yes")
        }
    }

    @Test func `a decorator is told that it does not see all of a long response`() async throws {
        let seen = Recorder<String>()
        try await run { service in
            service.configure {
                $0.decorateRequests { _, request in
                    request.onCompletion { info in
                        let octets = info.response.entity?.content as? [UInt8]
                        seen.add("\(info.hasWholeContent) \(octets?.count ?? -1)")
                    }
                }
            }
        } _: { (scene, _) async throws in
            let long = String(repeating: "o", count: (1 << 20) + 1)
            scene.origin.answer { head in .ok(Self.passing, content: head.target == "/long" ? long : "short") }
            #expect(try await scene.getStored("/long").text == long)
            #expect(try await scene.getStored("/short").text == "short")
            #expect(seen.values == ["false -1", "true 5"])
        }
    }

    @Test(arguments: [false, true])
    func `a decorator that answers otherwise cuts no upload off`(isConfigured: Bool) async throws {
        try await run { service in
            guard isConfigured else { return }
            service.configure {
                $0.decorateRequests { _, request in
                    request.chained { _ in .useResponse(ResponseInfo(.success(Self.entity("mine")))) }
                }
            }
        } _: { (scene, _) async throws in
            let client = try await scene.client()
            let piece = String(repeating: "x", count: 600_000)
            try await client.send("PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 1200000")
            async let first: Void = client.write(piece)
            let request = try await scene.origin.request()
            try await request.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            #expect(try await client.response().text == (isConfigured ? "mine" : "ok"))
            try await first
            async let rest: Void = client.write(piece)
            #expect(try await request.content().text == piece + piece)
            try await rest
            request.finish()
        }
    }

    @Test(arguments: [1_000, (1 << 20) + 1])
    func `RQ-13 content that is too long to be kept is sent once, and the origin's answer is the client's`(
        length: Int
    ) async throws {
        try await run { service in
            service.configure { $0.retry(RetryPolicy(limit: 2, delay: .zero, jitter: 0)) }
        } _: { (scene, _) async throws in
            let content = String(repeating: "x", count: length)
            let client = try await scene.client()
            try await client.send("PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: \(length)")
            async let written: Void = client.write(content)
            let attempts = length > 1 << 20 ? 1 : 3
            for _ in 0..<attempts {
                let request = try await scene.origin.request()
                #expect(try await request.content().text == content)
                try await request.reply(503, content: "busy")
            }
            try await written
            let response = try await client.response()
            #expect(response.status == 503 && response.text == "busy")
            #expect(scene.origin.seen.count == attempts)
        }
    }

    @Test func `PG-03 what decorators get reports how far it is while it runs`() async throws {
        let told = Recorder<Double>()
        try await run { service in
            service.configure {
                $0.decorateRequests { _, request in request.chained { _ in .useThisResponse }.onProgress { told($0) } }
            }
        } _: { (scene, _) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            // Waiting for the origin counts.
            try await eventually("the beginning is reported") {
                scene.advance(.milliseconds(5))
                return told.values.contains { $0 > 0 && $0 < 1 }
            }
            try await request.reply(Self.passing, content: "apples")
            #expect(try await client.response().text == "apples")
            try await eventually("the end is reported") { told.values.last == 1 }
            #expect(told.values == told.values.sorted())
        }
    }

    @Test(arguments: [false, true]) func `RQ-16 a failed request has its status and says why`(
        isTerse: Bool
    ) async throws {
        try await run { service in
            service.configure("/a") {
                $0.decorateRequests { resource, _ in
                    resource.failedRequest(
                        returning: RequestError(
                            status: 403, userMessage: isTerse ? nil : "Members only", timestamp: .now))
                }
            }
        } _: { (scene, service) async throws in
            let response = try await scene.get("/a")
            #expect(response.status == 403)
            #expect(response.text == (isTerse ? "Forbidden" : "Members only"))
            guard case .failure(let error) = await service.resource("/a").load().response().response else {
                Issue.record("it is loaded")
                return
            }
            #expect(error.status == 403)
            #expect(scene.origin.seen.isEmpty)
        }
    }

    // MARK: Decorators that wait for what they decorate

    private static let circles: [RequestDecorator] = [
        { resource, request in resource.loadIfNeeded() ?? request },
        { resource, _ in resource.load() },
        { resource, request in
            request.chained { _ in resource.loadIfNeeded().map { .passTo($0) } ?? .useThisResponse }
        },
        { resource, _ in resource.prepareRequest(using: Asking { resource.loadIfNeeded() }) },
        { resource, _ in resource.prepareRequest(using: Asking { resource.load() }) },
        { resource, request in request.chained { _ in .passTo(resource.load()) } },
        { resource, request in
            request.chained { _ in
                .passTo(resource.service.resource("/b").load().chained { _ in .passTo(resource.load()) })
            }
        },
    ]

    @Test(arguments: [0, 1, 2, 3, 4, 5, 6], [false, true])
    func `RQ-15 a decorator that waits for its own load fails and says so`(_ number: Int, isProgram: Bool) async throws
    {
        try await run { service in
            service.configure("/a") { $0.decorateRequests(Self.circles[number]) }
        } _: { (scene, service) async throws in
            scene.origin.answer { _ in .ok(Self.passing, content: "apples") }
            if isProgram {
                guard case .failure(let error) = await service.resource("/a").load().response().response else {
                    Issue.record("it is loaded")
                    return
                }
                #expect("\(error)".contains("waits for itself"), "\(error)")
            } else {
                let response = try await scene.get("/a")
                #expect(response.status == 502 && response.text.contains("waits for itself"))
            }
            #expect(scene.origin.count(of: "/a") <= 1)
            #expect(scene.resource("/a")?.memory.loads.isEmpty == true)
        }
    }
}
