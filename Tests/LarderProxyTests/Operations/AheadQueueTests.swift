// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

@Suite("Refreshing ahead: the queue, and what may be asked for")
struct AheadQueueTests {
    static let second: Int64 = 1_000_000_000

    static let services = Services(
        ("api", "http://api.test/", nil), ("b", "http://b.test/", nil), ("c", "http://c.test/", nil)
    ).table

    static func entry(
        _ number: Int, of name: String = "api", due: Int64, path: String = ""
    ) throws -> AheadQueue.Entry {
        let service = try #require(services.named(name))
        return AheadQueue.Entry(
            target: AheadTarget(try TargetURI("http://\(name).test/\(number)\(path)"), service), vouched: nil,
            uses: 0, jitter: 0, due: due)
    }

    static func taken(_ queue: inout AheadQueue, now: Int64) throws -> AheadQueue.Entry {
        let entry = queue.take(now: now)
        return try #require(entry)
    }

    @Test func `the earliest comes first, and a new time replaces the old one`() throws {
        var queue = AheadQueue()
        for (number, due) in [(1, 30), (2, 10), (3, 20), (2, 40)] as [(Int, Int64)] {
            queue.add(try Self.entry(number, due: due))
        }
        #expect(queue.count == 3)
        #expect(queue.nextDue(now: 0) == 20)
        #expect(queue.take(now: 19) == nil)
        #expect(queue.take(now: 40)?.target.subject.uri.string == "http://api.test/3")
        queue.remove(try Self.entry(1, due: 0).target.key)
        #expect(queue.nextDue(now: 0) == 40)
        #expect(queue.take(now: 40)?.target.subject.uri.string == "http://api.test/2")
        #expect(queue.take(now: 1_000) == nil)
        #expect(queue.count == 0)
    }

    @Test func `four at once, two of a service, and ten in a second`() throws {
        var queue = AheadQueue()
        for number in 0..<20 { for name in ["api", "b", "c"] { queue.add(try Self.entry(number, of: name, due: 0)) } }
        var running = (0..<4).compactMap { _ in queue.take(now: 0) }
        #expect(running.count == 4)
        #expect(queue.take(now: 0) == nil)
        #expect(queue.nextDue(now: 0) == nil)
        for _ in 0..<6 {
            queue.finished(running.removeFirst())
            running.append(try Self.taken(&queue, now: 1))
        }
        queue.finished(running.removeFirst())
        #expect(queue.take(now: 2) == nil)
        #expect(queue.nextDue(now: 2) == Self.second)
        #expect(queue.take(now: Self.second) != nil)
    }

    @Test func `services take turns, and two places at most`() throws {
        var queue = AheadQueue()
        for number in 0..<5 { queue.add(try Self.entry(number, due: Int64(number))) }
        queue.add(try Self.entry(0, of: "b", due: 90))
        let first = try Self.taken(&queue, now: 100)
        #expect(first.target.subject.uri.string == "http://api.test/0")
        #expect(queue.take(now: 100)?.target.subject.uri.string == "http://b.test/0")
        #expect(queue.take(now: 100)?.target.subject.uri.string == "http://api.test/1")
        #expect(queue.take(now: 100) == nil)
        #expect(queue.nextDue(now: 100) == nil)
        queue.finished(first)
        #expect(queue.nextDue(now: 100) == 2)
        #expect(queue.take(now: 100)?.target.subject.uri.string == "http://api.test/2")
    }

    @Test func `who takes too long gives up the place, and four of them stop their service alone`() throws {
        var queue = AheadQueue()
        for number in 0..<9 { queue.add(try Self.entry(number, due: 0)) }
        queue.add(try Self.entry(0, of: "b", due: 5))
        var late: [AheadQueue.Entry] = []
        for second in 0..<4 as Range<Int64> {
            let entry = try Self.taken(&queue, now: second * Self.second / 100)
            queue.noteLate(entry)
            late.append(entry)
        }
        #expect(late.map(\.target.subject.uri.host).allSatisfy { $0 == "api.test" } == false)
        while let entry = queue.take(now: Self.second) {
            queue.noteLate(entry)
            late.append(entry)
        }
        #expect(late.count { $0.target.subject.uri.host == "api.test" } == AheadQueue.lateLimit)
        #expect(queue.nextDue(now: 2 * Self.second) == nil)
        queue.add(try Self.entry(1, of: "b", due: 7))
        #expect(queue.take(now: 2 * Self.second)?.target.subject.uri.string == "http://b.test/1")
        queue.finished(try #require(late.first { $0.target.subject.uri.host == "api.test" }), wasLate: true)
        #expect(queue.nextDue(now: 2 * Self.second) == 0)
        #expect(queue.take(now: 2 * Self.second) != nil)
    }

    @Test func `when it is full, what is due last gives way`() throws {
        var queue = AheadQueue()
        for number in 0..<AheadQueue.limit { queue.add(try Self.entry(number, due: 100 + Int64(number))) }
        #expect(queue.count == AheadQueue.limit)
        let (last, later) = (try Self.entry(AheadQueue.limit - 1, due: 0), try Self.entry(-1, due: 1 << 40))
        queue.add(later)
        #expect(queue.due(later.target.key) == nil)
        #expect(queue.due(last.target.key) != nil)
        let earlier = try Self.entry(-2, due: 5)
        queue.add(earlier)
        #expect(queue.due(earlier.target.key) == 5)
        #expect(queue.due(last.target.key) == nil)
        // A new time needs no other room.
        queue.add(try Self.entry(-2, due: 1 << 40))
        #expect(queue.count == AheadQueue.limit)
    }

    @Test func `one service leaves room for the others`() throws {
        var queue = AheadQueue()
        for number in 0..<AheadQueue.limit { queue.add(try Self.entry(number, due: Int64(number))) }
        let other = try Self.entry(0, of: "b", due: 1 << 40)
        queue.add(other)
        #expect(queue.due(other.target.key) == 1 << 40)
        #expect(queue.count == AheadQueue.limit)
    }

    @Test func `what was asked for stays rather than what was not`() throws {
        var queue = AheadQueue()
        for number in 0..<AheadQueue.limit { queue.add(try Self.entry(number, due: 100 + Int64(number))) }
        let last = try Self.entry(AheadQueue.limit - 1, due: 0).target.key
        queue.add(try Self.entry(-1, due: 5), isWanted: { $0.target.key == last })
        #expect(queue.due(last) != nil)
        #expect(queue.due(try Self.entry(AheadQueue.limit - 2, due: 0).target.key) == nil)
    }

    @Test func `long URLs count by their length`() throws {
        var queue = AheadQueue()
        let path = String(repeating: "x", count: 16_000)
        for number in 0..<400 { queue.add(try Self.entry(number, due: Int64(number), path: path)) }
        #expect((250...265).contains(queue.count))
        #expect(queue.due(try Self.entry(0, due: 0, path: path).target.key) == 0)
        #expect(queue.due(try Self.entry(399, due: 0, path: path).target.key) == nil)
        for number in 0..<400 { queue.remove(try Self.entry(number, due: 0, path: path).target.key) }
        #expect(queue.count == 0)
        queue.add(try Self.entry(0, due: 0))
        #expect(queue.count == 1)
    }

    @Test func `what nobody asked for uses up no turns`() throws {
        var queue = AheadQueue()
        for number in 0..<50 { queue.add(try Self.entry(number, due: 0)) }
        for _ in 0..<40 { queue.skipped(try Self.taken(&queue, now: 0)) }
        #expect(queue.take(now: 0) != nil)
    }

    static let own: ConfiguredFields = {
        var fields = ConfiguredFields()
        fields[.authorization] = "Bearer own"
        fields["X-Api-Key"] = nil
        return fields
    }()

    @Test(
        arguments: [
            ([:], ConfiguredFields(), true), (["Accept": "a/b", "User-Agent": "x"], ConfiguredFields(), true),
            (["Authorization": "x"], ConfiguredFields(), false), (["Cookie": "a=b"], ConfiguredFields(), false),
            (["X-Api-Key": "x"], ConfiguredFields(), false), (["Private-Token": "x"], ConfiguredFields(), false),
            (["Authorization": "x", "X-Api-Key": "x"], own, true),
            (["Authorization": "x", "Cookie": "a=b"], own, false),
        ] as [(Fields, ConfiguredFields, Bool)]) func `no client's credentials are part of what is repeated`(
            sent: Fields, configured: ConfiguredFields, isEligible: Bool
        )
    {
        let decision = AheadEligibility.decide(
            .variant("a", request: sent), of: "http://a.test/", isOfUser: false, isKeyedByContent: false, sent: sent,
            policy: CachePolicy(),
            configured: configured)
        #expect(
            decision
                == (isEligible
                    ? .eligible(["Accept": "*/*", "User-Agent": "larder/\(LarderVersion.current)"])
                    : .ineligible(.credentials)))
    }

    @Test(arguments: [
        ("?page=2", true), ("?access_token=x", false), ("?a=b&%73ig=x", false), ("?api_key=x&b=c", false),
        ("?key", true),
    ]) func `nor are those in a URL`(query: String, isEligible: Bool) {
        let decision = AheadEligibility.decide(
            .variant("a"), of: "http://a.test/a\(query)", isOfUser: false, isKeyedByContent: false, sent: [:],
            policy: CachePolicy(), configured: Self.own)
        #expect((decision == .ineligible(.credentials)) == !isEligible)
    }

    @Test func `of what is only stored, the record decides`() {
        func decision(_ request: Fields, _ policy: CachePolicy, _ own: ConfiguredFields = .init()) -> Bool {
            let decision = AheadEligibility.decide(
                .variant("a", request: request), of: "http://a.test/", isOfUser: false, isKeyedByContent: false,
                sent: nil, policy: policy,
                configured: own)
            if case .eligible = decision { return true }
            return false
        }
        var single = CachePolicy()
        single.role = .private
        #expect(decision([:], CachePolicy()))
        #expect(!decision([:], single))
        #expect(!decision(["Authorization": "x"], CachePolicy()))
        #expect(!decision(["Cookie": "a=b"], CachePolicy()))
    }

    @Test func `users, contents, parts and other people's Vary are left alone`() {
        func decision(_ variant: Variant, isOfUser: Bool = false, isKeyed: Bool = false) -> AheadEligibility {
            AheadEligibility.decide(
                variant, of: "http://a.test/", isOfUser: isOfUser, isKeyedByContent: isKeyed, sent: [:],
                policy: CachePolicy(),
                configured: ConfiguredFields())
        }
        #expect(decision(.variant(), isOfUser: true) == .ineligible(.ofOneUser))
        #expect(decision(.variant(), isKeyed: true) == .ineligible(.keyedByContent))
        #expect(decision(.variant(fields: ["Vary": "*"])) == .ineligible(.notRepeatable))
        #expect(
            decision(.variant(fields: ["Vary": "Cookie"], request: ["Cookie": "a=b"])) == .ineligible(.credentials))
        #expect(
            decision(.variant(fields: ["Vary": "X-Access-Code"], request: ["X-Access-Code": "12345"]))
                == .ineligible(.credentials))
        let german: Fields = [
            "User-Agent": "larder/\(LarderVersion.current)", "Accept": "text/html", "Accept-Language": "de",
        ]
        let varied = Variant.variant(
            fields: ["Vary": "Accept, Accept-Language, Cookie"],
            request: ["Accept-Language": "de", "Accept": "text/html"])
        guard case .eligible(let fields) = decision(varied) else {
            Issue.record("it is eligible")
            return
        }
        for name: FieldName in [.accept, .acceptLanguage, .userAgent, .cookie] {
            #expect(fields[name] == german[name])
        }
    }
}
