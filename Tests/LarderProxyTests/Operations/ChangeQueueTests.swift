// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import Testing

@testable import LarderProxy

@Suite("Changes that wait to be told")
struct ChangeQueueTests {
    static let second: Int64 = 1_000_000_000
    static let rule: ChangeRule = {
        var rule = ChangeRule()
        rule.webhook = "http://hook.test/"
        return rule
    }()

    static func change(_ old: String, _ new: String, _ url: String = "http://a.test/") -> ContentChange {
        ContentChange(
            url: url, service: "a", status: 200, at: Timestamp(seconds: 0), oldDigest: old, newDigest: new)
    }

    @Test func `changes within the time are told as one`() {
        var queue = ChangeQueue()
        #expect(queue.note(Self.change("1", "2"), Self.rule, now: 0) == 0)
        #expect(queue.note(Self.change("2", "3"), Self.rule, now: 4 * Self.second) == 0)
        // The first one began the time: a URL that changes all the time is told of all the same.
        #expect(queue.nextDue == 5 * Self.second)
        #expect(queue.take(now: 4 * Self.second) == [])
        #expect(queue.take(now: 5 * Self.second).map(\.change) == [Self.change("1", "3")])
        #expect(queue.nextDue == nil)
    }

    @Test func `a time without end is waited for`() {
        var (queue, rule) = (ChangeQueue(), Self.rule)
        rule.debounce = .seconds(Int64.max)
        #expect(queue.note(Self.change("1", "2"), rule, now: 4 * Self.second) == 0)
        #expect(queue.nextDue == .max)
        #expect(queue.take(now: 1_000 * Self.second) == [])
    }

    @Test func `what is as it was before is not told`() {
        var queue = ChangeQueue()
        _ = queue.note(Self.change("1", "2"), Self.rule, now: 0)
        _ = queue.note(Self.change("2", "1"), Self.rule, now: 1)
        #expect(queue.count == 0)
        #expect(queue.take(now: 9 * Self.second) == [])
    }

    @Test func `contents for different requests are not mixed up`() {
        #expect(Self.change("1", "2").followed(by: Self.change("7", "8")) == Self.change("7", "8"))
        #expect(Self.change("1", "2").followed(by: Self.change("7", "1")) == Self.change("7", "1"))
    }

    @Test func `what comes while a change is told waits for it`() throws {
        var queue = ChangeQueue()
        _ = queue.note(Self.change("1", "2"), Self.rule, now: 0)
        let first = try #require(queue.take(now: 5 * Self.second).first)
        _ = queue.note(Self.change("2", "3"), Self.rule, now: 6 * Self.second)
        #expect(queue.take(now: 60 * Self.second) == [])
        #expect(queue.finished(first, isTold: true, now: 60 * Self.second) == .told)
        #expect(queue.take(now: 60 * Self.second).map(\.change) == [Self.change("2", "3")])
    }

    @Test func `failures are repeated three times, with what has come since`() throws {
        var queue = ChangeQueue()
        _ = queue.note(Self.change("1", "2"), Self.rule, now: 0)
        var now = 5 * Self.second
        for pause in [2, 15, 60] as [Int64] {
            let delivery = try #require(queue.take(now: now).first)
            #expect(queue.finished(delivery, isTold: false, now: now) == .willBeRepeated)
            #expect(queue.nextDue == now + pause * Self.second)
            now += pause * Self.second
            _ = queue.note(Self.change("2", "2 and \(pause)"), Self.rule, now: now - 1)
            _ = queue.note(Self.change("2 and \(pause)", "2"), Self.rule, now: now - 1)
        }
        let last = try #require(queue.take(now: now).first)
        #expect(last.change == Self.change("1", "2"))
        #expect(queue.finished(last, isTold: false, now: now) == .givenUp)
        #expect(queue.count == 0)
    }

    /// A rule with a webhook of that name alone.
    static func hook(_ name: String) -> ChangeRule {
        var rule = ChangeRule()
        rule.webhook = "http://\(name).test/"
        rule.debounce = .zero
        return rule
    }

    @Test func `a listener is told two at a time, and a thousand wait`() {
        var queue = ChangeQueue()
        var lost = 0
        for number in 0..<1_003 {
            lost += queue.note(Self.change("1", "2", "http://a.test/\(number)"), Self.rule, now: Int64(number))
        }
        #expect(lost == 3)
        #expect(queue.count == 1_000)
        let now = 10 * Self.second
        let first = queue.take(now: now)
        #expect(first.map(\.change.url) == (0..<2).map { "http://a.test/\($0)" })
        #expect(queue.take(now: now) == [])
        #expect(queue.nextDue == nil)
        #expect(queue.finished(first[0], isTold: true, now: now) == .told)
        #expect(queue.take(now: now).map(\.change.url) == ["http://a.test/2"])
    }

    @Test func `a listener that does not answer takes no place from others`() throws {
        var queue = ChangeQueue()
        for number in 0..<20 { _ = queue.note(Self.change("1", "2", "\(number)"), Self.hook("dead"), now: 0) }
        for number in 0..<3 { _ = queue.note(Self.change("1", "2", "\(number)"), Self.hook("good"), now: 5) }
        let first = queue.take(now: 10)
        #expect(first.map(\.change.url) == ["0", "0", "1", "1"])
        #expect(Set(first.prefix(2).map(\.job.listener)).count == 2)
        for delivery in first where delivery.job.listener == .webhook("http://good.test/") {
            #expect(queue.finished(delivery, isTold: true, now: 20) == .told)
        }
        #expect(queue.take(now: 20).map(\.job.listener) == [.webhook("http://good.test/")])
    }

    @Test func `eight are told at a time, each listener in turn`() {
        var queue = ChangeQueue()
        for listener in 0..<9 {
            for number in 0..<3 { _ = queue.note(Self.change("1", "2", "\(number)"), Self.hook("\(listener)"), now: 0) }
        }
        let first = queue.take(now: 0)
        #expect(first.count == 8)
        #expect(Set(first.map(\.job.listener)).count == 8)
        #expect(queue.nextDue == nil)
        for delivery in first { _ = queue.finished(delivery, isTold: true, now: 1) }
        #expect(!Set(queue.take(now: 1).prefix(1).map(\.job.listener)).isSubset(of: first.map(\.job.listener)))
    }

    @Test func `a listener that fails is left alone, whatever the URL`() throws {
        var queue = ChangeQueue()
        for number in 0..<4 { _ = queue.note(Self.change("1", "2", "\(number)"), Self.hook("dead"), now: 0) }
        let both = queue.take(now: 0)
        for delivery in both { #expect(queue.finished(delivery, isTold: false, now: 0) == .willBeRepeated) }
        // Both together are one failure; then one attempt is made at a time.
        #expect(queue.nextDue == 2 * Self.second)
        #expect(queue.take(now: Self.second) == [])
        let probe = queue.take(now: 2 * Self.second)
        #expect(probe.map(\.change.url) == ["2"])
        #expect(queue.finished(probe[0], isTold: false, now: 3 * Self.second) == .willBeRepeated)
        #expect(queue.nextDue == 18 * Self.second)
        let good = queue.take(now: 18 * Self.second)
        #expect(good.count == 1)
        #expect(queue.finished(good[0], isTold: true, now: 18 * Self.second) == .told)
        #expect(queue.take(now: 18 * Self.second).count == 2)
    }

    @Test func `one listener leaves room for the others' changes`() {
        var queue = ChangeQueue()
        for number in 0..<1_000 { _ = queue.note(Self.change("1", "2", "\(number)"), Self.hook("dead"), now: 0) }
        var lost = 0
        for number in 0..<600 { lost += queue.note(Self.change("1", "2", "\(number)"), Self.hook("good"), now: 0) }
        #expect(lost == 600)
        #expect(queue.count == 1_000)
        var told = 0
        while case let deliveries = queue.take(now: 1).filter({ $0.job.listener == .webhook("http://good.test/") }),
            !deliveries.isEmpty
        {
            for delivery in deliveries { _ = queue.finished(delivery, isTold: true, now: 1) }
            told += deliveries.count
        }
        #expect(told == 500)
    }

    @Test func `programs and webhooks are told each by itself`() throws {
        var rule = Self.rule
        rule.program = ["/bin/true"]
        rule.debounce = .zero
        var queue = ChangeQueue()
        _ = queue.note(Self.change("1", "2"), rule, now: 0)
        let both = queue.take(now: 0)
        #expect(Set(both.map(\.job.listener)) == [.program(["/bin/true"]), .webhook("http://hook.test/")])
        #expect(queue.finished(both[0], isTold: true, now: 0) == .told)
        #expect(queue.finished(both[1], isTold: false, now: 0) == .willBeRepeated)
        #expect(queue.take(now: 2 * Self.second).map(\.job) == [both[1].job])
    }

    @Test func `the oldest digests are forgotten`() {
        var digests = LastDigests()
        func key(_ number: Int) -> [UInt8] { Array("\(number)".utf8) }
        for number in 0..<LastDigests.limit + 2 {
            digests.set(.init(digest: "\(number)", storedAt: Timestamp(seconds: 0)), for: key(number))
        }
        #expect(digests[key(0)] == nil)
        #expect(digests[key(1)] == nil)
        #expect(digests[key(2)]?.digest == "2")
        digests.set(.init(digest: "new", storedAt: Timestamp(seconds: 1)), for: key(2))
        #expect(digests[key(2)]?.digest == "new")
    }

    @Test func `the document has neither more nor less`() {
        #expect(
            Self.change("1", "2", "http://a.test/?q=\"x\"").json
                == "{\"event\":\"change\",\"url\":\"http://a.test/?q=\\\"x\\\"\",\"service\":\"a\","
                + "\"time\":\"1970-01-01T00:00:00.000Z\",\"status\":200,\"oldDigest\":\"sha256:1\","
                + "\"newDigest\":\"sha256:2\"}\n")
    }
}
