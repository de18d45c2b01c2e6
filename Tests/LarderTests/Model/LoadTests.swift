// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderTesting
import Testing

@Suite("Loading resources")
struct LoadTests {
    private let fixture = Fixture()

    @Test func `RS-08 OB-05 a plain request changes and tells nothing`() async {
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        fixture.reply("a", .text("x"))
        let info = await resource.request(.get).response()
        #expect(info.response.entity?.text == "x")
        #expect(resource.latestData == nil)
        #expect(recorder.events.isEmpty)
    }

    @Test func `RS-09 load always asks`() async {
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        fixture.reply("a", .text("x"))
        _ = await resource.load().response()
        _ = await resource.load().response()
        #expect(fixture.transport.sent.count == 2)
        #expect(recorder.events == ["requested loading", "newData(network)", "requested loading", "newData(network)"])
    }

    @Test func `RS-10 a cancelled load leaves the state as it was`() async {
        let (resource, recorder) = fixture.observed("a")
        resource.overrideLocalData(with: .text("x"))
        recorder.reset()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = resource.load()
        await held.sent()
        request.cancel()
        let info = await request.response()
        #expect(info.response.isCancellation)
        #expect(recorder.events == ["requested loading", "requestCancelled"])
        #expect(resource.text == "x")
        #expect(resource.latestError == nil)
        await held.cancelled()
    }

    @Test func `RS-11 RS-13 HT-05 a 304 confirms the data and renews its time and fields`() async {
        let (resource, recorder) = fixture.observed("a")
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        fixture.reply(
            "a", .text("x", [.eTag: "\"1\"", .lastModified: date, "X-Kept": "1", "X-Changed": "old"]),
            StubReply(304, ["X-Changed": "new", .contentType: "text/other", .contentLength: "0"]))
        _ = await resource.load().response()
        recorder.reset()
        fixture.clock.advance(by: .seconds(50))
        let info = await resource.load().response()
        #expect(fixture.transport.sent.last?.fields[.ifNoneMatch] == "\"1\"")
        #expect(fixture.transport.sent.last?.fields[.ifModifiedSince] == date)
        #expect(!info.isNew)
        #expect(recorder.events == ["requested loading", "notModified"])
        #expect(resource.text == "x")
        #expect(resource.timestamp == Timestamp(seconds: 1_050))
        #expect(resource.latestData?.field("X-Kept") == "1")
        #expect(resource.latestData?.field("X-Changed") == "new")
        #expect(resource.latestData?.contentType == "text/plain; charset=utf-8")
        #expect(resource.isUpToDate)
    }

    @Test(arguments: [400, 401, 402, 403, 404, 405, 406, 407, 408, 409, 410, 500, 501, 502, 503, 504, 505])
    func `RS-12 an error status is an error and keeps the data`(_ status: Int) async {
        let (resource, recorder) = fixture.observed("a")
        resource.overrideLocalData(with: .text("x"))
        recorder.reset()
        fixture.reply("a", .text("oops", status: Status(status)))
        _ = await resource.load().response()
        #expect(resource.latestError?.status == Status(status))
        #expect(resource.text == "x")
        #expect(recorder.events == ["requested loading", "error"])
    }

    @Test func `RS-12 a failed connection is an error and keeps the data`() async {
        let resource = fixture.service.resource("a")
        resource.overrideLocalData(with: .text("x"))
        fixture.reply("a", .failure(Disconnected()))
        _ = await resource.load().response()
        #expect(resource.latestError?.cause is Disconnected)
        #expect(resource.latestError?.status == nil)
        #expect(resource.text == "x")
    }

    @Test(arguments: [true, false])
    func `RS-14 a 304 about nothing that is here is an error`(_ hasUntaggedData: Bool) async {
        let resource = fixture.service.resource("a")
        if hasUntaggedData { resource.overrideLocalData(with: .text("x")) }
        fixture.reply("a", StubReply(304))
        _ = await resource.load().response()
        #expect(resource.latestError?.cause is NoLocalDataFor304)
        #expect(resource.latestError?.userMessage == "No data available")
        #expect(resource.text == (hasUntaggedData ? "x" : ""))
    }

    @Test func `RQ-06 a load that mutators make a request of another method has no conditions`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("x", [.eTag: "\"1\""]))
        _ = await resource.load().response()
        fixture.service.configure { $0.mutateRequests { $0.method = .post } }
        fixture.transport.reply(.post, Fixture.url("a"), .text("y"))
        #expect(await resource.load().response().isNew)
        #expect(fixture.transport.sent[1].method == .post && fixture.transport.sent[1].fields[.ifNoneMatch] == nil)
        #expect(resource.text == "y")
    }

    @Test func `B-03 a 304 to other validators than the data's confirms nothing`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("x", [.eTag: "\"1\""]), StubReply(304))
        _ = await resource.load().response()
        fixture.service.configure { $0.mutateRequests { $0.fields[.ifNoneMatch] = "\"2\"" } }
        #expect(await resource.load().response().response.cause is NoLocalDataFor304)
    }

    @Test func `B-03 a 304 about data that was replaced meanwhile is asked again without conditions`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("first", [.eTag: "\"1\""]), .text("all of it"))
        _ = await resource.load().response()
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let request = resource.load()
        await held.sent()
        resource.overrideLocalData(with: .text("local"))
        held.release(StubReply(304))
        let info = await request.response()
        #expect(info.isNew)
        #expect(resource.text == "all of it")
        #expect(fixture.transport.sent.count == 3)
        #expect(fixture.transport.sent[1].fields[.ifNoneMatch] == "\"1\"")
        #expect(fixture.transport.sent[2].fields[.ifNoneMatch] == nil)
    }

    @Test func `B-06 an older response never takes the place of a newer one`() async {
        let (resource, recorder) = fixture.observed("a")
        let slow = fixture.transport.hold(.get, Fixture.url("a"))
        let first = resource.load()
        await slow.sent()
        let fast = fixture.transport.hold(.get, Fixture.url("a"))
        let second = resource.load()
        await fast.sent()
        fast.release(.text("new"))
        _ = await second.response()
        recorder.reset()
        slow.release(.text("old"))
        let late = await first.response()
        #expect(late.response.entity?.text == "old")
        #expect(resource.text == "new")
        #expect(recorder.events == ["notModified"])
    }

    @Test func `RS-15 loadIfNeeded loads although a post is running`() async {
        let resource = fixture.service.resource("a")
        let post = fixture.transport.hold(.post, Fixture.url("a"))
        let running = resource.request(.post)
        await post.sent()
        fixture.reply("a", .text("x"))
        let load = resource.loadIfNeeded()
        #expect(load != nil)
        _ = await load?.response()
        #expect(resource.text == "x")
        post.release()
        _ = await running.response()
    }

    @Test func `RS-16 loadIfNeeded returns the load that is running`() async {
        let resource = fixture.service.resource("a")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let first = resource.loadIfNeeded()
        #expect(resource.loadIfNeeded() === first)
        await held.sent()
        let explicit = fixture.transport.hold(.get, Fixture.url("a"))
        let other = resource.load()
        await explicit.sent()
        #expect(resource.loadIfNeeded() === first)
        held.release(.text("x"))
        explicit.release(.text("y"))
        _ = await first?.response()
        _ = await other.response()
        #expect(fixture.transport.sent.count == 2)
    }

    @Test func `RS-16 a thousand calls at once ask once`() async {
        let resource = fixture.service.resource("a")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        fixture.reply("a", .text("second"))
        let bodies = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<1_000 { group.addTask { await resource.loadIfNeeded()?.response().response.entity?.text } }
            await held.sent()
            while resource.loadRequests.isEmpty { await Task.yield() }
            held.release(.text("once"))
            return await group.reduce(into: [String]()) { if let body = $1 { $0.append(body) } }
        }
        #expect(Set(bodies) == ["once"])
        #expect(fixture.transport.sent.count == 1)
    }

    @Test func `RS-17 loadIfNeeded does nothing while data is fresh`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .text("x"))
        _ = await resource.loadIfNeeded()?.response()
        fixture.clock.advance(by: .seconds(30))
        #expect(resource.loadIfNeeded() == nil)
        fixture.clock.advance(by: .seconds(1))
        let again = resource.loadIfNeeded()
        #expect(again != nil)
        _ = await again?.response()
        fixture.service.configure { $0.expirationTime = .seconds(100) }
        fixture.clock.advance(by: .seconds(100))
        #expect(resource.loadIfNeeded() == nil)
    }

    @Test func `RS-18 HT-06 loadIfNeeded waits after an error`() async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", .failure(Disconnected()))
        _ = await resource.loadIfNeeded()?.response()
        fixture.clock.advance(by: .seconds(1))
        #expect(resource.loadIfNeeded() == nil)
        fixture.service.configure { $0.retryTime = .milliseconds(500) }
        let again = resource.loadIfNeeded()
        #expect(again != nil)
        _ = await again?.response()
        #expect(fixture.transport.sent.count == 2)
    }

    @Test func `RS-19 a response to another method can be taken over`() async {
        let (resource, recorder) = fixture.observed("a")
        recorder.reset()
        fixture.transport.reply(.post, Fixture.url("a"), .text("posted"))
        let request = resource.request(.post)
        #expect(resource.load(using: request) === request)
        _ = await request.response()
        #expect(resource.text == "posted")
        #expect(recorder.events == ["requested loading", "newData(network)"])
    }

    @Test func `RS-20 requests of others and completed ones can be taken over`() async {
        let resource = fixture.service.resource("a")
        let other = fixture.service.resource("b")
        fixture.reply("b", .text("from b"))
        let request = other.request(.get)
        _ = await request.response()
        let events = Recorder<ResourceEvent>()
        let updates = resource.events()
        resource.load(using: request)
        for await update in updates {
            events(update.event)
            if update.event == .newData(.network) { break }
        }
        #expect(resource.text == "from b")
        #expect(other.latestData == nil)
        #expect(events.values == [.observerAdded, .requested, .newData(.network)])
        let failed = resource.failedRequest(returning: RequestError(userMessage: "no", timestamp: fixture.clock.now))
        _ = await resource.load(using: failed).response()
        #expect(resource.latestError?.userMessage == "no")
    }

    @Test func `RS-21 loads are cancelled when nobody observes`() async {
        let (resource, recorder) = fixture.observed("a")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let post = fixture.transport.hold(.post, Fixture.url("a"))
        let load = resource.load()
        let other = resource.request(.post)
        await held.sent()
        await post.sent()
        resource.cancelLoadIfUnobserved()
        #expect(load.state == .inProgress)
        resource.removeObservers(ownedBy: recorder)
        resource.cancelLoadIfUnobserved()
        #expect(load.info?.response.isCancellation == true)
        #expect(other.state == .inProgress)
        post.release()
        _ = await other.response()
    }

    @Test(arguments: [true, false])
    func `RS-22 whether anybody observes is asked when the delay is over`(_ isObservedInTime: Bool) async {
        let resource = fixture.service.resource("a")
        let held = fixture.transport.hold(.get, Fixture.url("a"))
        let load = resource.load()
        await held.sent()
        let calls = Recorder<Request.State>()
        resource.cancelLoadIfUnobserved(afterDelay: .seconds(2)) { calls(load.state) }
        fixture.clock.advance(by: .milliseconds(1_999))
        #expect(calls.count == 0)
        #expect(load.state == .inProgress)
        let recorder = EventRecorder()
        if isObservedInTime { resource.addObserver(recorder) }
        fixture.clock.advance(by: .milliseconds(1))
        #expect(calls.values == [isObservedInTime ? .inProgress : .completed])
        held.release()
        withExtendedLifetime(recorder) {}
    }

    @Test func `RS-31 octets that nothing transforms come as they were sent`() async {
        let fixture = Fixture(standardTransformers: [])
        var random = SystemRandomNumberGenerator()
        for length in [0, 1, 255, 4_096, 100_000] {
            let octets = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            fixture.reply("a", StubReply(200, [.contentType: "application/json"], octets: octets))
            _ = await fixture.service.resource("a").load().response()
            #expect(fixture.service.resource("a").typedContent() == octets)
        }
    }

    @Test(arguments: [200, 203, 204, 300, 301, 308])
    func `B-19 HT-09 data keeps the status it came with`(_ status: Int) async {
        let resource = fixture.service.resource("a")
        fixture.reply("a", StubReply(Status(status)))
        _ = await resource.load().response()
        #expect(resource.latestData?.status == Status(status))
        #expect(resource.latestError == nil)
    }

    @Test func `B-19 HT-18 data keeps repeated fields and drops those of the connection`() async {
        var fields: Fields = [
            .connection: "X-Private", "X-Private": "1", .transferEncoding: "chunked", .keepAlive: "x",
        ]
        for value in ["a=1", "b=2"] { fields.append(.setCookie, value) }
        for value in ["<x>", "<y>"] { fields.append(.link, value) }
        fixture.reply("a", .text("x", fields))
        let resource = fixture.service.resource("a")
        _ = await resource.load().response()
        let data = resource.latestData
        #expect(data?.fields[all: .setCookie] == ["a=1", "b=2"])
        #expect(data?.field("link") == "<x>, <y>")
        for name in [FieldName.connection, "X-Private", .transferEncoding, .keepAlive] {
            #expect(data?.fields[name] == nil)
        }
    }

    @Test func `B-30 pages are followed by the links between them`() async {
        fixture.reply("list", .text("1", [.link: "<list?page=9>; rel=last, <list?page=2>; rel=\"next\""]))
        fixture.reply("list?page=2", .text("2", [.link: "<?page=3>;rel=next"]))
        fixture.reply("list?page=3", .text("3", [.link: "<list>; rel=first"]))
        var pages: [String] = []
        var next: Resource? = fixture.service.resource("list")
        while let page = next {
            await page.loadIfNeeded()?.response()
            pages.append(page.text)
            next = page.optionalRelative(page.latestData?.link("next"))
        }
        #expect(pages == ["1", "2", "3"])
    }

    @Test(arguments: [
        ("</a>; rel=next", "/a"), ("</a>;REL=\"Prev NEXT\"", "/a"), ("</a,b;c>; rel=next", "/a,b;c"),
        ("</a>; rel=prev, </b>; rel=next", "/b"), ("</a>; title=\"x, </b>; rel=next\"; rel=up", nil),
        ("</a>; rel=next; anchor=\"#foo\", </b>; rel=next", "/b"), ("</a>; rel=up; rel=next", nil),
        ("</a> ; x ; rel = next", "/a"), ("</a>; title=\"\\\"\"; rel=next", "/a"), (", , </a>; rel=next", "/a"),
        ("</a; rel=next", nil), ("/a; rel=next", nil), ("</a>; rel=\"next", nil), ("</a> rel=next", nil),
        ("<>; rel=next", ""), ("</\u{C3}\u{BC}>; rel=next", "/ü"), ("</\u{FC}>; rel=next", "/ü"),
        ("", nil), ("</a>", nil), ("</a>; rel=nextpage", nil),
    ]) func `B-30 a link is found by its relation`(line: String, target: String?) {
        #expect(Entity(content: "", fields: [.link: line], timestamp: fixture.clock.now).link("Next") == target)
    }

    @Test func `B-30 links stand in as many lines as the origin likes`() {
        var entity = Entity(content: "", fields: [.link: "</a>; rel=up"], timestamp: fixture.clock.now)
        entity.fields.append(.link, "</b>; rel=next, </c>; rel=next")
        #expect(entity.link("next") == "/b")
    }

    @Test func `B-01 data with a cookie is as fresh as other data of a program`() async {
        fixture.service.configure { $0.expirationTime = .seconds(60) }
        fixture.reply("a", .text("x", ["Set-Cookie": "a=b"]))
        let resource = fixture.service.resource("a")
        await resource.load().response()
        #expect(resource.isUpToDate)
    }
}
