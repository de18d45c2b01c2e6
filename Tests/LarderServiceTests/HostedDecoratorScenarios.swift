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
                    #expect(try await load.entity().content as? [UInt8] == Array("mine".utf8))
                } else {
                    #expect(try await client.response().text == "mine")
                }
                _ = try await request.wire.end()
            }
        }
    }

}
}
