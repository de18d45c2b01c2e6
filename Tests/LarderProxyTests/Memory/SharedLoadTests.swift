// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderRules
import LarderTesting
import Testing

@testable import Larder

@Suite("A load that many read along")
struct SharedLoadTests {
    struct Broken: Error, Equatable {}

    func sharedLoad(window: Int = 8, expecting: Int = 1) -> SharedLoad {
        SharedLoad(window: window, expecting: expecting)
    }

    static func answer(_ status: Status = 200) -> SharedLoad.Answer {
        .response(ResponseHead(status: status), length: nil, stored: .stored())
    }

    /// The octets that a reader gets from where it stands to the end.
    static func readAll(_ sharedLoad: SharedLoad, _ reader: Int) async -> String {
        var text = ""
        while true {
            switch await sharedLoad.next(for: reader) {
            case .chunks(let chunks): text += chunks.text
            case .spooled(let spool, let offset, let count):
                guard let chunk = try? await spool.read(at: offset, count: count) else { return text + "(lost)" }
                text += [chunk].text
            case .end: return text + "."
            case .failed(let error): return text + "!\(type(of: error))"
            case .interrupted: return text + "(interrupted)"
            }
        }
    }

    /// Content that has come, and is in the spool.
    private static func append(_ pieces: String..., to sharedLoad: SharedLoad, _ spool: TextSpool) {
        for piece in pieces {
            spool.append(piece)
            sharedLoad.append(ContentChunk(piece.utf8))
        }
    }

    @Test func `a reader that holds back another is given up`() async {
        let sharedLoad = sharedLoad(window: 4, expecting: 2)
        sharedLoad.announce(Self.answer())
        let (slow, quick) = (sharedLoad.read(), sharedLoad.read())
        sharedLoad.append(ContentChunk("12345678".utf8))
        guard case .chunks = await sharedLoad.next(for: quick) else { Issue.record("no content"); return }
        async let held: Void = sharedLoad.room()
        #expect(sharedLoad.giveUpSlow())
        await held
        sharedLoad.append(ContentChunk("abcd".utf8))
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, quick) == "abcd.")
        #expect(await Self.readAll(sharedLoad, slow) == "!SharedLoadError")
    }

    @Test func `all that are about as slow are given up together`() async {
        let sharedLoad = sharedLoad(window: 8, expecting: 4)
        sharedLoad.announce(Self.answer())
        let slow = [sharedLoad.read(), sharedLoad.read()]
        let (quick, quicker) = (sharedLoad.read(), sharedLoad.read())
        for (piece, readers) in [("12", [slow[1], quick, quicker]), ("34", [quick, quicker]), ("5678", [quicker])] {
            sharedLoad.append(ContentChunk(piece.utf8))
            for reader in readers { _ = await sharedLoad.next(for: reader) }
        }
        async let held: Void = sharedLoad.room()
        #expect(sharedLoad.giveUpSlow())
        await held
        #expect(!sharedLoad.giveUpSlow())
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, quicker) == ".")
        #expect(await Self.readAll(sharedLoad, quick) == "5678.")
        for reader in slow { #expect(await Self.readAll(sharedLoad, reader) == "!SharedLoadError") }
    }

    @Test func `of those behind a spool that ends all are given up together`() async throws {
        let spool = TextSpool()
        let sharedLoad = sharedLoad(window: 2, expecting: 3)
        sharedLoad.announce(Self.answer(), spool: spool)
        let slow = [sharedLoad.read(), sharedLoad.read()]
        let quick = sharedLoad.read()
        Self.append("12", to: sharedLoad, spool)
        _ = await sharedLoad.next(for: slow[1])
        Self.append("34", "56", to: sharedLoad, spool)
        for _ in 0..<2 { _ = await sharedLoad.next(for: quick) }
        async let retired: Void = sharedLoad.retireSpool()
        try await eventually("the producer waits") { sharedLoad.isHoldingBack }
        #expect(sharedLoad.giveUpSlow())
        await retired
        sharedLoad.finish(trailers: Fields())
        for reader in slow { #expect(await Self.readAll(sharedLoad, reader) == "!SharedLoadError") }
    }

    @Test func `a reader alone is waited for`() async {
        let sharedLoad = sharedLoad(window: 4)
        sharedLoad.announce(Self.answer())
        let only = sharedLoad.read()
        sharedLoad.append(ContentChunk("12345678".utf8))
        #expect(!sharedLoad.giveUpSlow())
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, only) == "12345678.")
    }

    // MARK: Reading

    @Test func `each reader gets all content in order, at its own pace`() async {
        let sharedLoad = sharedLoad(expecting: 2)
        sharedLoad.announce(Self.answer(), retains: true)
        let early = sharedLoad.read()
        sharedLoad.append(ContentChunk("one ".utf8))
        guard case .chunks(let first) = await sharedLoad.next(for: early) else { Issue.record("no content"); return }
        #expect(first.text == "one ")
        sharedLoad.append(ContentChunk("two ".utf8))
        sharedLoad.append(ContentChunk("three".utf8))
        #expect(sharedLoad.retainedContent?.text == "one two three")
        sharedLoad.finish(trailers: Fields())
        let late = sharedLoad.read()
        #expect(await Self.readAll(sharedLoad, late) == "one two three.")
        #expect(await Self.readAll(sharedLoad, early) == "two three.")
    }

    @Test func `the reader whose request it is hears interim responses before the answer, and nobody else does`() async
    {
        let sharedLoad = sharedLoad(expecting: 3)
        let early = sharedLoad.read()
        let first = sharedLoad.read(isFirst: true)
        sharedLoad.announce(interim: ResponseHead(status: 103))
        guard case .interim(let hint)? = await sharedLoad.nextEvent(for: first) else {
            Issue.record("no interim"); return
        }
        #expect(hint.status == 103)
        sharedLoad.announce(interim: ResponseHead(status: 102))
        sharedLoad.announce(Self.answer())
        let late = sharedLoad.read()
        for (reader, expected) in [(first, [102, 200]), (early, [200]), (late, [200])] as [(Int, [UInt16])] {
            var heard: [UInt16] = []
            for _ in expected {
                switch await sharedLoad.nextEvent(for: reader) {
                case .interim(let head): heard.append(head.status.rawValue)
                case .answer(.response(let head, _, _)): heard.append(head.status.rawValue)
                default: Issue.record("neither")
                }
            }
            #expect(heard == expected)
        }
    }

    @Test func `trailers come with the end`() async {
        let sharedLoad = sharedLoad()
        sharedLoad.announce(Self.answer())
        let reader = sharedLoad.read()
        sharedLoad.finish(trailers: ["X-Sum": "7"])
        guard case .end(let trailers) = await sharedLoad.next(for: reader) else { Issue.record("no end"); return }
        #expect(trailers["X-Sum"] == "7")
    }

    @Test func `an interrupted reader stops, and the others go on`() async {
        let sharedLoad = sharedLoad(expecting: 2)
        sharedLoad.announce(Self.answer())
        let leaving = sharedLoad.read()
        let staying = sharedLoad.read()
        async let left = Self.readAll(sharedLoad, leaving)
        sharedLoad.interrupt(leaving)
        #expect(await left == "(interrupted)")
        sharedLoad.leave(leaving)
        sharedLoad.append(ContentChunk("more".utf8))
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, staying) == "more.")
    }

    @Test func `a reader that is interrupted before the answer hears nothing`() async {
        let sharedLoad = sharedLoad()
        let reader = sharedLoad.read()
        async let word = sharedLoad.nextEvent(for: reader)
        sharedLoad.interrupt(reader)
        #expect(await word == nil)
    }

    @Test func `a failure inside the content comes after what had arrived`() async {
        let sharedLoad = sharedLoad()
        sharedLoad.announce(Self.answer())
        let reader = sharedLoad.read()
        sharedLoad.append(ContentChunk("part".utf8))
        sharedLoad.fail(Broken())
        #expect(await Self.readAll(sharedLoad, reader) == "part!Broken")
        #expect(!sharedLoad.retain())
    }

    @Test func `a failure before the answer is the answer`() async {
        let sharedLoad = sharedLoad()
        let reader = sharedLoad.read()
        sharedLoad.fail(Broken())
        guard case .answer(.failed(let error))? = await sharedLoad.nextEvent(for: reader) else {
            Issue.record("no answer"); return
        }
        #expect(error is Broken)
    }

    // MARK: The window

    @Test func `without a spool the slowest reader holds the load back`() async throws {
        let sharedLoad = sharedLoad(window: 4, expecting: 2)
        sharedLoad.announce(Self.answer())
        let quick = sharedLoad.read()
        let slow = sharedLoad.read()
        sharedLoad.append(ContentChunk("1234".utf8))
        let order = Recorder<String>()
        let producer = Task {
            await sharedLoad.room()
            order("room")
        }
        try await eventually("the producer waits") { sharedLoad.isHoldingBack }
        guard case .chunks = await sharedLoad.next(for: quick) else { Issue.record("no content"); return }
        #expect(sharedLoad.isHoldingBack)
        order("slow reads")
        guard case .chunks(let chunks) = await sharedLoad.next(for: slow) else { Issue.record("no content"); return }
        #expect(chunks.text == "1234")
        await producer.value
        #expect(order.values == ["slow reads", "room"])
    }

    @Test func `a slow reader that leaves lets the load go on`() async throws {
        let sharedLoad = sharedLoad(window: 4, expecting: 2)
        sharedLoad.announce(Self.answer())
        let quick = sharedLoad.read()
        let slow = sharedLoad.read()
        sharedLoad.append(ContentChunk("1234".utf8))
        async let room: Void = sharedLoad.room()
        try await eventually("the producer waits") { sharedLoad.isHoldingBack }
        guard case .chunks = await sharedLoad.next(for: quick) else { Issue.record("no content"); return }
        sharedLoad.leave(slow)
        await room
    }

    @Test func `who has joined but does not read yet misses nothing`() async throws {
        let sharedLoad = sharedLoad(window: 4, expecting: 1)
        sharedLoad.announce(Self.answer())
        let first = sharedLoad.read()
        #expect(sharedLoad.retain())
        sharedLoad.append(ContentChunk("1234".utf8))
        guard case .chunks = await sharedLoad.next(for: first) else { Issue.record("no content"); return }
        sharedLoad.append(ContentChunk("5678".utf8))
        sharedLoad.finish(trailers: Fields())
        let second = sharedLoad.read()
        #expect(await Self.readAll(sharedLoad, second) == "12345678.")
    }

    @Test func `SH-12 what has left the window is read from the spool`() async {
        let sharedLoad = sharedLoad(window: 4, expecting: 2)
        let spool = TextSpool()
        sharedLoad.announce(Self.answer(), spool: spool)
        let quick = sharedLoad.read()
        let slow = sharedLoad.read()
        for piece in ["1234", "5678", "90"] {
            spool.append(piece)
            sharedLoad.append(ContentChunk(piece.utf8))
            await sharedLoad.room()
        }
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, slow) == "1234567890.")
        #expect(await Self.readAll(sharedLoad, quick) == "1234567890.")
        #expect(spool.reads > 0)
    }

    @Test func `who joins late reads the beginning from the spool`() async {
        let sharedLoad = sharedLoad(window: 4)
        let spool = TextSpool()
        sharedLoad.announce(Self.answer(), spool: spool)
        let first = sharedLoad.read()
        Self.append("1234", "5678", to: sharedLoad, spool)
        #expect(sharedLoad.retain())
        let second = sharedLoad.read()
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, second) == "12345678.")
        #expect(await Self.readAll(sharedLoad, first) == "12345678.")
    }

    @Test func `a spool that is given up takes those behind the window with it, and holds back the others`()
        async throws
    {
        let sharedLoad = sharedLoad(window: 4, expecting: 2)
        let spool = TextSpool()
        sharedLoad.announce(Self.answer(), spool: spool)
        let behind = sharedLoad.read()
        let level = sharedLoad.read()
        Self.append("1234", "5678", to: sharedLoad, spool)
        guard case .spooled = await sharedLoad.next(for: level), case .chunks = await sharedLoad.next(for: level) else {
            Issue.record("the window was not passed")
            return
        }
        sharedLoad.dropSpool()
        #expect(await Self.readAll(sharedLoad, behind) == "!SharedLoadError")
        sharedLoad.leave(behind)
        #expect(!sharedLoad.retain())
        sharedLoad.append(ContentChunk("90".utf8))
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, level) == "90.")
    }

    @Test func `a spool that is retired stays for those who read from it, or are about to`() async throws {
        let sharedLoad = sharedLoad(window: 4, expecting: 2)
        let spool = TextSpool()
        sharedLoad.announce(Self.answer(), spool: spool)
        let slow = sharedLoad.read()
        Self.append("1234", "5678", to: sharedLoad, spool)
        guard case .spooled(_, offset: 0, count: 4) = await sharedLoad.next(for: slow) else {
            Issue.record("the window was not passed")
            return
        }
        let retiring = Task { await sharedLoad.retireSpool() }
        func untilItWaits() async {
            while sharedLoad.state.withLock({ $0.spool != nil && $0.producer == nil }) { await Task.yield() }
        }
        await untilItWaits()
        #expect(sharedLoad.state.withLock { $0.spool != nil }, "it is being read")
        #expect(!sharedLoad.retain(), "nobody else may need it")
        guard case .chunks(let rest) = await sharedLoad.next(for: slow) else { Issue.record("no more"); return }
        #expect(rest.text == "5678")
        await untilItWaits()
        #expect(sharedLoad.state.withLock { $0.spool != nil }, "one comes who was announced before")
        let late = sharedLoad.read()
        guard case .spooled = await sharedLoad.next(for: late), case .chunks = await sharedLoad.next(for: late) else {
            Issue.record("the late one lost its place")
            return
        }
        await retiring.value
        #expect(sharedLoad.state.withLock { $0.spool == nil })
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, slow) == ".")
        #expect(await Self.readAll(sharedLoad, late) == ".")
    }

    @Test func `one who has read all there is from a spool that is retired waits for more, not for the producer`()
        async throws
    {
        let sharedLoad = sharedLoad(window: 4)
        let spool = TextSpool()
        sharedLoad.announce(Self.answer(), spool: spool)
        let reader = sharedLoad.read()
        // More than the window: it is in the spool alone.
        Self.append("12345678", to: sharedLoad, spool)
        guard case .spooled(_, offset: 0, count: 8) = await sharedLoad.next(for: reader) else {
            Issue.record("the window was not passed")
            return
        }
        let retiring = Task { await sharedLoad.retireSpool() }
        while sharedLoad.state.withLock({ $0.producer == nil }) { await Task.yield() }
        let reading = Task { await Self.readAll(sharedLoad, reader) }
        while sharedLoad.state.withLock({ $0.readers[reader]?.waiting == nil }) { await Task.yield() }
        #expect(sharedLoad.state.withLock { $0.producer == nil })
        sharedLoad.finish(trailers: Fields())
        #expect(await reading.value == ".")
        sharedLoad.leave(reader)
        await retiring.value
    }

    @Test func `content that outgrows memory goes on through the window`() async throws {
        let sharedLoad = sharedLoad(window: 4)
        sharedLoad.announce(Self.answer(), retains: true)
        let reader = sharedLoad.read()
        sharedLoad.append(ContentChunk("12345678".utf8))
        await sharedLoad.room()
        #expect(sharedLoad.retainedContent?.text == "12345678")
        sharedLoad.stopRetaining()
        #expect(sharedLoad.retainedContent == nil)
        async let room: Void = sharedLoad.room()
        #expect([await Self.next(sharedLoad, reader)] == ["12345678"])
        await room
        #expect(!sharedLoad.retain())
    }

    @Test func `what is retained is charged, until the last reader has it`() async {
        let registry = Registry(limit: 4_000)
        var sharedLoad: SharedLoad? = SharedLoad(window: 4, expecting: 2, registry: registry)
        sharedLoad!.announce(Self.answer(), retains: true, expected: 1_000)
        #expect(registry.reserved == 1_000)
        let (quick, slow) = (sharedLoad!.read(), sharedLoad!.read())
        sharedLoad!.append(ContentChunk(repeatElement(65, count: 1_000)))
        #expect(registry.reserved == 1_128)
        #expect(await Self.next(sharedLoad!, quick).count == 1_000)
        #expect(registry.reserved == 1_128)
        sharedLoad!.finish(trailers: Fields())
        #expect(registry.reserved == 1_128)
        #expect(await Self.next(sharedLoad!, slow).count == 1_000)
        #expect(registry.reserved == 0)
        sharedLoad = nil
        #expect(registry.bytes == 0)
    }

    @Test func `what finds no room goes on through the window, and gives back what it had`() async {
        let registry = Registry(limit: 2_000)
        let sharedLoad = SharedLoad(window: 4, expecting: 1, registry: registry)
        sharedLoad.announce(Self.answer(), retains: true)
        let reader = sharedLoad.read()
        sharedLoad.append(ContentChunk(repeatElement(65, count: 500)))
        #expect(sharedLoad.isRetaining)
        sharedLoad.append(ContentChunk(repeatElement(66, count: 500)))
        #expect(!sharedLoad.isRetaining)
        #expect(sharedLoad.retainedContent == nil)
        sharedLoad.finish(trailers: Fields())
        #expect(await Self.readAll(sharedLoad, reader).count == 1_001)
        #expect(registry.reserved == 0)
    }

    @Test func `a shared load that is let go of gives back what it had`() {
        let registry = Registry(limit: 4_000)
        do {
            let sharedLoad = SharedLoad(window: 4, expecting: 1, registry: registry)
            sharedLoad.announce(Self.answer(), retains: true, expected: 1_000)
            sharedLoad.append(ContentChunk("some".utf8))
            sharedLoad.fail(Broken())
            #expect(registry.reserved == 132)
        }
        #expect(registry.bytes == 0)
    }

    static func next(_ sharedLoad: SharedLoad, _ reader: Int) async -> String {
        if case .chunks(let chunks) = await sharedLoad.next(for: reader) { chunks.text } else { "" }
    }

    @Test func `a load without readers runs at full speed and keeps nothing`() async {
        let sharedLoad = sharedLoad(window: 4)
        sharedLoad.leave(sharedLoad.read())
        sharedLoad.announce(Self.answer())
        for _ in 0..<100 {
            sharedLoad.append(ContentChunk("12345678".utf8))
            await sharedLoad.room()
        }
        #expect(!sharedLoad.retain())
        sharedLoad.finish(trailers: Fields())
    }

    // MARK: Many threads

    @Test(arguments: [0, 1, 2]) func `readers on many threads come, go and get everything`(mode: Int) async throws {
        let pieces = (0..<400).map { number in String(repeating: "\(number),", count: 1 + number % 7) }
        let whole = pieces.joined()
        let sharedLoad = sharedLoad(window: 512, expecting: 16)
        let spool = TextSpool()
        try await withThrowingTaskGroup { group in
            for number in 0..<16 {
                group.addTask {
                    let reader = sharedLoad.read()
                    defer { sharedLoad.leave(reader) }
                    guard case .answer? = await sharedLoad.nextEvent(for: reader) else {
                        if number % 4 == 3 { return }
                        throw ScenarioFailure("no answer")
                    }
                    if number % 4 == 2 { return }
                    if number % 4 == 3 { sharedLoad.interrupt(reader) }
                    let text = await SharedLoadTests.readAll(sharedLoad, reader)
                    if number % 4 == 3 { return }
                    #expect(text == whole + ".")
                }
            }
            group.addTask {
                sharedLoad.announce(Self.answer(), retains: mode == 0, spool: mode == 1 ? spool : nil)
                for piece in pieces {
                    spool.append(piece)
                    sharedLoad.append(ContentChunk(piece.utf8))
                    await sharedLoad.room()
                }
                sharedLoad.finish(trailers: Fields())
            }
            try await group.waitForAll()
        }
        #expect(sharedLoad.interest == 0)
    }
}

/// A spool of text that counts how often it was needed.
private final class TextSpool: ContentReader {
    private struct State {
        var octets: [UInt8] = []
        var reads = 0
    }
    private let state = Lock(State())

    var reads: Int { state.withLock { $0.reads } }
    func append(_ text: String) { state.withLock { $0.octets += Array(text.utf8) } }

    func read(at offset: Int64, count: Int) async -> ContentChunk? {
        state.withLock { state in
            state.reads += 1
            let end = min(state.octets.count, Int(offset) + count)
            return end > Int(offset) ? ContentChunk(state.octets[Int(offset)..<end]) : nil
        }
    }
}
