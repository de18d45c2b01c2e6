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
        let message = LogMessage(from: [1, 2, 3], subject)
        #expect(coding.decode(coding.encode(message)) == message)
    }

    @Test(arguments: subjects)
    func `nobody else writes messages`(_ subject: LogMessage.Subject) {
        let octets = coding.encode(LogMessage(from: [1], subject))
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
