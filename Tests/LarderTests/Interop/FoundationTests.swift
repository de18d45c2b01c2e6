// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderTesting
import Testing

@Suite("Foundation's types")
struct FoundationTests {
    private let fixture = Fixture()

    private struct User: Codable, Sendable, Equatable {
        let name: String
        let age: Int
    }

    @Test func `TR-02 JSON becomes a type of one's own by its Decodable`() async throws {
        fixture.service.configureTransformer("/users/*", .decodable(User.self))
        fixture.reply("users/1", .json(#"{"name":"Ann","age":7}"#), .json(#"{"name":"Ann"}"#))
        let user = fixture.service.resource("users/1").typed(as: User.self)
        #expect(try await user.load().content == User(name: "Ann", age: 7))
        let error = await user.base.load().response().response.error
        #expect(error?.cause is DecodingError)
        #expect(error?.stage == .model && error?.transformer == "JSON → User")
        #expect(user.content == User(name: "Ann", age: 7))
    }

    @Test func `TR-02 TR-06 octets are decoded without the standard transformer and by a decoder of one's own`() async {
        let fixture = Fixture(standardTransformers: [])
        fixture.service.configureTransformer(
            "**",
            .decodable(
                [String: Int].self,
                decoder: { @Sendable () -> JSONDecoder in
                    let decoder = JSONDecoder()
                    decoder.keyDecodingStrategy = .convertFromSnakeCase
                    return decoder
                }))
        fixture.reply("a", .json(#"{"snake_case":1}"#))
        let entity = await fixture.service.resource("a").load().response().response.entity
        #expect(entity?.typedContent(as: [String: Int].self) != nil)
    }

    @Test func `TR-08 an origin's error is not decoded`() async {
        fixture.service.configureTransformer("**", .decodable(User.self))
        fixture.reply("a", .json(#"{"problem":"gone"}"#, status: 410))
        let error = await fixture.service.resource("a").load().response().response.error
        #expect(error?.status == 410 && error?.json?["problem"]?.string == "gone")
    }

    @Test func `RQ-09 a value is sent as JSON`() async {
        fixture.transport.reply(.post, Fixture.url("users"), StubReply(201))
        await fixture.service.resource("users").request(.post, json: User(name: "Bob/", age: 8)).response()
        await fixture.service.resource("users").request(.post, json: ["a": 1]).response()
        await fixture.service.resource("users").request(.post, json: [User(name: "", age: 0)]).response()
        let sent = fixture.transport.sent
        #expect(sent[0].body == Array(#"{"age":8,"name":"Bob/"}"#.utf8))
        #expect(sent[0].fields[.contentType] == "application/json")
        #expect(sent[1].body == Array(#"{"a":1}"#.utf8))
        #expect(sent[2].body == Array(#"[{"age":0,"name":""}]"#.utf8))
        let error = await fixture.service.resource("users").request(.post, json: 5).response().response.error
        #expect(error?.cause is InvalidJSONObject)
    }

    @Test func `RQ-07 data is sent and had`() async {
        fixture.transport.reply(.put, Fixture.url("a"), .text("é"))
        let request = fixture.service.resource("a").request(.put, data: Data([1, 2]), contentType: "a/b")
        let entity = await request.response().response.entity
        #expect(fixture.transport.sent.first?.body == [1, 2])
        #expect(entity?.data == Data("é".utf8))
        #expect(entity?.octets == Array("é".utf8))
    }

    @Test(arguments: [0, 1_700_000_000_123, -5_500] as [Int64])
    func `instants are dates and dates are instants`(_ milliseconds: Int64) {
        let timestamp = Timestamp(nanoseconds: milliseconds * 1_000_000)
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        #expect(abs(timestamp.date.timeIntervalSince(date)) < 1e-6)
        #expect(abs((Timestamp(date) - timestamp).wholeNanoseconds) < 1_000)
        #expect(Timestamp(.distantFuture).nanoseconds == .max)
        #expect(Timestamp(.distantPast).nanoseconds == .min)
    }
}
