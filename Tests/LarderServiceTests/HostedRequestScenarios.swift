// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Decorators of a program's own service, for many clients at once.
@Suite("Scenarios: requests decorated in Swift")
struct HostedRequestScenarios {
    /// An origin that accepts one token at a time; each log-in gives a new one and ends the old one.
    private final class Tokens: Sendable {
        private let state = Lock((number: 0, logins: 0))

        var logins: Int { state.withLock { $0.logins } }

        /// Ends the current token.
        func expire() { state.withLock { $0.number += 1 } }

        func answer(_ request: WireHead) -> String {
            state.withLock { state in
                if request.target == "/login" {
                    state.number += 1
                    state.logins += 1
                    return .ok("Cache-Control: no-store", content: "token-\(state.number)")
                }
                guard request["Authorization"] == "Bearer token-\(state.number)" else {
                    return .response(401, "Cache-Control: no-store", content: "who are you?")
                }
                return .ok("Cache-Control: no-store", content: "for members")
            }
        }
    }

    private func run(_ body: (Scenario) async throws -> Void) async throws {
        let login = TokenRefresh(makeRequest: { $0.resource("/login").request(.post) }) { entity in
            (entity.content as? [UInt8]).map { String(decoding: $0, as: UTF8.self) }
        }
        try await Scenario.run { settings, origin in
            settings.timeouts.abandon = .seconds(1)
            settings.add("shop", at: origin.url("/")) {
                $0.declare = { service in
                    service.configure("**") {
                        $0.fields[.authorization] = login.token.map { "Bearer \($0)" }
                        $0.decorateRequests(login.decorate)
                    }
                }
            }
        } _: { (scene) async throws in
            try await body(scene)
        }
    }

    @Test func `RQ-19 B-26 however many clients are refused at once, one refresh serves all of them`() async throws {
        let tokens = Tokens()
        try await run { (scene) async throws in
            scene.origin.answer { tokens.answer($0) }
            for round in 1...4 {
                try await withThrowingTaskGroup { group in
                    for number in 0..<32 {
                        group.addTask {
                            let client = try await scene.client()
                            let method = number % 4 == 0 ? "POST" : "GET"
                            try await client.send(
                                "\(method) \(scene.url("/r\(number / 2)")) HTTP/1.1", "Host: x", "Content-Length: 2",
                                content: "hi")
                            return try await client.response()
                        }
                    }
                    for try await response in group {
                        #expect(response.status == 200, "\(response.text)")
                        #expect(response.text == "for members")
                    }
                }
                #expect(tokens.logins == round)
                tokens.expire()
                scene.advance(.seconds(1))
            }
        }
    }

    @Test func `RQ-19 an origin that refuses every token is asked for one token a second`() async throws {
        try await run { (scene) async throws in
            scene.origin.answer { request in
                request.target == "/login"
                    ? .ok("Cache-Control: no-store", content: "token") : .response(401, "Cache-Control: no-store")
            }
            for round in 1...3 {
                for _ in 0..<5 { #expect(try await scene.get("/a").status == 401) }
                #expect(scene.origin.count(of: "/login") == round)
                scene.advance(.seconds(1))
            }
        }
    }

    @Test func `RQ-19 RQ-17 a client that leaves while it waits for a token takes nobody along`() async throws {
        try await run { (scene) async throws in
            let (first, second) = (try await scene.client(), try await scene.client())
            try await first.get(scene.url("/a"))
            try await second.get(scene.url("/b"))
            let refused = [try await scene.origin.request(), try await scene.origin.request()]
            for request in refused { try await request.reply(401, "Cache-Control: no-store") }
            let login = try await scene.origin.request()
            #expect(login.head.target == "/login")
            await first.close()
            scene.advance(.seconds(5))
            try await login.reply(content: "new")
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "in") }
            #expect(try await second.response().text == "in")
            #expect(scene.origin.count(of: "/login") == 1)
            #expect(scene.origin.count(of: "/b") == 2)
        }
    }

    @Test(arguments: ["GET", "POST"])
    func `PL-12 a response that a decorator has seen is transformed once`(method: String) async throws {
        let count = Lock(0)
        try await Scenario.run { settings, origin in
            settings.add("shop", at: origin.url("/")) {
                $0.declare = { service in
                    service.configure(methods: [.get, .post]) { configuration in
                        configuration.pipeline[.model].add(
                            ResponseContentTransformer("shout") { (entity: Entity<[UInt8]>) in
                                count.withLock { $0 += 1 }
                                return String(decoding: entity.content, as: UTF8.self).uppercased()
                            })
                        configuration.decorateRequests { _, request in
                            request.chained { info in
                                // Decorators see the pipeline's result.
                                guard info.response.entity?.content as? String == "HELLO" else {
                                    return .useResponse(
                                        ResponseInfo(
                                            .failure(RequestError(userMessage: "raw", timestamp: .init(seconds: 0)))))
                                }
                                return .useThisResponse
                            }
                        }
                    }
                }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", "Content-Type: text/plain", content: "hello") }
            let client = try await scene.client()
            try await client.send("\(method) \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 0")
            #expect(try await client.response(to: method).text == "HELLO")
            #expect(count.withLock { $0 } == 1)
            if method == "GET" {
                let again = try await scene.getStored("/a")
                #expect(again.text == "HELLO" && again["Cache-Status"] == "Larder; hit; ttl=60")
                #expect(count.withLock { $0 } == 1)
            }
        }
    }

    /// A request that never ends by itself.
    private final class Endless: RequestDelegate {
        // One that is dropped would end it.
        let started = Recorder<RequestCompletion>()
        let cancelled = Recorder<Int>()

        func startUnderlyingOperation(_ completion: RequestCompletion) { started(completion) }
        func cancelUnderlyingOperation() { cancelled(1) }
        func repeated() -> any RequestDelegate { self }
        var requestDescription: String { "endless" }
    }

    @Test func `RQ-17 a decorator's own request is cancelled when nobody waits for it any more`() async throws {
        let endless = Endless()
        try await Scenario.run { settings, origin in
            settings.timeouts.abandon = .zero
            settings.add("shop", at: origin.url("/")) {
                $0.declare = { service in
                    service.configure("/a") {
                        $0.decorateRequests { resource, _ in resource.prepareRequest(using: endless) }
                    }
                }
            }
        } _: { (scene) async throws in
            for round in 1...2 {
                let client = try await scene.client()
                try await client.get(scene.url("/a"))
                try await eventually("it has begun") { endless.started.count == round }
                await client.close()
                try await scene.lettingTimePass(.milliseconds(100)) {
                    try await eventually("it is cancelled") { endless.cancelled.count == round }
                }
            }
        }
    }

    @Test(arguments: [Method.head, .post])
    func `RQ-06 a mutator's other method is sent without conditions, and its response is not kept for GET`(
        method: Method
    ) async throws {
        let isChanging = Lock(false)
        try await HostedConfigurationScenarios.run { service in
            service.configure("/a") {
                $0.mutateRequests { if isChanging.withLock({ $0 }) { $0.method = method } }
            }
        } _: { (scene, _) async throws in
            scene.origin.answer { head in
                .ok("Cache-Control: max-age=60", "ETag: \"1\"", content: head.method == "HEAD" ? "" : head.method)
            }
            #expect(try await scene.getStored("/a").text == "GET")
            scene.advance(.seconds(61))
            isChanging.withLock { $0 = true }
            for count in 2...3 {
                _ = try await scene.get("/a")
                let sent = scene.origin.seen.last
                #expect(scene.origin.count(of: "/a") == count && sent?.method == method.token)
                #expect(sent?["If-None-Match"] == nil)
            }
            isChanging.withLock { $0 = false }
            #expect(try await scene.getStored("/a").text == "GET")
        }
    }
}
