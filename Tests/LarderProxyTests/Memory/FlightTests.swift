// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderRules
import LarderTesting
import Testing

@testable import Larder

@Suite("A load that many read along")
struct FlightTests {
    struct Broken: Error, Equatable {}

    func flight(window: Int = 8, expecting: Int = 1) -> Flight {
        Flight(
            request: RequestHead(), at: Timestamp(seconds: 1000), isValidation: false, isJoinable: true, window: window,
            expecting: expecting)
    }

    static func answer(_ status: Status = 200) -> Flight.Answer {
        .response(ResponseHead(status: status), length: nil, stored: .stored())
    }

    /// The octets that a reader gets from where it stands to the end.
    static func readAll(_ flight: Flight, _ reader: Int) async -> String {
        var text = ""
        while true {
            switch await flight.next(for: reader) {
            case .chunks(let chunks): text += chunks.text
            case .spooled(let spool, let offset, let count):
                guard let chunk = await spool.read(at: offset, count: count) else { return text + "(lost)" }
                text += [chunk].text
            case .end: return text + "."
            case .failed(let error): return text + "!\(type(of: error))"
            case .interrupted: return text + "(interrupted)"
            }
        }
    }

    // MARK: Reading

    @Test func `each reader gets all content in order, at its own pace`() async {
        let flight = flight(expecting: 2)
        flight.announce(Self.answer(), retains: true)
        let early = flight.read()
        flight.append(ContentChunk("one ".utf8))
        guard case .chunks(let first) = await flight.next(for: early) else { Issue.record("no content"); return }
        #expect(first.text == "one ")
        flight.append(ContentChunk("two ".utf8))
        flight.append(ContentChunk("three".utf8))
        #expect(flight.retainedContent?.text == "one two three")
        flight.finish(trailers: Fields())
        let late = flight.read()
        #expect(await Self.readAll(flight, late) == "one two three.")
        #expect(await Self.readAll(flight, early) == "two three.")
    }

    @Test func `the reader whose request it is hears interim responses before the answer, and nobody else does`() async
    {
        let flight = flight(expecting: 3)
        let early = flight.read()
        let first = flight.read(isFirst: true)
        flight.announce(interim: ResponseHead(status: 103))
        guard case .interim(let hint)? = await flight.word(for: first) else { Issue.record("no interim"); return }
        #expect(hint.status == 103)
        flight.announce(interim: ResponseHead(status: 102))
        flight.announce(Self.answer())
        let late = flight.read()
        for (reader, expected) in [(first, [102, 200]), (early, [200]), (late, [200])] as [(Int, [UInt16])] {
            var heard: [UInt16] = []
            for _ in expected {
                switch await flight.word(for: reader) {
                case .interim(let head): heard.append(head.status.rawValue)
                case .answer(.response(let head, _, _)): heard.append(head.status.rawValue)
                default: Issue.record("neither")
                }
            }
            #expect(heard == expected)
        }
    }

    @Test func `trailers come with the end`() async {
        let flight = flight()
        flight.announce(Self.answer())
        let reader = flight.read()
        flight.finish(trailers: ["X-Sum": "7"])
        guard case .end(let trailers) = await flight.next(for: reader) else { Issue.record("no end"); return }
        #expect(trailers["X-Sum"] == "7")
    }

    @Test func `an interrupted reader stops, and the others go on`() async {
        let flight = flight(expecting: 2)
        flight.announce(Self.answer())
        let leaving = flight.read()
        let staying = flight.read()
        async let left = Self.readAll(flight, leaving)
        flight.interrupt(leaving)
        #expect(await left == "(interrupted)")
        flight.leave(leaving)
        flight.append(ContentChunk("more".utf8))
        flight.finish(trailers: Fields())
        #expect(await Self.readAll(flight, staying) == "more.")
    }

    @Test func `a reader that is interrupted before the answer hears nothing`() async {
        let flight = flight()
        let reader = flight.read()
        async let word = flight.word(for: reader)
        flight.interrupt(reader)
        #expect(await word == nil)
    }

    @Test func `a failure inside the content comes after what had arrived`() async {
        let flight = flight()
        flight.announce(Self.answer())
        let reader = flight.read()
        flight.append(ContentChunk("part".utf8))
        flight.fail(Broken())
        #expect(await Self.readAll(flight, reader) == "part!Broken")
        #expect(!flight.retain())
    }

    @Test func `a failure before the answer is the answer`() async {
        let flight = flight()
        let reader = flight.read()
        flight.fail(Broken())
        guard case .answer(.failed(let error))? = await flight.word(for: reader) else {
            Issue.record("no answer"); return
        }
        #expect(error is Broken)
    }

    // MARK: The window

    @Test func `without a spool the slowest reader holds the load back`() async throws {
        let flight = flight(window: 4, expecting: 2)
        flight.announce(Self.answer())
        let quick = flight.read()
        let slow = flight.read()
        flight.append(ContentChunk("1234".utf8))
        let order = Recorder<String>()
        let producer = Task {
            await flight.room()
            order("room")
        }
        try await eventually("the producer waits") { flight.isHoldingBack }
        guard case .chunks = await flight.next(for: quick) else { Issue.record("no content"); return }
        #expect(flight.isHoldingBack)
        order("slow reads")
        guard case .chunks(let chunks) = await flight.next(for: slow) else { Issue.record("no content"); return }
        #expect(chunks.text == "1234")
        await producer.value
        #expect(order.values == ["slow reads", "room"])
    }

    @Test func `a slow reader that leaves lets the load go on`() async throws {
        let flight = flight(window: 4, expecting: 2)
        flight.announce(Self.answer())
        let quick = flight.read()
        let slow = flight.read()
        flight.append(ContentChunk("1234".utf8))
        async let room: Void = flight.room()
        try await eventually("the producer waits") { flight.isHoldingBack }
        guard case .chunks = await flight.next(for: quick) else { Issue.record("no content"); return }
        flight.leave(slow)
        await room
    }

    @Test func `who has joined but does not read yet misses nothing`() async throws {
        let flight = flight(window: 4, expecting: 1)
        flight.announce(Self.answer())
        let first = flight.read()
        #expect(flight.retain())
        flight.append(ContentChunk("1234".utf8))
        guard case .chunks = await flight.next(for: first) else { Issue.record("no content"); return }
        flight.append(ContentChunk("5678".utf8))
        flight.finish(trailers: Fields())
        let second = flight.read()
        #expect(await Self.readAll(flight, second) == "12345678.")
    }

    @Test func `SH-12 what has left the window is read from the spool`() async {
        let flight = flight(window: 4, expecting: 2)
        let spool = TextSpool()
        flight.announce(Self.answer(), spool: spool)
        let quick = flight.read()
        let slow = flight.read()
        for piece in ["1234", "5678", "90"] {
            spool.append(piece)
            flight.append(ContentChunk(piece.utf8))
            await flight.room()
        }
        flight.finish(trailers: Fields())
        #expect(await Self.readAll(flight, slow) == "1234567890.")
        #expect(await Self.readAll(flight, quick) == "1234567890.")
        #expect(spool.reads > 0)
    }

    @Test func `who joins late reads the beginning from the spool`() async {
        let flight = flight(window: 4)
        let spool = TextSpool()
        flight.announce(Self.answer(), spool: spool)
        let first = flight.read()
        for piece in ["1234", "5678"] {
            spool.append(piece)
            flight.append(ContentChunk(piece.utf8))
        }
        #expect(flight.retain())
        let second = flight.read()
        flight.finish(trailers: Fields())
        #expect(await Self.readAll(flight, second) == "12345678.")
        #expect(await Self.readAll(flight, first) == "12345678.")
    }

    @Test func `a spool that is given up takes those behind the window with it, and holds back the others`()
        async throws
    {
        let flight = flight(window: 4, expecting: 2)
        let spool = TextSpool()
        flight.announce(Self.answer(), spool: spool)
        let behind = flight.read()
        let level = flight.read()
        for piece in ["1234", "5678"] {
            spool.append(piece)
            flight.append(ContentChunk(piece.utf8))
        }
        guard case .spooled = await flight.next(for: level), case .chunks = await flight.next(for: level) else {
            Issue.record("the window was not passed")
            return
        }
        flight.dropSpool()
        #expect(await Self.readAll(flight, behind) == "!FlightError")
        flight.leave(behind)
        #expect(!flight.retain())
        flight.append(ContentChunk("90".utf8))
        flight.finish(trailers: Fields())
        #expect(await Self.readAll(flight, level) == "90.")
    }

    @Test func `content that outgrows memory goes on through the window`() async throws {
        let flight = flight(window: 4)
        flight.announce(Self.answer(), retains: true)
        let reader = flight.read()
        flight.append(ContentChunk("12345678".utf8))
        await flight.room()
        #expect(flight.retainedContent?.text == "12345678")
        flight.stopRetaining()
        #expect(flight.retainedContent == nil)
        async let room: Void = flight.room()
        #expect([await Self.next(flight, reader)] == ["12345678"])
        await room
        #expect(!flight.retain())
    }

    @Test func `what is retained is charged, until the last reader has it`() async {
        let registry = Registry(limit: 4_000)
        var flight: Flight? = Flight(
            request: RequestHead(), at: Timestamp(seconds: 1000), isValidation: false, isJoinable: true, window: 4,
            expecting: 2, registry: registry)
        flight!.announce(Self.answer(), retains: true, expected: 1_000)
        #expect(registry.reserved == 1_000)
        let (quick, slow) = (flight!.read(), flight!.read())
        flight!.append(ContentChunk(repeatElement(65, count: 1_000)))
        #expect(registry.reserved == 1_128)
        #expect(await Self.next(flight!, quick).count == 1_000)
        #expect(registry.reserved == 1_128)
        flight!.finish(trailers: Fields())
        #expect(registry.reserved == 1_128)
        #expect(await Self.next(flight!, slow).count == 1_000)
        #expect(registry.reserved == 0)
        flight = nil
        #expect(registry.bytes == 0)
    }

    @Test func `what finds no room goes on through the window, and gives back what it had`() async {
        let registry = Registry(limit: 2_000)
        let flight = Flight(
            request: RequestHead(), at: Timestamp(seconds: 1000), isValidation: false, isJoinable: true, window: 4,
            expecting: 1, registry: registry)
        flight.announce(Self.answer(), retains: true)
        let reader = flight.read()
        flight.append(ContentChunk(repeatElement(65, count: 500)))
        #expect(flight.isRetaining)
        flight.append(ContentChunk(repeatElement(66, count: 500)))
        #expect(!flight.isRetaining)
        #expect(flight.retainedContent == nil)
        flight.finish(trailers: Fields())
        #expect(await Self.readAll(flight, reader).count == 1_001)
        #expect(registry.reserved == 0)
    }

    @Test func `a flight that is let go of gives back what it had`() {
        let registry = Registry(limit: 4_000)
        do {
            let flight = Flight(
                request: RequestHead(), at: Timestamp(seconds: 1000), isValidation: false, isJoinable: true, window: 4,
                expecting: 1, registry: registry)
            flight.announce(Self.answer(), retains: true, expected: 1_000)
            flight.append(ContentChunk("some".utf8))
            flight.fail(Broken())
            #expect(registry.reserved == 132)
        }
        #expect(registry.bytes == 0)
    }

    static func next(_ flight: Flight, _ reader: Int) async -> String {
        if case .chunks(let chunks) = await flight.next(for: reader) { chunks.text } else { "" }
    }

    // MARK: Being left

    @Test func `the last reader to leave a running load abandons it`() {
        let flight = flight(expecting: 2)
        let abandoned = Recorder<Int>()
        flight.onWish { _, _ in abandoned(1) }
        let first = flight.read()
        flight.leave(first)
        #expect(abandoned.count == 0)
        let second = flight.read()
        #expect(flight.interest == 1)
        flight.leave(second)
        #expect(abandoned.count == 1)
    }

    @Test func `a load that is over cannot be abandoned`() {
        let flight = flight()
        let abandoned = Recorder<Int>()
        flight.onWish { _, _ in abandoned(1) }
        let reader = flight.read()
        flight.announce(Self.answer())
        flight.finish(trailers: Fields())
        flight.leave(reader)
        #expect(abandoned.count == 0)
    }

    @Test func `a load without readers runs at full speed and keeps nothing`() async {
        let flight = flight(window: 4)
        flight.leave(flight.read())
        flight.announce(Self.answer())
        for _ in 0..<100 {
            flight.append(ContentChunk("12345678".utf8))
            await flight.room()
        }
        #expect(!flight.retain())
        flight.finish(trailers: Fields())
    }

    // MARK: Many threads

    @Test(arguments: [0, 1, 2]) func `readers on many threads come, go and get everything`(mode: Int) async throws {
        let pieces = (0..<400).map { number in String(repeating: "\(number),", count: 1 + number % 7) }
        let whole = pieces.joined()
        let flight = flight(window: 512, expecting: 16)
        let spool = TextSpool()
        try await withThrowingTaskGroup { group in
            for number in 0..<16 {
                group.addTask {
                    let reader = flight.read()
                    defer { flight.leave(reader) }
                    guard case .answer? = await flight.word(for: reader) else {
                        if number % 4 == 3 { return }
                        throw ScenarioFailure("no answer")
                    }
                    if number % 4 == 2 { return }
                    if number % 4 == 3 { flight.interrupt(reader) }
                    let text = await FlightTests.readAll(flight, reader)
                    if number % 4 == 3 { return }
                    #expect(text == whole + ".")
                }
            }
            group.addTask {
                flight.announce(Self.answer(), retains: mode == 0, spool: mode == 1 ? spool : nil)
                for piece in pieces {
                    spool.append(piece)
                    flight.append(ContentChunk(piece.utf8))
                    await flight.room()
                }
                flight.finish(trailers: Fields())
            }
            try await group.waitForAll()
        }
        #expect(flight.interest == 0)
    }
}

/// A spool of text that counts how often it was needed.
private final class TextSpool: ContentSpool {
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
