// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Content of requests that is kept until they end has a room together.
@Suite("Scenarios: content that is kept")
struct ContentRoomScenarios {
    private let thisMachine = ClientAddress(.loopback(port: 0))

    @Test func `a client of the network has a share, whatever it sends`() {
        let room = ContentRoom()
        let (greedy, other) = (
            ClientAddress(SocketAddress(ipv4: 0xC000_0201, port: 1)),
            ClientAddress(SocketAddress(ipv4: 0xC000_0202, port: 1))
        )
        #expect(room.take(ContentRoom.share, for: greedy))
        #expect(!room.take(1, for: greedy))
        #expect(room.take(ContentRoom.share, for: other))
        #expect(!room.take(ContentRoom.limit - ContentRoom.share, for: thisMachine))
        room.giveBack(ContentRoom.share, of: greedy)
        #expect(room.take(ContentRoom.limit - ContentRoom.share, for: thisMachine))
        #expect(!room.take(1, for: greedy))
    }

    @Test func `content for which there is no room is relayed, and kept again when there is`() async throws {
        try await KeyedContentScenarios.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=600", KeyedContentScenarios.json, content: "answer")
            }
            let room = scene.proxy.contentRoom
            #expect(room.take(ContentRoom.limit - 10, for: thisMachine))
            let question = "{\"query\": \"a long question\"}"
            for count in 1...2 {
                let response = try await KeyedContentScenarios.ask(scene, question, KeyedContentScenarios.json)
                #expect(response.text == "answer")
                #expect(scene.origin.seen.count == count)
            }
            room.giveBack(ContentRoom.limit - 10, of: thisMachine)
            for _ in 0..<3 {
                #expect(
                    try await KeyedContentScenarios.ask(scene, question, KeyedContentScenarios.json).text == "answer")
            }
            #expect(scene.origin.seen.count == 3)
            // Each request has given back what it took.
            try await eventually("the room is empty") {
                guard room.take(ContentRoom.limit, for: thisMachine) else { return false }
                room.giveBack(ContentRoom.limit, of: thisMachine)
                return true
            }
        }
    }

    @Test func `what is repeated gives its room back too, and is sent once where there is none`() async throws {
        try await Scenario.run { settings, origin in
            settings.add("api", at: origin.url("/")) { service in
                service.configure { $0.decorate.retry = .set(RetryRule()) }
            }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: no-store", content: "done") }
            let room = scene.proxy.contentRoom
            for taken in [0, ContentRoom.limit - 10] {
                #expect(room.take(taken, for: thisMachine))
                let client = try await scene.client()
                try await client.send(
                    "PUT \(scene.url("/a")) HTTP/1.1", "Host: x", "Content-Length: 20", content: "0123456789abcdefghij")
                #expect(try await client.response().text == "done")
                await client.close()
                room.giveBack(taken, of: thisMachine)
                try await eventually("the room is empty") {
                    guard room.take(ContentRoom.limit, for: thisMachine) else { return false }
                    room.giveBack(ContentRoom.limit, of: thisMachine)
                    return true
                }
            }
            #expect(scene.origin.seen.count == 2)
        }
    }
}
