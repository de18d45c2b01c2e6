// SPDX-License-Identifier: Apache-2.0
import Glibc
import Larder
import LarderTesting
import Synchronization
import Testing

@Suite("Responses transformed for clients")
struct TransformingTests {
    private let fixture = Fixture(standardTransformers: [])
    private var resource: Resource { fixture.service.resource("a") }

    private func received(_ body: String, _ status: Status = 200, type: String = "application/json") -> Entity<[UInt8]>
    {
        Entity(
            content: Array(body.utf8),
            fields: [.contentType: type, .eTag: "\"1\"", .contentLength: "\(body.utf8.count)"],
            status: status, timestamp: fixture.clock.now)
    }

    private func pickName() {
        fixture.service.configure {
            $0.pipeline.add(.json)
            $0.pipeline[.model].add(
                ResponseContentTransformer { (entity: Entity<JSONValue>) in entity.content["name"] })
        }
    }

    private func transform(_ entity: Entity<[UInt8]>) async -> TransformedResponse {
        await resource.transform(resource.configuration) { entity }
    }

    @Test func `content nothing transforms is served as it came`() async {
        fixture.service.configure { $0.pipeline.add(.json) }
        let text = await transform(received("x", type: "text/plain"))
        #expect((try? text.served.get())?.content == Array("x".utf8))
        #expect((try? text.served.get())?.eTag == "\"1\"")
        let configuration = resource.configuration
        #expect(!resource.hasTransformers(for: ResponseHead(fields: [.contentType: "text/plain"]), configuration))
        #expect(resource.hasTransformers(for: ResponseHead(fields: [.contentType: "application/json"]), configuration))
    }

    @Test func `what the last stage makes is served and is the state`() async {
        pickName()
        let transformed = await transform(received(#"{"name":"Ann"}"#))
        #expect(transformed.response.entity?.json == "Ann")
        let served = try? transformed.served.get()
        #expect(served?.content == Array(#""Ann""#.utf8))
        #expect(served?.eTag == nil)
        #expect(served?.contentType == "application/json")
    }

    @Test func `another stage or the origin's octets can be served`() async {
        pickName()
        let entity = received(#"{ "name":"Ann" }"#)
        fixture.service.configure { $0.serving = .stage(.parsing) }
        #expect((try? await transform(entity).served.get())?.content == Array(#"{"name":"Ann"}"#.utf8))
        fixture.service.configure { $0.serving = .raw }
        let raw = await transform(entity)
        #expect((try? raw.served.get())?.content == entity.content)
        #expect((try? raw.served.get())?.eTag == "\"1\"")
        #expect(raw.response.entity?.json == "Ann")
        #expect(!resource.hasTransformers(for: ResponseHead(fields: entity.fields), resource.configuration))
    }

    @Test func `an error of the origin is served and one of the pipeline names its place`() async {
        pickName()
        let sent = await transform(received(#"{ "message": 1 }"#, 404))
        #expect(sent.response.error?.status == 404)
        #expect((try? sent.served.get())?.content == Array(#"{"message":1}"#.utf8))
        let failed = await transform(received("{}")).served
        guard case .failure(let error) = failed else {
            Issue.record("a transformer that returns nothing must fail")
            return
        }
        #expect(error.cause is TransformerReturnedNil)
        #expect(error.stage == .model)
        #expect(error.transformer == "transformer JSONValue → JSONValue")
        #expect(error.url == resource.url)
    }

    @Test func `what cannot be encoded is an error`() async {
        fixture.service.configure {
            $0.pipeline[.model].add(ResponseContentTransformer { (entity: Entity<[UInt8]>) in entity.content.count })
        }
        let transformed = await transform(received("xx"))
        #expect(transformed.response.entity?.typedContent() == 2)
        guard case .failure(let error) = transformed.served else {
            Issue.record("a number is not octets")
            return
        }
        #expect(error.cause is ContentNotEncodable)
    }

    @Test func `a transformer that makes too much is an error and leaves the data`() async {
        fixture.service.configure {
            $0.transformedSizeLimit = 100
            $0.pipeline[.decoding].add(
                ResponseContentTransformer("bomb") { (entity: Entity<[UInt8]>) in
                    entity.content.count == 1 ? [UInt8](repeating: 0, count: 101) : entity.content
                })
        }
        let resource = resource
        fixture.reply("a", StubReply(200, body: "fine"), StubReply(200, body: "x"))
        await resource.load().response()
        await resource.load().response()
        let error = resource.latestError
        #expect((error?.cause as? TransformedContentTooLarge)?.size == 101)
        #expect(error?.stage == .decoding)
        #expect(error?.transformer == "bomb")
        #expect(error?.isTransient == false)
        #expect(resource.typedContent() == Array("fine".utf8))
    }

    @Test func `a transformer that hangs is an error that names it and its result is ignored`() async {
        let isRunning = Recorder<Int>()
        let release = Release()
        fixture.service.configure {
            $0.transformTimeout = .seconds(5)
            $0.pipeline[.cleanup].add(
                ClosureTransformer("sleeper") { response in
                    isRunning(1)
                    release.wait()
                    return response
                })
        }
        fixture.reply("a", StubReply(200, body: "x"))
        let resource = resource
        let request = resource.load()
        while isRunning.count == 0 { await Task.yield() }
        fixture.clock.advance(by: .seconds(5))
        await request.response()
        release.now()
        let error = resource.latestError
        #expect((error?.cause as? TransformerTimedOut)?.limit == .seconds(5))
        #expect(error?.stage == .cleanup)
        #expect(error?.transformer == "sleeper")
        #expect(resource.latestData == nil)
    }

    @Test func `transformers that hang hold others up for no longer than half a second`() async {
        let running = Recorder<Int>()
        let release = Release()
        fixture.service.configure("/hanging/*") {
            $0.transformTimeout = .seconds(60)
            $0.pipeline[.cleanup].add(
                ClosureTransformer("sleeper") { response in
                    running(1)
                    release.wait()
                    return response
                })
        }
        fixture.service.configure("/a") {
            $0.pipeline[.cleanup].add(ClosureTransformer("text") { $0.map { $0.withContent("fine" as any Sendable) } })
        }
        let count = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        var hanging: [Request] = []
        for number in 0..<count {
            fixture.reply("hanging/\(number)", StubReply(200, body: "x"))
            hanging.append(fixture.service.resource("hanging/\(number)").load())
        }
        while running.count < count { await Task.yield() }
        fixture.reply("a", .text("fine"))
        let other = resource.load()
        fixture.clock.advance(by: .milliseconds(500))
        await other.response()
        #expect(resource.typedContent() == "fine")
        #expect(hanging.allSatisfy { $0.state == .inProgress })
        release.now()
        for request in hanging { await request.response() }
        // Those that were slow have their results.
        #expect(fixture.service.resource("hanging/0").latestError == nil)
    }
}

/// Holds a thread up until it is let go.
private final class Release: Sendable {
    private let isReleased = Atomic(false)
    func wait() { while !isReleased.load(ordering: .acquiring) {} }
    func now() { isReleased.store(true, ordering: .releasing) }
}
