// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderTesting
import Testing

@testable import LarderTransformers

/// One resource whose pipeline the tests build.
struct Fixture {
    let clock = ManualClock()
    let service: Service
    var resource: Resource { service.resource("a") }

    init(_ configure: @escaping @Sendable (inout Configuration) throws -> Void) rethrows {
        var configuration = Configuration()
        // Limits of the transformers themselves are meant here.
        configuration.transformTimeout = .seconds(3_600)
        try configure(&configuration)
        service = Service(
            "test", baseURL: "https://api.example/", standardTransformers: [], transport: StubTransport(),
            defaults: configuration, clock: clock)
    }

    /// A pipeline of one transformer in the stage `model`.
    init(_ transformer: some ResponseTransformer) {
        self.init { $0.pipeline[.model].add(transformer) }
    }

    func transform(
        _ content: [UInt8], _ status: Status = 200, type: String = "application/json", _ fields: Fields = Fields(),
        on threads: TransformerThreads = .own
    ) async -> TransformedResponse {
        var fields = fields
        fields[.contentType] = type
        fields[.eTag] = "\"1\""
        fields[.contentLength] = String(content.count)
        let resource = resource
        let entity = Entity(content: content, fields: fields, status: status, timestamp: clock.now)
        return await resource.transform(resource.configuration, on: threads) { entity }
    }

    func transform(
        _ content: String, _ status: Status = 200, type: String = "application/json", _ fields: Fields = Fields()
    ) async -> TransformedResponse {
        await transform(Array(content.utf8), status, type: type, fields)
    }
}

extension TransformedResponse {
    /// The content that clients get, as text.
    var text: String? { (try? served.get()).map { String(decoding: $0.content, as: UTF8.self) } }
    var fields: Fields? { (try? served.get())?.fields }
    var error: RequestError? { if case .failure(let error) = response { error } else { nil } }
}
