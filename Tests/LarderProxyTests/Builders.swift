// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderSettings
import LarderTesting

@testable import Larder
@testable import LarderProxy

extension String {
    /// The octets of a response with a length, as a script returns them.
    static func response(_ status: Int, _ lines: String..., content: String = "") -> String {
        OriginRequest.response(status, lines, content: content)
    }

    /// A 200 with these field lines.
    static func ok(_ lines: String..., content: String = "") -> String {
        OriginRequest.response(200, lines, content: content)
    }
}

extension StoredResponse {
    /// A 200 as stored at second 1000, for a request with the given fields.
    static func stored(
        _ fields: Fields = [:], request: Fields = [:], status: Status = 200, at seconds: Int64 = 1000
    ) -> StoredResponse {
        StoredResponse(
            ResponseHead(status: status, fields: fields), to: RequestHead(fields: request),
            requestTime: Timestamp(seconds: seconds), responseTime: Timestamp(seconds: seconds), policy: CachePolicy())
    }
}

extension Variant {
    /// A variant in memory with that content.
    static func variant(
        _ content: String = "", fields: Fields = [:], request: Fields = [:], at seconds: Int64 = 1000
    ) -> Variant {
        let chunk = ContentChunk(content.utf8)
        return Variant(
            stored: .stored(fields, request: request, at: seconds), content: .memory([chunk], length: chunk.count),
            storedAt: Timestamp(seconds: seconds), via: "1.1 larder")
    }

    var text: String {
        guard case .memory(let chunks, _) = content else { return "(in the store)" }
        return chunks.text
    }
}

extension [ContentChunk] {
    var text: String { map { String(decoding: $0.bytes, as: UTF8.self) }.joined() }
}

/// Waits for something that other tasks bring about and no event tells of.
func eventually(_ what: String, _ holds: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + Wire.patience
    while ContinuousClock.now < deadline {
        if try await holds() { return }
        try await Task.sleep(for: .milliseconds(1))
    }
    throw ScenarioFailure("in vain: \(what)")
}

extension Scenario {
    /// The Resource of a path at the origin, if it is in memory.
    func resource(_ path: String) -> Resource? {
        var found: Resource?
        proxy.registry.forEach { if $0.key.url == url(path) { found = $0 } }
        return found
    }

    /// How many clients wait for loads of a path.
    func interest(in path: String) -> Int {
        resource(path)?.memory.flights.reduce(0) { $0 + $1.interest } ?? 0
    }

    /// A GET by a new client, with these lines.
    func get(_ path: String, _ lines: [String]) async throws -> WireMessage {
        let client = try await client()
        try await client.get(url(path), lines)
        let response = try await client.response()
        await client.close()
        return response
    }

    /// Asks again and again until an answer is as it should be.
    func get(_ path: String, until isRight: (WireMessage) -> Bool) async throws -> WireMessage {
        for _ in 0..<2000 {
            let message = try await get(path)
            if isRight(message) { return message }
        }
        throw ScenarioFailure("\(path) never became what it should")
    }
}

extension Settings {
    /// Adds a service.
    mutating func add(_ name: String, at base: String, _ change: (inout ServiceSettings) -> Void = { _ in }) {
        var service = ServiceSettings()
        service.name = name
        guard case .success(let url) = BaseURL.read(base) else { return }
        service.baseURL = url
        change(&service)
        services.append(service)
    }
}

extension ServiceSettings {
    /// Adds a block for everything, or for what the pattern describes.
    mutating func configure(_ change: (inout ConfigureBlock) -> Void) {
        var block = ConfigureBlock()
        change(&block)
        configure.append(block)
    }
}
