// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderStores
import Testing

@testable import LarderShared

@Suite("Whether leases are worth waiting for")
struct LeasePatienceTests {
    private static func at(_ seconds: Int64) -> Int64 { seconds * 1_000_000_000 }

    @Test func `after some waits in vain there are none for a while, and then one`() {
        var patience = LeasePatience()
        func wait(_ seconds: Int64, at now: Int64) -> Bool {
            patience.waitedInVain(for: .seconds(seconds), at: Self.at(now))
        }
        let first = [wait(2, at: 2), wait(2, at: 4)]
        #expect(first == [false, false] && !patience.rests(at: Self.at(4)))
        #expect(wait(2, at: 6))
        // Those that began before.
        #expect(!wait(2, at: 7))
        #expect(patience.rests(at: Self.at(6)) && patience.rests(at: Self.at(35)) && !patience.rests(at: Self.at(36)))
        let resumed = [
            patience.resume(at: Self.at(35)), patience.resume(at: Self.at(36)), patience.resume(at: Self.at(37)),
        ]
        #expect(resumed == [false, true, false])
        #expect(wait(2, at: 38))
        _ = patience.resume(at: Self.at(70))
        patience.paidOff()
        let again = [wait(2, at: 72), wait(2, at: 74)]
        #expect(again == [false, false])
        #expect(wait(2, at: 76))
    }

    @Test func `short waits do not count, and one that was worth it ends a row`() {
        var patience = LeasePatience()
        for second in 0..<100 as Range<Int64> {
            let isOver = patience.waitedInVain(for: .milliseconds(499), at: Self.at(second))
            #expect(!isOver)
        }
        for second in 0..<100 as Range<Int64> {
            let isOver = patience.waitedInVain(for: .seconds(2), at: Self.at(second))
            #expect(!isOver)
            patience.paidOff()
        }
    }
}

@Suite("Waiting for an engine that means ill", .timeLimit(.minutes(5)))
struct SharedPatienceTests {
    private final class Box<Value> {
        var value: Value
        init(_ value: Value) { self.value = value }
    }

    /// What the engine replies, after some time.
    private typealias Script = ([String]) -> (String, after: Duration)

    private static let token = "$16\r\n0123456789abcdef\r\n"

    private static func play(_ fixture: EngineFixture, _ script: @escaping Script) {
        fixture.loop.startHere {
            let peer = await fixture.accept()
            while let command = try? await peer.next() {
                let (reply, time) = script(command)
                if time > .zero { await fixture.loop.sleep(for: time) }
                try? await peer.send(reply)
            }
        }
    }

    /// Lets time pass until `work` is done.
    private static func done<Value>(
        _ fixture: EngineFixture, step: Duration = .milliseconds(10), _ work: @escaping () async -> Value
    ) async -> Value {
        let result = Box<Value?>(nil)
        fixture.loop.startHere { result.value = await work() }
        while true {
            if let value = result.value { return value }
            await fixture.pass(step)
        }
    }

    /// The lease is somebody's for ever; or it is nobody's, and yet cannot be taken.
    @Test(arguments: [token, "$-1\r\n"])
    func `leases that never end cost each request nothing after a few`(_ lease: String) async throws {
        try await EngineFixture.run { fixture in
            let engine = fixture.engine { $0.timeout = .seconds(20) }
            let state = SharedState(namespace: "team", secret: [1])
            let (changes, taken) = (Box<[Bool]>([]), Box(0))
            let tier = SharedTier(state, on: fixture.loop, through: engine) { changes.value.append($0) }
            let isFair = Box(false)
            Self.play(fixture) { command in
                let isLease = command.count > 1 && command[1].contains(":l:")
                if isLease, command[0] == "SET" { taken.value += 1 }
                switch command[0] {
                case "MGET": return ("*3\r\n$-1\r\n$-1\r\n" + (isFair.value ? "$-1\r\n" : lease), .zero)
                case "GET": return (Self.token, .zero)
                case "SET": return (isLease && !isFair.value ? "$-1\r\n" : "+OK\r\n", .zero)
                default: return (":1\r\n", .zero)
                }
            }
            /// How long it waited, in milliseconds.
            func turn() async throws -> Int64 {
                let look = await Self.done(fixture) {
                    state.heardLog(at: fixture.loop.monotonicHere())
                    return await tier.look(.sample())
                }
                let found = try #require(look)
                let begun = fixture.loop.monotonicHere()
                _ = await Self.done(fixture) { await tier.takeTurn(after: found) { _ in false } }
                return (fixture.loop.monotonicHere() - begun) / 1_000_000
            }
            for _ in 0..<3 {
                let time = try await turn()
                #expect((1700...2100).contains(time))
            }
            #expect(changes.value == [false] && state.counters[.awaitedInVain] == 3)
            let before = taken.value
            for _ in 0..<10 {
                let time = try await turn()
                #expect(time <= 20)
            }
            #expect(state.counters[.unawaited] == 10 && taken.value == before)
            // One more after a while, and the next pause.
            await fixture.pass(.seconds(30))
            let (again, none) = (try await turn(), try await turn())
            #expect(again >= 1700 && none <= 20)
            #expect(changes.value == [false, true, false])
            // Once leases can be taken again, they are.
            await fixture.pass(.seconds(30))
            isFair.value = true
            let asked = taken.value
            let last = try await turn()
            #expect(last <= 20)
            #expect(changes.value == [false, true, false, true] && taken.value == asked + 1)
            tier.close()
            await fixture.settle()
        }
    }

    @Test func `content whose pieces come just in time is not waited for for ever, and no more of it is asked for`()
        async throws
    {
        try await EngineFixture.run { fixture in
            let engine = fixture.engine { $0.timeout = .seconds(1) }
            let tier = SharedTier(SharedState(namespace: "team", secret: [1]), on: fixture.loop, through: engine)
            let piece = [UInt8](repeating: 0x30, count: SharedEntity.pieceLength)
            let reply = "$\(piece.count)\r\n" + String(decoding: piece, as: UTF8.self) + "\r\n"
            let (asked, delay) = (Box(0), Box(Duration.milliseconds(200)))
            Self.play(fixture) { _ in
                asked.value += 1
                return (reply, delay.value)
            }
            func read(_ count: Int) async -> (Bool, Int64) {
                let digests = Array(repeating: ContentDigest(of: piece), count: count)
                let content = SharedEntity.Content.pieces(digests, length: Int64(count * piece.count))
                let begun = fixture.loop.monotonicHere()
                let isWhole = await Self.done(fixture, step: .milliseconds(25)) {
                    await tier.read(content) { _ in true }
                }
                return (isWhole, (fixture.loop.monotonicHere() - begun) / 1_000_000)
            }
            let (isWhole, time) = await read(128)
            #expect(!isWhole && (10_000...12_000).contains(time))
            #expect(asked.value < 64)
            delay.value = .zero
            let (isRead, _) = await read(12)
            #expect(isRead)
            tier.close()
            await fixture.settle()
        }
    }
}
