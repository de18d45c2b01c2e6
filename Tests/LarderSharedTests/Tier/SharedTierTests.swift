// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderStores
import Testing

@testable import LarderShared

/// One process of a team, on a loop with the clock of the system.
final class Member {
    let loop: EventLoop
    let state: SharedState
    let tier: SharedTier
    let log: SharedLog
    let engine: Engine
    private(set) var obeyed: [LogMessage.Subject] = []
    private(set) var forgotten = 0
    private(set) var place: LogPlace?

    init(
        _ server: RedisServer, on loop: EventLoop, namespace: String = "team", secret: String = "secret",
        from place: LogPlace? = nil
    ) {
        self.loop = loop
        let connector = loop.makeConnectorHere()
        var settings = EngineSettings(nodes: [.unix(path: server.socket)])
        // The machine may be busy.
        settings.timeout = .seconds(20)
        settings.connectTimeout = .seconds(20)
        func make() -> Engine {
            Engine(on: loop, settings) { node, timeout async throws(IOError) in
                try await connector.dial(node, tls: nil, within: timeout)
            }
        }
        state = SharedState(namespace: namespace, secret: Array(secret.utf8))
        engine = make()
        tier = SharedTier(state, on: loop, through: engine)
        let effects = Confined(Box())
        log = SharedLog(
            state, on: loop, reader: make(), writer: make(), from: place,
            effects: SharedLog.Effects(
                obey: { effects.value.member?.obeyed.append($0) }, forgetAll: { effects.value.member?.forgotten += 1 },
                reached: { effects.value.member?.place = $0 }))
        effects.value.member = self
    }

    private final class Box {
        weak var member: Member?
    }

    deinit {
        log.close()
        tier.close()
    }

    /// Starts to follow the log, and waits until it does.
    func join() async {
        log.start()
        while !state.followsLog(at: loop.monotonicHere()) { await loop.sleep(for: .milliseconds(5)) }
    }

    func post(_ subject: LogMessage.Subject) {
        state.post(subject, at: loop.monotonicHere())
        log.send()
    }

    func until(_ isTrue: () -> Bool) async {
        while !isTrue() { await loop.sleep(for: .milliseconds(5)) }
    }

    /// Looks for a URL and writes an entity for it.
    @discardableResult
    func share(
        _ path: String, _ text: String = "hello", variant: String = "v", groups: [String] = []
    ) async throws
        -> Bool
    {
        let look = try #require(await tier.look(.sample(path)))
        let (content, pieces) = SharedContent.cut([ContentChunk(text.utf8)])
        return await tier.write(
            .sample(variant: variant, head: variant, groups: groups, content: content), pieces, after: look)
    }

    /// What is found for a URL, as the texts of its variants.
    func found(_ path: String) async throws -> [String] {
        let look = try #require(await tier.look(.sample(path)))
        var texts: [String] = []
        for entity in look.entities {
            let chunks = try #require(await tier.content(of: entity))
            texts.append(String(decoding: chunks.flatMap { Array($0.bytes) }, as: UTF8.self))
        }
        return texts
    }

    func command(_ words: String...) async throws -> Reply {
        try await engine.perform(
            Command(words.map { Array($0.utf8) }), until: engine.instant(after: .seconds(20))
        ).get()
    }
}

@Suite(
    "The shared tier with a real engine", .timeLimit(.minutes(5)),
    .enabled(if: RedisServer.path != nil, "neither valkey-server nor redis-server is installed"))
struct SharedTierTests {
    static func run(_ body: @Sendable @escaping (EventLoop, RedisServer) async throws -> Void) async throws {
        let server = try RedisServer()
        let loop = try EventLoop(name: "test")
        try loop.start()
        defer { loop.stop() }
        try await loop.run { loop in try await body(loop, server) }
    }

    @Test func `what one stores another finds`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            #expect(try await b.found("/a") == [])
            #expect(try await a.share("/a"))
            #expect(try await b.found("/a") == ["hello"])
            #expect(try await b.found("/b") == [])
            let long = String(repeating: "0123456789", count: 60_000)
            #expect(try await a.share("/long", long))
            #expect(try await b.found("/long") == [long])
        }
    }

    @Test func `variants that come at the same time are all there`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            let looks = (try #require(await a.tier.look(.sample())), try #require(await b.tier.look(.sample())))
            let one = SharedEntity.sample(variant: "1", content: .inline([0x31]))
            let two = SharedEntity.sample(variant: "2", content: .inline([0x32]))
            #expect(await a.tier.write(one, [], after: looks.0))
            #expect(await b.tier.write(two, [], after: looks.1))
            #expect(try await a.found("/a") == ["2", "1"])
            #expect(try await a.share("/a", "3", variant: "1"))
            #expect(try await b.found("/a") == ["3", "2"])
        }
    }

    @Test func `an invalidation anywhere is one everywhere`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            let key = SharedKey.sample()
            let invalidations: [LogMessage.Subject] = [
                .url(key.url, service: key.service, base: key.base), .scope(.everything, .random()),
                .scope(.service(name: key.service, base: key.base), .random()),
                .scope(.group("g", origin: nil), .random()), .scope(.group("g", origin: "https://a.test"), .random()),
                .patterns(["*"], service: key.service, base: key.base, .random()),
            ]
            for (number, subject) in invalidations.enumerated() {
                #expect(try await a.share("/a", groups: ["g"]))
                #expect(try await b.found("/a") == ["hello"])
                a.post(subject)
                // The one that invalidates finds nothing from now on; the others once they have heard.
                if await a.tier.look(key) != nil { #expect(try await a.found("/a") == []) }
                await b.until { b.obeyed.count > number }
                #expect(b.obeyed.last == subject)
                #expect(try await b.found("/a") == [])
                await a.until { a.state.isEverythingSent }
                #expect(try await a.found("/a") == [])
            }
            #expect(a.obeyed.isEmpty)
        }
    }

    @Test func `a load that began before an invalidation is not written after it`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            let key = SharedKey.sample()
            for subject in [
                LogMessage.Subject.url(key.url, service: key.service, base: key.base), .scope(.everything, .random()),
            ] {
                let look = try #require(await a.tier.look(key))
                b.post(subject)
                await b.until { b.state.isEverythingSent }
                _ = await a.tier.write(.sample(), [], after: look)
                #expect(try await b.found("/a") == [])
            }
        }
    }

    @Test func `a member of a group that was invalidated since its load began is not written`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            for (number, origin) in [nil, "https://a.test"].enumerated() {
                let look = try #require(await a.tier.look(.sample()))
                b.post(.scope(.group("g", origin: origin), .random()))
                await a.until { a.obeyed.count > number }
                #expect(await a.tier.write(.sample(groups: ["g"]), [], after: look) == false)
                #expect(try await b.found("/a") == [])
            }
            #expect(try await a.share("/a", groups: ["g"]))
        }
    }

    @Test func `who was away reads what was said meanwhile`() async throws {
        try await Self.run { (loop, server) async throws in
            let a = Member(server, on: loop)
            await a.join()
            let first = Member(server, on: loop)
            await first.join()
            let place = try #require(first.place)
            first.log.close()
            a.post(.url(Array("/x".utf8), service: "s", base: "b"))
            await a.until { a.state.isEverythingSent }
            let again = Member(server, on: loop, from: place)
            await again.join()
            #expect(again.obeyed == [.url(Array("/x".utf8), service: "s", base: "b")])
            #expect(again.forgotten == 0)
        }
    }

    @Test func `who cannot know what it missed forgets everything`() async throws {
        try await Self.run { (loop, server) async throws in
            let a = Member(server, on: loop)
            await a.join()
            #expect(a.forgotten == 1)
            let place = try #require(a.place)
            _ = try await a.command("FLUSHALL")
            await a.until { a.forgotten == 2 || a.state.followsLog(at: a.loop.monotonicHere()) }
            let b = Member(server, on: loop, from: place)
            await b.join()
            #expect(b.forgotten == 1 && b.place?.position != place.position)
        }
    }

    @Test func `a log that was emptied is noticed, whoever writes to it first`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            let known = b.forgotten
            _ = try await a.command("FLUSHALL")
            // In the order of the log, the first of them is the next that b reads.
            for number in 1...5 {
                a.post(.url(Array("/\(number)".utf8), service: "s", base: "b"))
                await b.until { b.forgotten > known || b.obeyed.count == number }
            }
            #expect(b.forgotten == known + 1)
        }
    }

    @Test func `a message that somebody puts into the log again is not obeyed, after a restart either`() async throws {
        try await Self.run { (loop, server) async throws in
            func url(_ path: String) -> LogMessage.Subject { .url(Array(path.utf8), service: "s", base: "b") }
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            for subject in [url("/x"), .scope(.everything, .random())] { a.post(subject) }
            await b.until { b.obeyed.count == 2 }
            let stream = Array("team:log".utf8)
            let deadline = b.engine.instant(after: .seconds(60))
            let old = try #require(LogEntry.list(try await b.command("XRANGE", "team:log", "-", "+")))
            func append() async throws {
                for message in old.compactMap(\.octets) {
                    let words = [Array("XADD".utf8), stream, [0x2A], [0x6D], message]
                    _ = try await b.engine.perform(Command(words), until: deadline).get()
                }
            }
            try await append()
            a.post(url("/y"))
            await b.until { b.obeyed.count == 3 && a.place == b.place }
            #expect(b.obeyed.last == url("/y") && b.state.counters[.repeated] == 2)
            #expect(b.state.counters[.received] == 3)
            let places = [a.place, b.place]
            for member in [a, b] { member.log.close() }
            try await append()
            let c = Member(server, on: loop)
            await c.join()
            c.post(url("/z"))
            for place in places {
                let again = Member(server, on: loop, from: place)
                await again.join()
                await again.until { !again.obeyed.isEmpty }
                #expect(again.obeyed == [url("/z")] && again.forgotten == 0)
                again.log.close()
            }
        }
    }

    @Test func `one of many asks, and the others get what it stores`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            let first = try #require(await a.tier.look(.sample()))
            guard case .mine(let look, let token?) = await a.tier.takeTurn(after: first, isEnough: { _ in true }) else {
                Issue.record("the first one asks")
                return
            }
            let second = try #require(await b.tier.look(.sample()))
            #expect(second.lease == .taken)
            loop.startHere {
                _ = await a.tier.write(.sample(), [], after: look)
                await a.tier.release(token, look.key)
            }
            guard case .found(let found) = await b.tier.takeTurn(after: second, isEnough: { !$0.entities.isEmpty })
            else {
                Issue.record("the second one waits")
                return
            }
            #expect(found.entities == [.sample()])
        }
    }

    @Test func `nobody waits for a response that is not shared`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            let first = try #require(await a.tier.look(.sample()))
            guard case .mine(_, let token?) = await a.tier.takeTurn(after: first, isEnough: { _ in true }) else {
                Issue.record("the first one asks")
                return
            }
            await b.tier.release(.random(), .sample())
            #expect(await b.tier.look(.sample())?.lease == .taken)
            await a.tier.note(token, .sample())
            let second = try #require(await b.tier.look(.sample()))
            #expect(second.lease == .pointless)
            guard case .mine(_, nil) = await b.tier.takeTurn(after: second, isEnough: { _ in true }) else {
                Issue.record("the second one asks at once")
                return
            }
        }
    }

    @Test func `whatever is altered in the engine is found by nobody`() async throws {
        try await Self.run { (loop, server) async throws in
            let a = Member(server, on: loop)
            await a.join()
            let key = SharedKey.sample()
            let (index, generation) = (a.state.keys.index(key), a.state.keys.generation(key))
            let long = String(repeating: "0123456789", count: 1000)
            #expect(try await a.share("/a", long))
            let deadline = a.engine.instant(after: .seconds(20))
            let octets = try #require(
                try await a.engine.perform(Command([Array("GET".utf8), index]), until: deadline).get().octets)
            func set(_ key: [UInt8], _ octets: [UInt8]) async throws {
                _ = try await a.engine.perform(Command([Array("SET".utf8), key, octets]), until: deadline).get()
            }
            var generator = SystemRandomNumberGenerator()
            for _ in 0..<300 {
                var altered = octets
                // Anywhere behind the revision, which means nothing.
                let place = Int.random(in: 16..<octets.count, using: &generator)
                altered[place] ^= UInt8.random(in: 1...255, using: &generator)
                try await set(index, altered)
                #expect(try await a.found("/a") == [])
            }
            // Under another URL.
            try await set(a.state.keys.index(.sample("/b")), octets)
            #expect(try await a.found("/b") == [])
            // Of an older generation.
            try await set(index, octets)
            #expect(try await a.found("/a") == [long])
            a.post(.url(key.url, service: key.service, base: key.base))
            await a.until { a.state.isEverythingSent }
            try await set(index, octets)
            #expect(try await a.found("/a") == [])
            try await set(generation, Generation.random().octets)
            #expect(try await a.found("/a") == [])
            // Content that is another's.
            #expect(try await a.share("/a", long))
            let look = try #require(await a.tier.look(key))
            guard case .pieces(let digests, _) = try #require(look.entities.first).content else { return }
            try await set(a.state.keys.piece(digests[0]), Array(repeating: 0x30, count: 10_000))
            #expect(await a.tier.content(of: look.entities[0]) == nil)
        }
    }

    @Test func `other namespaces and other teams find nothing`() async throws {
        try await Self.run { (loop, server) async throws in
            let a = Member(server, on: loop)
            let other = Member(server, on: loop, namespace: "other")
            let stranger = Member(server, on: loop, secret: "guess")
            for member in [a, other, stranger] { await member.join() }
            #expect(try await a.share("/a"))
            #expect(try await other.found("/a") == [])
            #expect(try await stranger.found("/a") == [])
            #expect(stranger.state.counters[.rejected] > 0)
        }
    }
}
