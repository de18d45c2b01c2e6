// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

/// Appends text to text, or to octets read as text.
private func appending(_ suffix: String) -> ClosureTransformer {
    ClosureTransformer("append \(suffix)") { response in
        guard case .success(let entity) = response else { return response }
        let text = entity.typedContent() ?? String(decoding: entity.typedContent() ?? [UInt8](), as: UTF8.self)
        return .success(entity.withContent((text + suffix) as any Sendable))
    }
}

extension Fixture {
    /// A service whose stages, but the first, each append the first three letters of their names.
    fileprivate static func appenders() -> Fixture {
        let fixture = Fixture(standardTransformers: [])
        fixture.service.configure {
            for stage in [PipelineStageKey.decoding, .parsing, .model, .cleanup] {
                $0.pipeline[stage].add(appending(String(stage.name.prefix(3))))
            }
        }
        return fixture
    }

    fileprivate func result(_ path: String = "a") async -> String {
        reply(path, StubReply(200, body: ""))
        let resource = service.resource(path)
        _ = await resource.load().response()
        return resource.text
    }
}

@Suite("Pipelines")
struct PipelineTests {
    private static let munging = PipelineStageKey("munging")

    @Test func `PL-01 five stages run in their order`() async {
        #expect(Pipeline.defaultOrder.map(\.name) == ["rawData", "decoding", "parsing", "model", "cleanup"])
        #expect(await Fixture.appenders().result() == "decparmodcle")
    }

    @Test func `PL-02 stages can be put in another order left out or added`() async {
        let reordered = Fixture.appenders()
        reordered.service.configure { try? $0.pipeline.setOrder([.rawData, .parsing, .cleanup, .model, .decoding]) }
        #expect(await reordered.result() == "parclemoddec")
        let fewer = Fixture.appenders()
        fewer.service.configure { $0.pipeline.order = [.parsing, .decoding] }
        #expect(await fewer.result() == "pardec")
        let more = Fixture.appenders()
        more.service.configure {
            try? $0.pipeline.setOrder([.rawData, .decoding, .parsing, Self.munging, .model, .cleanup])
            $0.pipeline[PipelineStageKey("munging")].add(appending("♫"))
        }
        #expect(await more.result() == "decpar♫modcle")
    }

    @Test func `PL-03 a stage cannot stand twice and one left out is noticed`() {
        var pipeline = Pipeline()
        #expect(throws: PipelineError.duplicateStage(.model)) { try pipeline.setOrder([.model, .parsing, .model]) }
        #expect(pipeline.order == Pipeline.defaultOrder)
        pipeline[Self.munging].add(appending("x"))
        #expect(pipeline.unusedStages == [Self.munging])
        #expect(!pipeline.hasTransformers)
    }

    @Test func `PL-04 stages are read and set`() {
        var pipeline = Pipeline()
        #expect(pipeline[.model].transformers.isEmpty)
        var stage = PipelineStage()
        stage.add(appending("x"))
        pipeline[.model] = stage
        #expect(pipeline[.model].transformers.count == 1)
        #expect(pipeline.hasTransformers)
        let copy = pipeline
        pipeline[.model].removeAllTransformers()
        #expect(copy[.model].transformers.count == 1)
    }

    @Test func `PL-05 transformers run in the order added and can be replaced for a pattern`() async {
        let fixture = Fixture.appenders()
        fixture.service.configure("/a") {
            for name in ["do", "re", "mi"] { $0.pipeline[.decoding].add(appending(name)) }
        }
        #expect(await fixture.result("a") == "decdoremiparmodcle")
        #expect(await fixture.result("b") == "decparmodcle")
        fixture.service.configure("/b") {
            $0.pipeline[.model].removeTransformers()
            $0.pipeline[.model].add(appending("ti"))
        }
        #expect(await fixture.result("b") == "decparticle")
    }

    @Test func `PL-06 PL-07 transformers and caches are removed separately`() async {
        let cache = RecordingCache<String>()
        let fixture = Fixture.appenders()
        fixture.service.configure { $0.pipeline[.model].cacheUsing(cache) }
        fixture.service.configure("/bare") { $0.pipeline.removeAllTransformers() }
        fixture.service.configure("/secret") { $0.pipeline.removeAllCaches() }
        fixture.service.configure("/unkept") { $0.pipeline[.model].doNotCache() }
        fixture.service.configure("/none") { $0.caching = .none }
        for path in ["secret", "unkept", "none"] { #expect(await fixture.result(path) == "decparmodcle") }
        #expect(await fixture.result("bare") == "")
        #expect(await fixture.result("kept") == "decparmodcle")
        await fixture.service.finishCacheWork()
        #expect(cache.log == ["write /v1/kept"])
    }

    @Test func `PL-08 a cleared pipeline gives the octets`() async {
        let fixture = Fixture.appenders()
        fixture.service.configure { $0.pipeline.clear() }
        fixture.reply("a", StubReply(200, [.contentType: "application/json"], body: "{}"))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        #expect(resource.typedContent() == Array("{}".utf8))
    }

    @Test func `PL-09 a standard transformer can be added for one resource`() async {
        let fixture = Fixture(standardTransformers: [])
        fixture.service.configure("/a") { $0.pipeline.add(.json) }
        fixture.service.configure("/b") { $0.pipeline.add(.json, atStage: .cleanup) }
        for path in ["a", "b", "c"] {
            fixture.reply(path, .json("[1]"))
            _ = await fixture.service.resource(path).load().response()
        }
        #expect(fixture.service.resource("a").jsonArray == [1])
        #expect(fixture.service.resource("b").jsonArray == [1])
        #expect(fixture.service.resource("c").json == nil)
    }

    @Test func `PL-10 each method has its pipeline`() async {
        let fixture = Fixture()
        fixture.service.configureTransformer("/widgets", methods: [.get]) { (entity: Entity<JSONValue>) in
            entity.content.array?.compactMap(\.string)
        }
        fixture.service.configureTransformer("/widgets", methods: [.post]) { (entity: Entity<JSONValue>) in
            entity.content["name"]?.string
        }
        fixture.reply("widgets", .json(#"["a","b"]"#))
        fixture.transport.reply(.post, Fixture.url("widgets"), .json(#"{"name":"c"}"#))
        let widgets = fixture.service.resource("widgets")
        _ = await widgets.load().response()
        let posted = await widgets.request(.post).response()
        #expect(widgets.typedContent() == ["a", "b"])
        #expect(posted.response.entity?.typedContent() == "c")
    }

    @Test func `PL-11 what comes out of the pipeline decides success`() async {
        let fixture = Fixture()
        fixture.service.configure("/missing") {
            $0.pipeline[.cleanup].add(
                ClosureTransformer("404 is empty") { response in
                    guard case .failure(let error) = response, error.status == 404, let entity = error.entity else {
                        return response
                    }
                    return .success(entity.withContent("" as any Sendable))
                })
        }
        fixture.service.configure("/sad") {
            $0.pipeline[.cleanup].add(
                ClosureTransformer("error inside") { response in
                    guard case .success(let entity) = response else { return response }
                    return .failure(RequestError(userMessage: entity.text, timestamp: entity.timestamp))
                })
        }
        fixture.reply("missing", .text("not here", status: 404))
        fixture.reply("sad", .text("it failed"))
        let (missing, sad) = (fixture.service.resource("missing"), fixture.service.resource("sad"))
        _ = await missing.load().response()
        _ = await sad.load().response()
        #expect(missing.latestError == nil)
        #expect(missing.latestData?.status == 404)
        #expect(sad.latestData == nil)
        #expect(sad.latestError?.userMessage == "it failed")
        #expect(sad.latestError?.status == 200)
        #expect(sad.latestError?.text == "it failed")
    }

    @Test func `PL-12 a response is transformed once for all who want it`() async {
        let calls = Recorder<Int>()
        let fixture = Fixture()
        fixture.service.configure {
            $0.pipeline[.model].add(
                ClosureTransformer("count") { response in
                    calls(1)
                    return response
                })
        }
        fixture.reply("a", .text("x", [.eTag: "\"1\""]), StubReply(304))
        let resource = fixture.service.resource("a")
        let recorders = (0..<5).map { _ in EventRecorder() }
        for recorder in recorders { resource.addObserver(recorder) }
        let request = resource.load()
        for _ in 0..<5 { request.onSuccess { _ in } }
        _ = await request.response()
        #expect(calls.count == 1)
        _ = await resource.load().response()
        #expect(resource.latestError == nil)
        #expect(calls.count == 1)
    }

    @Test func `PL-13 transformers do not run where state changes are told`() async {
        let fixture = Fixture()
        let resource = fixture.service.resource("a")
        fixture.service.configure {
            $0.pipeline[.model].add(
                ClosureTransformer("look back") { response in
                    // Using the resource from inside would wait for itself if it ran under its lock or as its turn.
                    resource.overrideLocalData(with: .text("from inside"))
                    return response
                })
        }
        fixture.reply("a", .text("x"))
        _ = await resource.load().response()
        #expect(resource.text == "x")
    }

    @Test func `B-09 a request is finished with the configuration it was made with`() async {
        let fixture = Fixture.appenders()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let resource = fixture.service.resource("a")
        let request = resource.load()
        await held.sent()
        fixture.service.configure { $0.pipeline[.cleanup].add(appending("!")) }
        held.release(StubReply(200, body: ""))
        _ = await request.response()
        #expect(resource.text == "decparmodcle")
        #expect(await fixture.result() == "decparmodcle!")
    }
}
