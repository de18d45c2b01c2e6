// SPDX-License-Identifier: Apache-2.0
package import Larder
import LarderIO
package import LarderPeers

/// An event as a client reads it.
package struct ReceivedEvent: Sendable {
    package let id: String?
    package let json: JSONValue

    package var name: String { json["event"]?.string ?? "" }
    package var state: JSONValue { json["state"] ?? .null }
    package var sequence: Int { json["sequence"]?.int ?? -1 }

    package func isObserverAdded(isLoading: Bool, hasData: Bool) -> Bool {
        name == "observerAdded" && state["isLoading"]?.bool == isLoading
            && (state["latestData"] != .null) == hasData && id != nil
    }
}

/// The client's end of a stream of events.
package final class EventReader: Sendable {
    package let wire: Wire
    private let rest = Lock<String>("")

    init(_ wire: Wire) { self.wire = wire }

    /// The lines up to the next empty one.
    package func block() async throws -> String {
        while true {
            let found = rest.withLock { text -> String? in
                guard let end = text.firstRange(of: "\n\n") else { return nil }
                defer { text.removeSubrange(..<end.upperBound) }
                return String(text[..<end.lowerBound])
            }
            if let found { return found }
            guard let chunk = try await wire.chunk() else { throw ScenarioFailure("the stream broke off") }
            guard !chunk.isEmpty else { throw ScenarioFailure("the stream has ended") }
            rest.withLock { $0 += String(decoding: chunk, as: UTF8.self) }
        }
    }

    /// The next event; comments are passed over, and progress too unless it is asked for.
    package func next(orProgress: Bool = false) async throws -> ReceivedEvent {
        while true {
            let lines = try await block().split(separator: "\n").filter { !$0.hasPrefix(":") }
            if lines.isEmpty { continue }
            let id = lines.first { $0.hasPrefix("id: ") }.map { String($0.dropFirst(4)) }
            guard let data = lines.first(where: { $0.hasPrefix("data: ") }) else {
                throw ScenarioFailure("an event without data: \(lines)")
            }
            let event = ReceivedEvent(id: id, json: try JSONValue(parsing: Array(data.dropFirst(6).utf8)))
            if event.name != "progress" || orProgress { return event }
        }
    }
}

extension Scenario {
    /// A stream of events by a new client.
    package func stream(_ query: String, _ lines: String..., isHeld: Bool = false) async throws -> EventReader {
        let client = try await client("a stream about \(query)")
        let fields = ["Host: localhost"] + lines
        try await client.write(
            "GET /-/events?\(query) HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
        let head = try await client.head()
        guard head.status == 200 else { throw ScenarioFailure("no stream: \(head.text)") }
        if isHeld { client.hold() }
        return EventReader(client)
    }

    /// A stream about one path of the origin.
    package func events(about path: String, content: Bool = false, isHeld: Bool = false) async throws -> EventReader {
        try await stream("url=\(url(path))" + (content ? "&content=1" : ""), isHeld: isHeld)
    }
}
