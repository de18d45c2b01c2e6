// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("Errors")
struct RequestErrorTests {
    private let now = Timestamp(seconds: 1)

    private struct Named: Error, CustomStringConvertible { let description = "the reason" }

    @Test func `ER-01 the message is the most specific there is`() {
        #expect(
            RequestError(status: 404, cause: Named(), userMessage: "explicit", timestamp: now).userMessage == "explicit"
        )
        #expect(RequestError(status: 404, cause: Named(), timestamp: now).userMessage == "the reason")
        #expect(RequestError(status: 404, timestamp: now).userMessage == "Not found")
        #expect(RequestError(status: 500, timestamp: now).userMessage == "Internal server error")
        #expect(RequestError(status: 599, timestamp: now).userMessage == "Server error")
        #expect(RequestError(timestamp: now).userMessage == "Request failed")
    }

    @Test func `ER-01 B-36 an error says what it is about`() async {
        let fixture = Fixture()
        fixture.reply("a", .text("sorry", status: 503, ["X-A": "1"]))
        let error = await fixture.service.resource("a").load().response().response.error
        #expect(error?.status == 503)
        #expect(error?.text == "sorry")
        #expect(error?.fields["X-A"] == "1")
        #expect(error?.url?.string == Fixture.url("a"))
        #expect(error?.method == .get)
        #expect(error?.attempt == 1)
        #expect(error?.timestamp == Timestamp(seconds: 1_000))
        #expect(error?.isTransient == true)
        #expect(
            error?.description == "GET https://api.example/v1/a: 503: Service unavailable; the content: \"sorry\"")
    }

    @Test func `ER-01 an error prints all that is known`() async {
        let fixture = Fixture()
        fixture.service.configureTransformer("**", description: "the model") { (_: JSONValue, _) -> String in
            throw Named()
        }
        let content = #"{"a":""# + String(repeating: "é", count: 200) + #""}"#
        fixture.reply("a", .json(content))
        let error = await fixture.service.resource("a").load().response().response.error
        let shown = String(content.prefix(200)).debugDescription
        let text = error?.description ?? ""
        #expect(
            text.hasPrefix(
                "GET https://api.example/v1/a: 200: Cannot parse server response; at stage model, by the model; "
                    + "because: the reason; the content begins with "))
        let end = text.firstRange(of: "begins with ").map { String(text[$0.upperBound...]) } ?? ""
        #expect(shown.hasPrefix(end.dropLast()))
        #expect(end.count > 100)
    }

    @Test(arguments: [[0xFF, 0x00], [], [0x89, 0x50]] as [[UInt8]])
    func `ER-01 content that is no text is not printed`(_ octets: [UInt8]) {
        let entity = AnyEntity(content: octets as any Sendable, timestamp: now)
        #expect(RequestError(status: 500, entity: entity, timestamp: now).description == "500: Internal server error")
    }

    @Test(arguments: [
        (Status(408), true), (429, true), (502, true), (503, true), (504, true), (400, false), (404, false),
        (500, false),
    ])
    func `ER-01 some statuses pass and others do not`(_ status: Status, _ isTransient: Bool) {
        #expect(RequestError(status: status, timestamp: now).isTransient == isTransient)
    }

    @Test func `ER-02 B-39 every cause can be made and says something`() {
        let causes: [any Error] = [
            InvalidURL(url: "x"), UnencodableText(encoding: .ascii, text: "é"), InvalidJSONObject(type: "number"),
            NotURLEncodable(name: ""),
            RequestCancelled(networkError: Named()), RequestCancelled(), NoLocalDataFor304(),
            InvalidTextEncoding(name: "x"),
            UndecodableText(encoding: "utf-8"), JSONResponseIsNotDictionaryOrArray(type: "null"), UnparsableImage(),
            WrongInputTypeInTransformerPipeline(expected: "A", actual: "B", transformer: "t"),
            TransformerReturnedNil(transformer: "t"), AbandonedByDelegate(), TransportFailure(Named()),
            ServiceOffline(),
            TokenMissing(), ContentNotEncodable(type: "T"), JSONSyntaxError(offset: 1, problem: "x"),
            HTTPError(head: ResponseHead(status: 404)),
        ]
        for cause in causes {
            let error = RequestError(cause: cause, timestamp: now)
            #expect(error.userMessage.count > 3)
            #expect(error.isCancellation == (cause is RequestCancelled))
        }
        #expect(!RequestError(cause: InvalidURL(url: "x"), timestamp: now).isTransient)
        #expect(RequestError(cause: Named(), timestamp: now).isTransient)
    }

    @Test func `ER-02 a broken transfer keeps what had arrived`() async {
        let service = Service(
            baseURL: "https://h",
            transport: ClosureTransport { _, _ in
                throw TransportFailure(
                    Disconnected(),
                    response: IncomingResponse(response: ResponseHead(status: 200), body: Array("par".utf8)))
            })
        let error = await service.resource("a").load().response().response.error
        #expect(error?.cause is Disconnected)
        #expect(error?.status == 200)
        #expect(error?.typedContent() == Array("par".utf8))
    }
}

@Suite("The log")
struct ModelLogTests {
    @Test func `LG-01 categories are chosen while the service runs and lines go where one wants`() async {
        let lines = Recorder<String>()
        let log = ModelLog { category, line in lines("\(category.names.joined()) \(line)") }
        let fixture = Fixture(log: log)
        fixture.reply("a", .text("x", [.setCookie: "secret"]))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        #expect(lines.count == 0)
        log.categories = .common
        _ = await resource.load().response()
        #expect(lines.values.contains("network GET https://api.example/v1/a started"))
        #expect(lines.values.contains("stateChanges https://api.example/v1/a: newData(network)"))
        #expect(!lines.values.contains { $0.hasPrefix("networkDetails") })
        log.categories = .all
        _ = await resource.load().response()
        #expect(lines.values.contains { $0.hasPrefix("networkDetails") && $0.contains("Set-Cookie: [redacted]") })
        #expect(!lines.values.contains { $0.contains("secret") })
    }

    @Test func `LG-01 categories have names and presets`() {
        #expect(LogCategories.common.names == ["network", "stateChanges", "staleness"])
        #expect(LogCategories.detailed == LogCategories.all.subtracting(.networkDetails))
        #expect(LogCategories(name: "cache") == .cache)
        #expect(LogCategories(name: "nonsense") == nil)
        #expect(LogCategories.all.names.count == 8)
    }
}
