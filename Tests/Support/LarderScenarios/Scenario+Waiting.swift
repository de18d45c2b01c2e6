// SPDX-License-Identifier: Apache-2.0
package import Larder
package import LarderPeers
import LarderProxy

/// Waits for something that other tasks bring about and no event tells of.
package func eventually(_ what: String, _ holds: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + Wire.patience
    while ContinuousClock.now < deadline {
        if try await holds() { return }
        await Peers.sleep(for: .milliseconds(1))
    }
    throw ScenarioFailure("in vain: \(what)")
}

extension Scenario {
    /// The Resource of a path at the origin, if it is in memory.
    package func resource(_ path: String) -> Resource? {
        var found: Resource?
        proxy.registry.forEach { if $0.key.url == url(path) { found = $0 } }
        return found
    }

    /// How many clients wait for loads of a path.
    package func interest(in path: String) -> Int {
        resource(path)?.memory.loads.reduce(0) { $0 + $1.interest } ?? 0
    }

    /// A GET by a new client, and the end of the load that it caused: the client has the whole response a moment before
    /// others see it in the Resource.
    package func getStored(_ path: String, _ lines: String...) async throws -> WireMessage {
        try await getStored(path, lines)
    }

    package func getStored(_ path: String, _ lines: [String]) async throws -> WireMessage {
        let response = try await get(path, lines)
        try await eventually("its load ends") { resource(path)?.memory.loads.isEmpty ?? true }
        return response
    }

    /// Asks again and again until an answer is as it should be.
    package func get(_ path: String, until isRight: (WireMessage) -> Bool) async throws -> WireMessage {
        for _ in 0..<2000 {
            let message = try await get(path)
            if isRight(message) { return message }
        }
        throw ScenarioFailure("\(path) never became what it should")
    }

    /// Two clients that wait for `/a`, the one that came first and the other, and the request they cause.
    package func twoClients(
        isFirstHeld: Bool = false
    ) async throws -> (first: Wire, second: Wire, request: OriginRequest) {
        let first = try await client("the leader", isHeld: isFirstHeld)
        try await first.get(url("/a"))
        let request = try await origin.request()
        let second = try await client("the follower")
        try await second.get(url("/a"))
        try await eventually("both wait") { interest(in: "/a") == 2 }
        return (first, second, request)
    }

    /// A client of `path` whose response lacks its last octet, of `length`.
    package func unfinished(_ path: String, length: Int, _ lines: String...) async throws -> UnfinishedResponse {
        let reader = try await client("the reader")
        try await reader.get(url(path))
        let response = UnfinishedResponse(
            reader: reader, request: try await origin.request(), content: String(repeating: "o", count: length))
        try await response.request.send(
            ["HTTP/1.1 200 OK", "Content-Length: \(length)"] + lines, content: String(response.content.dropLast()))
        try await reader.hasReceived(length - 1)
        return response
    }
}

/// A response under way: its client, its request at the origin, and its whole content.
package struct UnfinishedResponse {
    package let reader: Wire
    package let request: OriginRequest
    package let content: String

    /// Sends the last octet. Returns the content that the client has got.
    package func finish() async throws -> String {
        try await request.write(String(content.suffix(1)))
        request.finish()
        return try await reader.response().text
    }
}
