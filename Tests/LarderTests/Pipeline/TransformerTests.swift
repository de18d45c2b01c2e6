// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("Transformers")
struct TransformerTests {
    private let fixture = Fixture()
    private var resource: Resource { fixture.service.resource("a") }

    private struct Flavor: Error {}

    private func load(_ reply: StubReply) async -> Response {
        fixture.reply("a", reply)
        return await resource.load().response().response
    }

    @Test func `TR-01 a response transformer sees success failure and fields`() async {
        fixture.service.configure {
            $0.pipeline[.cleanup].add(
                ClosureTransformer("annotate") { response in
                    switch response {
                    case .success(var entity):
                        entity.fields["X-Seen"] = entity.field("X-Sent")
                        return .success(entity)
                    case .failure(var error):
                        error.userMessage += "!"
                        return .failure(error)
                    }
                })
        }
        #expect(await load(.text("x", ["X-Sent": "1"])).entity?.field("x-seen") == "1")
        #expect(await load(StubReply(404)).error?.userMessage == "Not found!")
    }

    @Test func `TR-02 a closure's types are those of the transformer`() async {
        fixture.service.configureTransformer("/a") { (entity: Entity<String>) in
            entity.content.split(separator: ",").map { "\($0):\(entity.field("X-Unit") ?? "")" }
        }
        #expect(await load(.text("1,2", ["X-Unit": "cm"])).entity?.typedContent() == ["1:cm", "2:cm"])
        fixture.service.configureTransformer("/a") { (content: String, entity: Entity<String>) in
            content.count + (entity.field("X-Unit")?.count ?? 0)
        }
        #expect(await load(.text("1,2", ["X-Unit": "cm"])).entity?.typedContent() == 5)
    }

    @Test func `CF-04 CF-05 TR-02 a transformer is for whatever pattern configuration can be for`() async throws {
        let pattern = try RegexPattern("/a$")
        fixture.service.configureTransformer(pattern) { (entity: Entity<String>) in entity.content + "1" }
        fixture.service.configureTransformer(fixture.service.resource("/a"), action: .appendToExisting) {
            (content: String, _) in content + "2"
        }
        #expect(await load(.text("x")).entity?.typedContent() == "x12")
        fixture.service.configureTransformer(
            pattern.except("/b" as GlobPattern), ResponseContentTransformer { (entity: Entity<String>) in "3" })
        #expect(await load(.text("x")).entity?.typedContent() == "3")
    }

    @Test func `TR-03 content of another type is an error unless said otherwise`() async {
        func transform(_ action: InputTypeMismatchAction) {
            fixture.service.configureTransformer("/a", onInputTypeMismatch: action) { (entity: Entity<Int>) in
                String(entity.content)
            }
        }
        transform(.error)
        let error = await load(.text("x")).cause as? WrongInputTypeInTransformerPipeline
        #expect(error?.expected == "Int")
        #expect(error?.actual == "String")
        #expect(error?.transformer == "transformer Int → String")
        transform(.skip)
        #expect(await load(.text("x")).entity?.text == "x")
        transform(.skipIfOutputTypeMatches)
        #expect(await load(.text("x")).entity?.text == "x")
        #expect(await load(.json("[]")).cause is WrongInputTypeInTransformerPipeline)
    }

    @Test func `TR-04 nothing and errors come out as errors`() async {
        fixture.service.configureTransformer("/a", description: "picky") { (entity: Entity<String>) throws -> String? in
            switch entity.content {
            case "nil": return nil
            case "custom": throw Flavor()
            case "request": throw RequestError(userMessage: "exactly this", timestamp: entity.timestamp)
            default: return entity.content
            }
        }
        #expect((await load(.text("nil")).cause as? TransformerReturnedNil)?.transformer == "picky")
        let custom = await load(.text("custom")).error
        #expect(custom?.cause is Flavor)
        #expect(custom?.userMessage == "Cannot parse server response")
        #expect(await load(.text("request")).error?.userMessage == "exactly this")
        #expect(await load(.text("fine")).entity?.text == "fine")
    }

    @Test func `B-18 an error of a transformer keeps status and content`() async {
        let error = await load(.json("{", status: 203)).error
        #expect(error?.status == 203)
        #expect(error?.typedContent() == Array("{".utf8))
        #expect(error?.cause is JSONSyntaxError)
    }

    @Test func `TR-05 a transformer replaces others or comes after them`() async {
        fixture.service.configureTransformer("/a") { (entity: Entity<String>) in entity.content + "1" }
        fixture.service.configureTransformer("/a", action: .appendToExisting) { (entity: Entity<String>) in
            entity.content + "2"
        }
        #expect(await load(.text("x")).entity?.text == "x12")
        fixture.service.configureTransformer("/a") { (entity: Entity<String>) in entity.content + "3" }
        #expect(await load(.text("x")).entity?.text == "x3")
    }

    @Test func `TR-06 the stage can be chosen`() async {
        fixture.service.configureTransformer("/a", atStage: .parsing) { (entity: Entity<[UInt8]>) in
            entity.content.count
        }
        #expect(await load(.json("[1,2]")).entity?.typedContent() == 5)
    }

    @Test func `TR-07 HEAD and OPTIONS are left out unless named`() {
        fixture.service.configureTransformer("/a") { (entity: Entity<String>) in entity.content }
        fixture.service.configureTransformer("/b", methods: [.options]) { (entity: Entity<String>) in entity.content }
        func count(_ path: String, _ method: Method) -> Int {
            fixture.service.resource(path).configuration(for: method).pipeline[.model].transformers.count
        }
        let methods: [Method] = [.get, .put, .post, .patch, .delete, .head, .options]
        #expect(methods.map { count("a", $0) } == [1, 1, 1, 1, 1, 0, 0])
        #expect(methods.map { count("b", $0) } == [0, 0, 0, 0, 0, 0, 1])
    }

    @Test(arguments: [true, false])
    func `TR-08 the content of errors is transformed when asked for`(_ transforms: Bool) async {
        fixture.service.configureTransformer("/a", transformErrors: transforms) { (entity: Entity<String>) throws in
            guard entity.content != "unparsable" else { throw Flavor() }
            return entity.content.count
        }
        let error = await load(.text("four", status: 500)).error
        #expect(error?.status == 500)
        #expect(error?.typedContent() == (transforms ? 4 : nil as Int?))
        #expect(error?.text == (transforms ? "" : "four"))
        let preserved = await load(.text("unparsable", status: 500)).error
        #expect(preserved?.text == "unparsable")
        #expect(preserved?.cause == nil)
        #expect(preserved?.userMessage == "Internal server error")
    }

    @Test(arguments: [
        ("text/*", "text/plain; charset=utf-8", true), ("text/*", "text/foo+plain", false),
        ("text/*", "TEXT/Plain", true),
        ("text/*", "text/", false), ("text/*", "xtext/plain", false),
        ("application/*+json", "application/vnd.api+json", true),
        ("application/*+json", "application/+json", false), ("*/json", "application/json5", false),
        ("*/json", "application/jsonlines", false), ("*/json", "application/json", true), ("*/json", "a/b/json", false),
        ("*/*+json", "application/problem+json;charset=x", true), ("*/*", "a/b", true), ("image/*", "", false),
        ("image/png", "image/png ", true), ("image/png", "image/pngx", false),
    ])
    func `TR-09 B-14 content types are matched whole and without case`(
        _ pattern: String, _ type: String, _ expected: Bool
    ) {
        #expect(ContentTypePattern(pattern).matches(type) == expected)
    }

    @Test func `TR-09 TR-11 a stream of events is left alone unless it is named`() async {
        let response = await load(.text("data: x\n\n", [.contentType: "text/event-stream; charset=utf-8"]))
        #expect(response.entity?.typedContent(as: [UInt8].self) == Array("data: x\n\n".utf8))
        let head = ResponseHead(status: 200, fields: [.contentType: "text/event-stream"])
        let resource = fixture.service.resource("stream")
        #expect(!resource.hasTransformers(for: head, resource.configuration))
        #expect(ContentTypePattern("text/event-stream").matches("Text/Event-Stream"))
        for pattern in ["text/*", "*/*", "text/event-*"] {
            #expect(!ContentTypePattern(pattern).matches("text/event-stream"))
        }
    }

    @Test func `TR-09 a transformer can be for some content types only`() async {
        fixture.service.configure {
            $0.pipeline[.cleanup].add(
                ResponseContentTransformer { (entity: Entity<String>) in entity.content.uppercased() },
                contentTypes: ["text/loud", "text/*+loud"])
        }
        #expect(await load(.text("x", [.contentType: "text/loud"])).entity?.text == "X")
        #expect(await load(.text("x", [.contentType: "text/very+loud"])).cause is WrongInputTypeInTransformerPipeline)
        #expect(await load(.text("x", [.contentType: "text/quiet"])).entity?.text == "x")
        #expect(await load(.text("x", status: 500, [.contentType: "text/loud"])).error?.text == "x")
    }

    @Test(arguments: ["application/json", "text/json", "application/vnd.api+json", "Application/JSON; charset=utf-8"])
    func `TR-10 B-15 JSON is parsed whatever it is called`(_ type: String) async {
        let response = await load(StubReply(200, [.contentType: type], body: #" {"b":[1.50,"é😀",null],"a":1e400} "#))
        #expect(response.entity?.json?.description == #"{"b":[1.50,"é😀",null],"a":1e400}"#)
        #expect(response.entity?.jsonObject.names == ["b", "a"])
    }

    @Test(arguments: [("17", "number"), ("\"foo\"", "string"), ("null", "null"), ("true", "boolean")])
    func `TR-10 JSON fragments are refused`(_ body: String, _ type: String) async {
        #expect((await load(.json(body)).cause as? JSONResponseIsNotDictionaryOrArray)?.type == type)
    }

    @Test(arguments: [
        "{", "[1,]", "{\"a\"}", "[01]", "[1.]", "[+1]", "[.5]", "[1e]", "['a']", "[\"\\x\"]", "[\"\\ud800\"]",
        "[\"\t\"]",
        "[tru]", "[] []", "{\"a\":1,}", "[\"a]", "[\"\\u12g4\"]", "[NaN]", "nul", " ",
    ])
    func `TR-10 malformed JSON is an error with its place`(_ body: String) async {
        let cause = await load(.json(body)).cause as? JSONSyntaxError
        #expect(cause != nil)
        #expect((0...body.utf8.count).contains(cause?.offset ?? -1))
    }

    @Test func `TR-10 nesting is bounded and error bodies are parsed`() async {
        let deep = String(repeating: "[", count: 513) + String(repeating: "]", count: 513)
        #expect(await load(.json(deep)).cause is JSONSyntaxError)
        let fine = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
        #expect(await load(.json(fine)).error == nil)
        let error = await load(.json(#"{"message":"no"}"#, status: 400)).error
        #expect(error?.jsonObject["message"] == "no")
    }

    @Test(
        arguments: [
            ("text/plain", [0xC3, 0xBD], "Ã½"), ("text/plain; charset=utf-8", [0xC3, 0xBD], "ý"),
            ("text/plain; charset=\"UTF-8\"", [0xC3, 0xBD], "ý"), ("text/plain;charset=EUC-JP", [0xB4, 0xC1], "漢"),
            ("text/plain; charset=utf-16", [0x6F, 0x22], "漢"),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0x22, 0x6F], "漢"),
            ("text/plain; charset=windows-1252", [0x80], "€"), ("text/plain; charset=us-ascii", [0x41], "A"),
        ] as [(String, [UInt8], String)])
    func `TR-11 text is read in its encoding`(_ type: String, _ octets: [UInt8], _ expected: String) async {
        #expect(await load(StubReply(200, [.contentType: type], octets: octets)).entity?.text == expected)
    }

    @Test func `TR-11 unknown encodings and wrong octets are errors`() async {
        let unknown = await load(StubReply(200, [.contentType: "text/plain; charset=oodles-of-noodles"], body: "x"))
        #expect((unknown.cause as? InvalidTextEncoding)?.name == "oodles-of-noodles")
        let wrong = await load(StubReply(200, [.contentType: "text/plain; charset=utf-8"], octets: [0xD8]))
        #expect((wrong.cause as? UndecodableText)?.encoding == "utf-8")
        let hostile = await load(StubReply(200, [.contentType: "text/plain; charset=utf-8//translit"], body: "x"))
        #expect(hostile.cause is InvalidTextEncoding)
    }

    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + Array("IHDR".utf8) + [
            0, 0, 1, 0, 0, 0, 0, 2, 8, 2, 0, 0, 0,
        ]
    private static let jpeg: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 0, 0, 0xFF, 0xC0, 0, 17, 8, 0, 3, 0, 5, 3, 1, 0, 0, 0]
    private static let gif = Array("GIF89a".utf8) + [7, 0, 9, 0]

    @Test(arguments: [(png, ImageInfo.Format.png, 256, 2), (jpeg, .jpeg, 5, 3), (gif, .gif, 7, 9)])
    func `TR-12 images are known by their size`(
        _ octets: [UInt8], _ format: ImageInfo.Format, _ width: Int, _ height: Int
    ) async {
        let image: ImageInfo? = await load(StubReply(200, [.contentType: "image/x"], octets: octets)).entity?
            .typedContent()
        #expect(image?.format == format)
        #expect(image?.width == width)
        #expect(image?.height == height)
        #expect(image?.octets == octets)
    }

    @Test func `TR-12 what is cut off or no image is an error`() async {
        for octets in [Self.png, Self.jpeg, Self.gif] {
            for length in 1..<9 {
                let response = await load(
                    StubReply(200, [.contentType: "image/png"], octets: Array(octets.prefix(length))))
                #expect(response.cause is UnparsableImage)
            }
        }
        #expect(
            await load(StubReply(404, [.contentType: "image/png"], body: "x")).error?.typedContent() == Array("x".utf8))
    }

    @Test func `TR-13 a message in an error response takes the place of the standard one`() async {
        fixture.service.configure {
            $0.pipeline[.cleanup].add(
                ClosureTransformer("message") { response in
                    guard case .failure(var error) = response, let message = error.jsonObject["message"]?.string else {
                        return response
                    }
                    error.userMessage = message
                    return .failure(error)
                })
        }
        #expect(await load(.json(#"{"message":"too many cats"}"#, status: 400)).error?.userMessage == "too many cats")
        #expect(await load(.json("{}", status: 400)).error?.userMessage == "Bad request")
    }

    private struct Wrapper: Sendable { let json: JSONValue }

    @Test func `TR-14 a wrapper feeds the model and a type can be required`() async {
        fixture.service.configureTransformer("/a", atStage: .parsing, action: .appendToExisting) {
            (entity: Entity<JSONValue>) in
            Wrapper(json: entity.content)
        }
        fixture.service.configureTransformer("/a") { (entity: Entity<Wrapper>) in entity.content.json["n"]?.int }
        fixture.service.configure {
            $0.pipeline[.cleanup].add(ResponseContentTransformer("number") { (entity: Entity<Int>) in entity.content })
        }
        #expect(await load(.json(#"{"n":7}"#)).entity?.typedContent() == 7)
        #expect(await load(.json("{}")).cause is TransformerReturnedNil)
        fixture.service.configure { $0.pipeline[.model].removeTransformers() }
        let required = await load(.json("{}")).cause as? WrongInputTypeInTransformerPipeline
        #expect(required?.expected == "Int")
        #expect(required?.transformer == "number")
    }

    @Test func `TR-15 content is shared between threads without being changed`() async {
        // The compiler refuses `Entity(content: NSMutableArray())` and the like: content is Sendable.
        let entity = await load(.json("[1]")).entity
        let values = await withTaskGroup(of: [JSONValue].self) { group in
            for _ in 0..<4 { group.addTask { entity?.jsonArray ?? [] } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(values == [[1], [1], [1], [1]])
    }

    @Test func `B-17 bodies that are not there are not parsed`() async {
        let empty = await load(StubReply(200, [.contentType: "application/json"]))
        #expect(empty.entity?.typedContent() == [UInt8]())
        let error = await load(StubReply(500, [.contentType: "application/json"])).error
        #expect(error?.cause == nil)
        #expect(error?.userMessage == "Internal server error")
    }

    @Test func `what leaves is encoded and described anew`() async throws {
        fixture.service.configureTransformer("/a") { (entity: Entity<JSONValue>) in entity.content["n"] }
        let entity = await load(
            StubReply(
                200,
                [
                    .contentType: "application/vnd.x+json", .eTag: "\"1\"", .contentLength: "7", .contentMD5: "x",
                    .vary: "Accept", .lastModified: "x",
                ], body: #"{"n":7}"#)
        ).entity
        let wire = try #require(entity).encodedForWire()
        #expect(wire.content == Array("7".utf8))
        #expect(wire.contentType == "application/vnd.x+json")
        #expect(wire.fields[.vary] == "Accept")
        for name in [FieldName.eTag, .contentLength, .contentMD5, .lastModified] { #expect(wire.fields[name] == nil) }
        let text = try AnyEntity.text("é", [.contentType: "text/html; charset=iso-8859-1"]).encodedForWire()
        #expect(text.contentType == "text/html; charset=utf-8")
        let none = try AnyEntity.text("é", [.contentType: "application/x"]).encodedForWire()
        #expect(none.contentType == "text/plain; charset=utf-8")
        let html = try AnyEntity.text("é", [.contentType: "text/html; charset=utf-8"]).encodedForWire()
        #expect(html.contentType == "text/html; charset=utf-8")
        #expect(throws: ContentNotEncodable.self) {
            try Entity(content: 7 as any Sendable, timestamp: fixture.clock.now).encodedForWire()
        }
    }

    @Test func `JSON that is too deep to be read anywhere is not sent`() throws {
        func nested(_ levels: Int) -> JSONValue { (0..<levels).reduce(.null) { value, _ in .array([value]) } }
        func encode(_ value: JSONValue) throws -> [UInt8] {
            try Entity(content: value as any Sendable, timestamp: fixture.clock.now).encodedForWire().content
        }
        let most = try encode(nested(JSONValue.depthLimit))
        #expect(try JSONValue(parsing: most) == nested(JSONValue.depthLimit))
        #expect(throws: (any Error).self) { try encode(nested(JSONValue.depthLimit + 1)) }
        #expect(throws: (any Error).self) { try encode(["a": nested(JSONValue.depthLimit)]) }
    }
}
