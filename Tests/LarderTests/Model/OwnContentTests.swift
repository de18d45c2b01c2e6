// SPDX-License-Identifier: Apache-2.0
import FoundationEssentials
import Larder
import LarderTesting
import Testing

/// What a program itself gives: content, JSON, URLs, times, and changes that its observers hear of.
@Suite("Content and changes of the program's own")
struct OwnContentTests {
    private let fixture = Fixture()

    private struct Item: Codable, Sendable { let name: String }

    @Test func `RS-23 what the typed accessors return can be given back`() {
        let resource = fixture.service.resource("a")
        resource.overrideLocalContent(with: ["a": 1] as JSONValue)
        var object = resource.jsonObject
        object["b"] = 2.5
        resource.overrideLocalContent(with: object)
        #expect(resource.json == ["a": 1, "b": 2.5])
        resource.overrideLocalContent(with: [1, 2] as JSONValue)
        resource.overrideLocalContent(with: resource.jsonArray + [3])
        #expect(resource.json == [1, 2, 3] && resource.octets == Array("[1,2,3]".utf8))
        resource.overrideLocalContent(with: [JSONValue]())
        #expect(resource.json == [] && resource.octets == Array("[]".utf8))
        resource.overrideLocalContent(with: Data("apples".utf8))
        #expect(resource.octets == Array("apples".utf8) && resource.json == nil)
        resource.overrideLocalContent(with: Item(name: "pear"))
        #expect(resource.jsonObject == ["name": "pear"])
    }

    @Test func `a default that is optional is a default`() {
        let resource = fixture.service.resource("a")
        let fallback: String? = "none"
        #expect(resource.typedContent(ifNone: fallback) == "none")
        resource.overrideLocalContent(with: "text")
        #expect(resource.typedContent(ifNone: fallback) == "text")
        resource.overrideLocalContent(with: 7)
        #expect(resource.typedContent(ifNone: fallback) == "none")
    }

    @Test(arguments: [("/foo", "/foo", true), ("foo", "foo", true), ("/foo", "foo", false), ("foo", "/foo", false)])
    func `PT-01 without a base URL patterns apply to resources as they are written`(
        _ pattern: String, _ url: String, _ expected: Bool
    ) throws {
        let service = Service("bare", transport: fixture.transport)
        service.configure(try GlobPattern(pattern)) { $0.expirationTime = .seconds(17) }
        #expect((service.resource(absoluteURL: url).configuration.expirationTime == .seconds(17)) == expected)
    }

    @Test func `RQ-03 a request that cannot be made has a message for people`() async {
        let resource = fixture.service.resource("a")
        let text = await resource.request(.post, text: "é", encoding: .ascii).response().response.error
        #expect(text?.userMessage == "The text of the request cannot be sent")
        #expect((text?.cause as? UnencodableText)?.text == "é")
        let json = await resource.request(.post, json: JSONValue.bool(true)).response().response.error
        #expect(json?.userMessage == "The data of the request cannot be sent")
        let url = await fixture.service.resource(absoluteURL: "nowhere").load().response().response.error
        #expect(url?.userMessage == "The address of the request is not valid")
    }

    @Test func `JSON is written with fractions and variables`() async throws {
        let name = "pear"
        fixture.transport.reply(.post, Fixture.url("a"), StubReply(201))
        let resource = fixture.service.resource("a")
        try await resource.request(.post, json: ["price": 1.5, "name": name]).entity()
        try await resource.request(.post, json: ["price": 1.5, "name": "pear"]).entity()
        let some: [String: Any] = ["list": [1, "two", nil] as [Any?], "item": Item(name: name)]
        try await resource.request(.post, json: some).entity()
        #expect(
            fixture.transport.sent.compactMap { $0.body.map { String(decoding: $0, as: UTF8.self) } } == [
                #"{"name":"pear","price":1.5}"#, #"{"name":"pear","price":1.5}"#,
                #"{"item":{"name":"pear"},"list":[1,"two",null]}"#,
            ])
        let impossible: [String: Any] = ["it": { 1 }]
        #expect(await resource.request(.post, json: impossible).response().response.error?.cause is InvalidJSONObject)
    }

    @Test func `SV-01 URLs of Foundation are base URLs and resources`() {
        let url = URL(string: "https://foo.bar/baz")
        #expect(Service("x", baseURL: url).baseURL?.string == "https://foo.bar/baz/")
        #expect(fixture.service.resource(absoluteURL: url).url.string == "https://foo.bar/baz")
        #expect(fixture.service.resource(baseURL: url, path: "/a").url.string == "https://foo.bar/baz/a")
        #expect(!fixture.service.resource(absoluteURL: nil).url.isValid)
        #expect(Timestamp.now > Timestamp(seconds: 1_600_000_000))
    }

    @Test func `OB-05 an awaited load has told observers everything`() async {
        for _ in 0..<200 {
            let fixture = Fixture()
            fixture.reply("a", .text("apples"))
            let (resource, recorder) = fixture.observed("a")
            await resource.load().response()
            #expect(recorder.events == ["observerAdded", "requested loading", "newData(network)"])
        }
    }

    @MainActor private final class Screen: MainActorObserver {
        var events: [ResourceEvent] = []
        func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
            events.append(event)
        }
    }

    @Test @MainActor func `OB-05 observers on the caller's actor hear of a change before it returns`() async {
        fixture.reply("a", .text("apples"))
        let resource = fixture.service.resource("a")
        let screen = Screen()
        resource.addObserver(screen)
        await resource.load().response()
        #expect(screen.events == [.observerAdded, .requested, .newData(.network)])
        resource.overrideLocalContent(with: "pears")
        #expect(screen.events.last == .newData(.localOverride))
        resource.wipe()
        #expect(screen.events.last == .newData(.wipe) && screen.events.count == 5)
        resource.overrideLocalContent(with: "plums")
        fixture.service.wipeResources()
        #expect(screen.events.last == .newData(.wipe) && screen.events.count == 7)
    }
}
