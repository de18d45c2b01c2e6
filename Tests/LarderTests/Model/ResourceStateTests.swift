// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("The state of resources")
struct ResourceStateTests {
    private let fixture = Fixture()

    @Test func `RS-01 a new resource knows nothing`() {
        let resource = fixture.service.resource("a")
        #expect(resource.latestData == nil)
        #expect(resource.latestError == nil)
        #expect(resource.timestamp == nil)
        #expect(!resource.isLoading)
        #expect(!resource.isRequesting)
        #expect(!resource.isUpToDate)
        #expect(resource.loadRequests.isEmpty)
        #expect(resource.allRequests.isEmpty)
        #expect(resource.description == "Resource(a)[]")
    }

    @Test func `RS-02 the latest data has type charset fields and tag`() async {
        fixture.reply(
            "a",
            StubReply(
                200, [.contentType: "text/monkey; body=fuzzy; charset=euc-jp; arms=long", .eTag: "\"1\"", "X-A": "1"],
                octets: [0xB4, 0xC1]))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        let data = resource.latestData
        #expect(data?.contentType == "text/monkey; body=fuzzy; charset=euc-jp; arms=long")
        #expect(data?.charset == "euc-jp")
        #expect(data?.eTag == "\"1\"")
        #expect(data?.field("x-a") == "1")
        #expect(data?.field("X-None") == nil)
        #expect(data?.status == 200)
        #expect(resource.text == "漢")
        fixture.reply("b", StubReply(200, body: "x"))
        let plain = fixture.service.resource("b")
        _ = await plain.load().response()
        #expect(plain.latestData?.contentType == "application/octet-stream")
        #expect(plain.latestData?.charset == nil)
    }

    @Test func `RS-03 data survives errors`() async {
        fixture.reply("a", .text("data"), .text("oops", status: 500))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        _ = await resource.load().response()
        #expect(resource.text == "data")
        #expect(resource.latestError?.status == 500)
        #expect(resource.latestError?.text == "oops")
        #expect(resource.description == "Resource(a)[DE]")
    }

    @Test(arguments: ["success", "304", "override", "wipe"])
    func `RS-04 errors are cleared`(_ by: String) async {
        fixture.transport.reply(
            .get, Fixture.url("a"), .text("data", [.eTag: "\"1\""]), .text("oops", status: 500),
            by == "304" ? StubReply(304) : .text("new"))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        _ = await resource.load().response()
        #expect(resource.latestError != nil)
        switch by {
        case "override": resource.overrideLocalData(with: .text("local"))
        case "wipe": resource.wipe()
        default: _ = await resource.load().response()
        }
        #expect(resource.latestError == nil)
    }

    @Test func `RS-05 the timestamp is the newer of data and error`() async {
        fixture.reply("a", .text("data"), .failure(Disconnected()), .text("data"))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        #expect(resource.timestamp == Timestamp(seconds: 1_000))
        fixture.clock.advance(by: .seconds(10))
        _ = await resource.load().response()
        #expect(resource.timestamp == Timestamp(seconds: 1_010))
        fixture.clock.advance(by: .seconds(10))
        _ = await resource.load().response()
        #expect(resource.timestamp == Timestamp(seconds: 1_020))
        resource.overrideLocalData(with: .text("old", seconds: 5))
        #expect(resource.timestamp == Timestamp(seconds: 5))
    }

    @Test func `RS-06 requests in progress are listed in order`() async {
        let resource = fixture.service.resource("a")
        let held = [fixture.transport.hold(.get, Fixture.url("a")), fixture.transport.hold(.get, Fixture.url("a"))]
        let post = fixture.transport.hold(.post, Fixture.url("a"))
        let first = resource.load()
        await held[0].sent()
        let second = resource.load()
        await held[1].sent()
        let third = resource.request(.post)
        await post.sent()
        #expect(resource.loadRequests.map(ObjectIdentifier.init) == [first, second].map(ObjectIdentifier.init))
        #expect(resource.allRequests.map(ObjectIdentifier.init) == [first, second, third].map(ObjectIdentifier.init))
        #expect(resource.isLoading)
        held[0].release(.text("1"))
        _ = await first.response()
        #expect(resource.loadRequests.map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
        held[1].release(.text("2"))
        _ = await second.response()
        #expect(!resource.isLoading)
        #expect(resource.isRequesting)
        post.release()
        _ = await third.response()
        #expect(!resource.isRequesting)
    }

    @Test func `RS-07 data is up to date as long as its lifetime inclusive`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("x"))
        _ = await resource.load().response()
        fixture.clock.advance(by: .seconds(30))
        #expect(resource.isUpToDate)
        fixture.clock.advance(by: .nanoseconds(1))
        #expect(!resource.isUpToDate)
    }

    @Test func `RS-07 an error shortens freshness`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("x"), .failure(Disconnected()))
        _ = await resource.load().response()
        _ = await resource.load().response()
        fixture.clock.advance(by: .seconds(1))
        #expect(resource.isUpToDate)
        fixture.clock.advance(by: .nanoseconds(1))
        #expect(!resource.isUpToDate)
    }

    @Test func `RS-07 what was never loaded is never up to date`() {
        fixture.service.configure { $0.expirationTime = .seconds(Int64.max / 2_000_000_000) }
        #expect(!fixture.service.resource("a").isUpToDate)
        #expect(fixture.service.resource("a").loadIfNeeded() != nil)
    }

    @Test func `RS-07 a clock that was put back makes data stale`() {
        let resource = fixture.service.resource("a")
        resource.overrideLocalData(with: .text("x", seconds: 1_001))
        #expect(resource.isUpToDate)
        fixture.clock.set(seconds: 999)
        #expect(!resource.isUpToDate)
    }

    @Test func `RS-07 HT-06 an origin that asks to be left alone is`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("slow down", status: 429, [.retryAfter: "60"]))
        _ = await resource.load().response()
        fixture.clock.advance(by: .seconds(60))
        #expect(resource.isUpToDate)
        fixture.clock.advance(by: .seconds(1))
        #expect(!resource.isUpToDate)
    }

    @Test func `RS-23 an override replaces data clears errors and tells observers`() async {
        let (resource, recorder) = fixture.observed("a")
        fixture.reply("a", .failure(Disconnected()))
        _ = await resource.load().response()
        recorder.reset()
        let entity = AnyEntity.text("local", seconds: 990)
        resource.overrideLocalData(with: entity)
        #expect(resource.text == "local")
        #expect(resource.timestamp == Timestamp(seconds: 990))
        #expect(resource.latestError == nil)
        #expect(recorder.events == ["newData(localOverride)"])
    }

    @Test func `RS-24 overriding content keeps fields and touches the time`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("x", ["X-A": "1"]))
        _ = await resource.load().response()
        fixture.clock.advance(by: .seconds(5))
        resource.overrideLocalContent(with: "y")
        #expect(resource.text == "y")
        #expect(resource.latestData?.field("X-A") == "1")
        #expect(resource.timestamp == Timestamp(seconds: 1_005))
        let empty = fixture.service.resource("b")
        empty.overrideLocalContent(with: "z")
        #expect(empty.latestData?.contentType == "application/binary")
        #expect(empty.timestamp == Timestamp(seconds: 1_005))
    }

    @Test func `B-04 HT-17 an override is never validated as if it were the origin's`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("x", [.eTag: "\"1\"", .lastModified: "Sun, 06 Nov 1994 08:49:37 GMT"]), .text("new"))
        _ = await resource.load().response()
        resource.overrideLocalContent(with: "local")
        #expect(resource.latestData?.eTag == "\"1\"")
        #expect(resource.latestData?.isLocalOverride == true)
        _ = await resource.load().response()
        let sent = fixture.transport.sent.last?.fields
        #expect(sent?[.ifNoneMatch] == nil)
        #expect(sent?[.ifModifiedSince] == nil)
        #expect(resource.text == "new")
        #expect(resource.latestData?.isLocalOverride == false)
    }

    @Test func `RS-26 invalidating asks nobody and has the next loadIfNeeded load`() async {
        let (resource, recorder) = fixture.observed("a")
        resource.overrideLocalData(with: .text("x"))
        recorder.reset()
        resource.invalidate()
        #expect(!resource.isUpToDate)
        #expect(resource.text == "x")
        #expect(resource.timestamp == Timestamp(seconds: 1_000))
        #expect(recorder.events.isEmpty)
        #expect(fixture.transport.sent.isEmpty)
        fixture.reply("a", .text("y"))
        _ = await resource.loadIfNeeded()?.response()
        #expect(resource.text == "y")
    }

    @Test(arguments: [("success", true), ("failure", true), ("override", true), ("cancel", false)])
    func `RS-27 what clears an invalidation`(_ by: String, _ isCleared: Bool) async {
        let resource = fixture.service.resource("a")
        resource.overrideLocalData(with: .text("x"))
        resource.invalidate()
        switch by {
        case "success":
            fixture.reply("a", .text("y"))
            _ = await resource.load().response()
        case "failure":
            fixture.reply("a", .failure(Disconnected()))
            _ = await resource.load().response()
        case "override": resource.overrideLocalData(with: .text("z"))
        default:
            let held = fixture.transport.hold(.get, Fixture.url("a"))
            let request = resource.load()
            await held.sent()
            request.cancel()
            _ = await request.response()
        }
        #expect(resource.isUpToDate == isCleared)
    }

    @Test func `RS-27 B-05 an invalidation during a load is not lost`() async {
        let resource = fixture.service.resource("a")
        let old = fixture.transport.hold(.get, Fixture.url("a"))
        let first = resource.loadIfNeeded()
        await old.sent()
        #expect(resource.loadIfNeeded() === first)
        resource.invalidate()
        let new = fixture.transport.hold(.get, Fixture.url("a"))
        let second = resource.loadIfNeeded()
        #expect(second != nil && second !== first)
        await new.sent()
        old.release(.text("old"))
        _ = await first?.response()
        #expect(resource.text == "old")
        #expect(!resource.isUpToDate)
        new.release(.text("new"))
        _ = await second?.response()
        #expect(resource.text == "new")
        #expect(resource.isUpToDate)
    }

    @Test func `RS-28 PG-01 the progress of a load that a wipe ends is told before its end`() async {
        let order = Recorder<String>()
        final class Listener: ResourceObserver {
            let order: Recorder<String>
            init(_ order: Recorder<String>) { self.order = order }
            func resourceChanged(_ resource: Resource, _ event: ResourceEvent, _ state: ResourceState) {
                order("\(event)")
            }
            func resourceRequestProgress(for resource: Resource, progress: Double) { order("progress \(progress)") }
        }
        let resource = fixture.service.resource("a")
        let held = fixture.transport.hold(Fixture.url("a"))
        let listener = Listener(order)
        resource.addObserver(listener)
        resource.load().onCompletion { _ in order("over") }
        resource.wipe()
        await held.cancelled()
        #expect(
            order.values == [
                "observerAdded", "requested", "progress 1.0", "over", "newData(wipe)", "requestCancelled",
            ])
        withExtendedLifetime(listener) {}
    }

    @Test func `RS-28 a wipe clears and cancels everything`() async {
        let (resource, recorder) = fixture.observed("a")
        resource.overrideLocalData(with: .text("x"))
        let load = fixture.transport.hold(.get, Fixture.url("a"))
        let post = fixture.transport.hold(.post, Fixture.url("a"))
        let foreign = fixture.transport.hold(.put, Fixture.url("b"))
        let requests = [
            resource.load(), resource.request(.post), resource.load(using: fixture.service.resource("b").request(.put)),
        ]
        for held in [load, post, foreign] { await held.sent() }
        recorder.reset()
        resource.wipe()
        #expect(resource.latestData == nil)
        #expect(resource.latestError == nil)
        #expect(!resource.isLoading)
        #expect(!resource.isRequesting)
        #expect(recorder.events == ["newData(wipe)", "requestCancelled", "requestCancelled"])
        for request in requests { #expect(request.info?.response.isCancellation == true) }
        for held in [load, post, foreign] {
            await held.cancelled()
            held.release(.text("late"))
        }
        for request in requests { _ = await request.response() }
        #expect(resource.latestData == nil)
        #expect(recorder.events.count == 3)
    }

    @Test func `RS-30 typed accessors have lazy defaults`() {
        let resource = fixture.service.resource("a")
        let calls = Recorder<Int>()
        func fallback() -> Price {
            calls(1)
            return Price(amount: 0)
        }
        #expect(resource.text == "")
        #expect(resource.json == nil)
        #expect(resource.jsonObject.isEmpty)
        #expect(resource.jsonArray.isEmpty)
        #expect(resource.typedContent() as Price? == nil)
        #expect(resource.typedContent(ifNone: fallback()) == Price(amount: 0))
        #expect(calls.count == 1)
        resource.overrideLocalContent(with: Price(amount: 7))
        #expect(resource.typedContent(ifNone: fallback()) == Price(amount: 7))
        #expect(resource.price == 7)
        #expect(calls.count == 1)
        resource.overrideLocalContent(with: JSONValue.object(["a": 1]))
        #expect(resource.jsonObject["a"] == 1)
        #expect(resource.latestData?.json?["a"] == 1)
    }

    @Test func `B-22 typed resources load what they say or fail`() async throws {
        fixture.reply("a", .text("words"))
        let words: TypedResource<String> = fixture.service.resource("a").typed()
        #expect(try await words.loadIfNeeded().content == "words")
        #expect(words.content == "words")
        #expect(try await words.loadIfNeeded().content == "words")
        #expect(fixture.transport.sent.count == 1)
        let numbers = fixture.service.resource("a").typed(as: Int.self)
        await #expect(throws: RequestError.self) { try await numbers.load() }
        #expect(numbers.latestData == nil)
    }

    /// Content of a program that looks at its resource when it goes.
    private final class Looking: Sendable {
        let resource: Resource
        let seen: Recorder<String>

        init(_ resource: Resource, _ seen: Recorder<String>) { (self.resource, self.seen) = (resource, seen) }

        deinit {
            seen("\(resource.latestData?.content is Looking)")
            resource.removeObservers(ownedBy: self)
        }
    }

    @Test func `content that is replaced may look at its resource while it goes`() async {
        let resource = fixture.service.resource("a")
        let seen = Recorder<String>()
        func entity() -> AnyEntity {
            Entity(
                content: Looking(resource, seen) as any Sendable, contentType: "x/y", timestamp: Timestamp(seconds: 1))
        }
        resource.overrideLocalData(with: entity())
        resource.overrideLocalData(with: entity())
        fixture.reply("a", .text("loaded"))
        await resource.load().response()
        resource.overrideLocalData(with: entity())
        resource.wipe()
        while seen.count < 3 { await Task.yield() }
    }

    @Test func `RS-27 B-05 what is asked for after an invalidation makes up for it, whenever it was wanted`() async {
        let resource = fixture.service.resource("a")
        let cache = HeldCache()
        fixture.service.configure { $0.pipeline[.parsing].cacheUsing(cache) }
        let load = resource.loadIfNeeded()
        await cache.isRead()
        resource.invalidate()
        fixture.reply("a", .text("new"))
        cache.release()
        _ = await load?.response()
        #expect(resource.text == "new")
        #expect(resource.isUpToDate)
    }

    /// An empty cache that is read for as long as the test says.
    private final class HeldCache: EntityCache {
        private let (reads, read) = AsyncStream.makeStream(of: Void.self)
        private let (releases, releasing) = AsyncStream.makeStream(of: Void.self)

        func isRead() async { for await _ in reads { return } }
        func release() { releasing.finish() }

        func key(for subject: CacheSubject) -> CacheSubject? { subject }
        func readEntity(for key: CacheSubject) async throws -> Entity<String>? {
            read.yield()
            for await _ in releases {}
            return nil
        }
        func writeEntity(_ entity: Entity<String>, for key: CacheSubject) {}
        func removeEntity(for key: CacheSubject) {}
    }
}

private struct Price: Sendable, Equatable { var amount: Int }

extension TypedContentAccessors {
    /// An accessor of one's own.
    fileprivate var price: Int? { typedContent(as: Price.self)?.amount }
}
