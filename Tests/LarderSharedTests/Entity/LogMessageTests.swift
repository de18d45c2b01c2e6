// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderShared

@Suite("Messages of the log")
struct LogMessageTests {
    private let coding = MessageCoding(namespace: "team", seal: Seal(secret: [1]))

    private static let subjects: [LogMessage.Subject] = [
        .beginning, .url(Array("https://a.test/".utf8), service: "s", base: "b"), .scope(.everything, .random()),
        .scope(.service(name: "s", base: ""), .random()), .scope(.group("g", origin: nil), .random()),
        .scope(.group("g", origin: "https://a.test"), .random()),
        .patterns(["/a*", "/b"], service: "s", base: "b", .random()),
    ]

    @Test(arguments: subjects)
    func `what one daemon writes another reads`(_ subject: LogMessage.Subject) {
        let message = LogMessage(from: .random16(), 7, subject)
        #expect(coding.decode(coding.encode(message)) == message)
    }

    @Test(arguments: subjects)
    func `nobody else writes messages`(_ subject: LogMessage.Subject) {
        let octets = coding.encode(LogMessage(from: .random16(), 7, subject))
        for bit in 0..<octets.count * 8 {
            var altered = octets
            altered[bit / 8] ^= 1 << (bit % 8)
            #expect(coding.decode(altered) == nil)
        }
        for cut in 0..<octets.count { #expect(coding.decode(Array(octets[..<cut])) == nil) }
        #expect(MessageCoding(namespace: "team", seal: Seal(secret: [2])).decode(octets) == nil)
        #expect(MessageCoding(namespace: "other", seal: Seal(secret: [1])).decode(octets) == nil)
    }
}

@Suite("Messages that come again")
struct KnownSendersTests {
    private static func sender(_ number: UInt8) -> [UInt8] { Array(repeating: 1, count: 15) + [number] }
    private let a = sender(1)
    private let b = sender(2)

    private final class Reader {
        var senders: KnownSenders
        init(_ senders: KnownSenders = KnownSenders()) { self.senders = senders }
        func admit(_ number: Int64, of sender: [UInt8]) -> Bool { senders.admit(number, of: sender) }
    }

    @Test func `each message counts once`() {
        let reader = Reader()
        for number in [1, 2, 5] as [Int64] {
            #expect(reader.admit(number, of: a))
            #expect(!reader.admit(number, of: a))
            #expect(reader.admit(number, of: b))
        }
        for number in [1, 2, 5] as [Int64] { #expect(!reader.admit(number, of: a)) }
    }

    @Test func `a message that was refused at first, and came after the next ones, is not lost`() {
        let reader = Reader()
        #expect(reader.admit(100, of: a))
        // All of a batch is sent again where one of its messages was refused.
        for number in (102...164).reversed() as ReversedCollection<ClosedRange<Int64>> {
            #expect(reader.admit(number, of: a))
        }
        let again = (101...164 as ClosedRange<Int64>).filter { reader.admit($0, of: a) }
        #expect(again == [101])
    }

    @Test func `what is far behind was there before`() {
        let reader = Reader()
        #expect(reader.admit(1000, of: a))
        #expect(reader.admit(1000 - 127, of: a))
        #expect(!reader.admit(1000 - 128, of: a))
        #expect(!reader.admit(0, of: a))
        #expect(reader.admit(.max, of: a))
        #expect(!reader.admit(1000, of: a) && !reader.admit(0, of: a) && !reader.admit(.max, of: a))
        #expect(reader.admit(.max - 1, of: a))
    }

    @Test func `as many senders are remembered as there is room for, those that were heard of last`() {
        let reader = Reader(KnownSenders(limit: 3))
        for number in 1...3 as ClosedRange<UInt8> { #expect(reader.admit(7, of: Self.sender(number))) }
        #expect(reader.admit(8, of: Self.sender(1)))
        // What is not obeyed does not keep a sender.
        #expect(!reader.admit(7, of: Self.sender(2)))
        #expect(reader.admit(7, of: Self.sender(4)))
        #expect(reader.senders.list.map { UInt8(truncatingIfNeeded: $0.sender) } == [3, 1, 4])
        #expect(!reader.admit(8, of: Self.sender(1)) && !reader.admit(7, of: Self.sender(3)))
        #expect(reader.admit(7, of: Self.sender(2)))
    }

    @Test func `they are remembered as they were`() {
        let reader = Reader()
        for number in [3, 1, 9, 200, 150] as [Int64] { _ = reader.admit(number, of: number < 100 ? a : b) }
        let again = Reader(KnownSenders(reader.senders.list))
        #expect(again.senders == reader.senders)
        for number in [3, 1, 9] as [Int64] { #expect(!again.admit(number, of: a)) }
        #expect(again.admit(2, of: a) && again.admit(151, of: b) && !again.admit(150, of: b))
        #expect(KnownSenders(reader.senders.list, limit: 1).list.map(\.sender) == [reader.senders.list[1].sender])
    }
}

@Suite("Generations")
struct KnownGenerationsTests {
    private let a = Generation.random()
    private let b = Generation.random()

    @Test func `all are known or none is`() {
        var known = KnownGenerations()
        known.learn(a, of: .everything, asked: 0, at: 0)
        #expect(known.all([.everything], at: 1) == [a])
        #expect(known.all([.everything, .group("g", origin: nil)], at: 1) == nil)
        #expect(known.unknown([.everything, .group("g", origin: nil)], at: 1) == [.group("g", origin: nil)])
    }

    @Test func `an answer that the log has overtaken is not learnt`() {
        var known = KnownGenerations()
        let asked = known.mark
        known.replace(b, of: .everything, at: 0)
        let isLearnt = known.learn(a, of: .everything, asked: asked, at: 0)
        #expect(!isLearnt)
        #expect(known.all([.everything], at: 0) == [b])
    }

    @Test func `they are asked for again after a minute`() {
        var known = KnownGenerations()
        known.learn(a, of: .everything, asked: 0, at: 0)
        #expect(known.all([.everything], at: 59_999_999_999) == [a])
        #expect(known.all([.everything], at: 60_000_000_000) == nil)
    }

    @Test func `there is room for so many`() {
        var known = KnownGenerations(limit: 10)
        for number in 0..<100 { known.learn(a, of: .group("\(number)", origin: nil), asked: 0, at: 0) }
        #expect((0..<100).count { known.all([.group("\($0)", origin: nil)], at: 0) != nil } <= 10)
        #expect(known.all([.group("99", origin: nil)], at: 0) == [a])
    }

    @Test func `a generation has sixteen octets`() {
        #expect(Generation([]) == nil && Generation([UInt8](repeating: 0, count: 17)) == nil)
        #expect(Generation.random() != Generation.random())
    }
}

@Suite("Invalidations that wait for the engine")
struct SharedOutboxTests {
    private func url(_ path: String) -> LogMessage.Subject { .url(Array(path.utf8), service: "s", base: "b") }
    private func key(_ path: String) -> SharedKey { SharedKey(service: "s", base: "b", url: Array(path.utf8)) }

    @Test func `a URL is not looked for until all its invalidations are confirmed`() {
        var outbox = SharedOutbox()
        _ = outbox.append(url("/a"))
        _ = outbox.append(url("/b"))
        _ = outbox.append(url("/a"))
        #expect(outbox.contains(key("/a")) && outbox.contains(key("/b")) && !outbox.contains(key("/c")))
        outbox.confirm(outbox.next(2))
        #expect(outbox.contains(key("/a")) && !outbox.contains(key("/b")) && !outbox.isEmpty)
        outbox.confirm(outbox.next(2))
        #expect(!outbox.contains(key("/a")) && outbox.isEmpty)
    }

    @Test func `the engine is not believed about a scope while it does not have the invalidation`() {
        let state = SharedState(namespace: "n", secret: [1])
        let (old, new) = (Generation.random(), Generation.random())
        let later: Int64 = 61_000_000_000
        var known: [Generation]? { state.all([.everything], at: later) }
        state.post(.scope(.everything, new), at: 0)
        #expect(state.all([.everything], at: 1) == [new])
        let asked = state.mark
        state.learn(old, of: .everything, asked: asked, at: later)
        #expect(known == nil)
        state.confirm(state.nextToSend(10))
        // An answer that was under way.
        state.learn(old, of: .everything, asked: asked, at: later)
        #expect(known == nil)
        state.learn(new, of: .everything, asked: state.mark, at: later)
        #expect(known == [new])
    }

    @Test func `more than there is room for are one of everything`() {
        var outbox = SharedOutbox(limit: 3)
        let none = (0..<3).compactMap { outbox.append(url("/\($0)")) }
        #expect(none.isEmpty)
        let old = outbox.next(3)
        let all = outbox.append(url("/3"))
        guard case .scope(.everything, _) = all else {
            Issue.record("\(all as Any)")
            return
        }
        #expect(outbox.next(10).map(\.subject) == [all])
        // Those that were on their way change nothing.
        outbox.confirm(old)
        #expect(!outbox.isEmpty)
    }
}
