// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderStores
import Testing

@testable import LarderShared

/// What belongs to one user.
extension SharedTierTests {
    private static let (anna, ben) = (Array("anna".utf8), Array("ben".utf8))

    private static func key(_ owner: [UInt8]?, _ member: Member, _ path: String = "/a") -> SharedKey {
        owner.map { member.state.own(.sample(path), of: $0) } ?? .sample(path)
    }

    private static func write(_ text: String, for owner: [UInt8]?, by member: Member) async throws -> Bool {
        let look = try #require(await member.tier.look(key(owner, member)))
        return await member.tier.write(.sample(content: .inline(Array(text.utf8))), [], after: look)
    }

    private static func found(by owner: [UInt8]?, at member: Member) async throws -> [String] {
        try #require(await member.tier.look(key(owner, member))).entities.map { entity in
            if case .inline(let octets) = entity.content { String(decoding: octets, as: UTF8.self) } else { "?" }
        }
    }

    @Test func `what is one user's is found by that user, and by nobody else`() async throws {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            #expect(try await Self.write("anna's", for: Self.anna, by: a))
            #expect(try await Self.found(by: Self.anna, at: b) == ["anna's"])
            #expect(try await Self.found(by: Self.ben, at: b) == [])
            #expect(try await Self.found(by: nil, at: b) == [])
            #expect(try await Self.write("all's", for: nil, by: b))
            #expect(try await Self.found(by: nil, at: a) == ["all's"])
            #expect(try await Self.found(by: Self.anna, at: a) == ["anna's"])
            #expect(try await Self.found(by: Self.ben, at: a) == [])
            // Put in the place of another's, it means nothing.
            let index = a.state.keys.index(Self.key(Self.anna, a))
            let deadline = a.engine.instant(after: .seconds(20))
            let octets = try #require(
                try await a.engine.perform(Command([Array("GET".utf8), index]), until: deadline).get().octets)
            for owner in [Self.ben, nil] {
                let place = a.state.keys.index(Self.key(owner, a))
                _ = try await a.engine.perform(Command([Array("SET".utf8), place, octets]), until: deadline).get()
                #expect(try await Self.found(by: owner, at: b) == [])
            }
        }
    }

    @Test func `an invalidation of a URL ends what all users have of it, also when the engine forgets it`() async throws
    {
        try await Self.run { (loop, server) async throws in
            let (a, b) = (Member(server, on: loop), Member(server, on: loop))
            await a.join()
            await b.join()
            let key = SharedKey.sample()
            for owner in [Self.anna, Self.ben] { #expect(try await Self.write("old", for: owner, by: a)) }
            b.post(.url(key.url, service: key.service, base: key.base))
            // Who invalidates finds nothing from now on, whoever it is about.
            #expect(b.state.isBeingInvalidated(Self.key(Self.anna, b)))
            await a.until { a.obeyed.count == 1 && b.state.isEverythingSent }
            for owner in [Self.anna, Self.ben] { #expect(try await Self.found(by: owner, at: a) == []) }
            _ = await a.engine.perform(
                Command([Array("DEL".utf8), a.state.keys.generation(key)]), until: a.engine.instant(after: .seconds(20))
            )
            for owner in [Self.anna, Self.ben] { #expect(try await Self.found(by: owner, at: a) == []) }
            #expect(try await Self.write("new", for: Self.anna, by: a))
            #expect(try await Self.found(by: Self.anna, at: b) == ["new"])
            #expect(try await Self.found(by: Self.ben, at: b) == [])
        }
    }

    @Test func `keys say nothing about whose they are to those who have not the secret`() async throws {
        try await Self.run { (loop, server) async throws in
            let a = Member(server, on: loop)
            let (stranger, neighbour) = (
                Member(server, on: loop, secret: "guess"), Member(server, on: loop, namespace: "other")
            )
            let key = Self.key(Self.anna, a)
            #expect(key == Self.key(Self.anna, Member(server, on: loop)))
            for other in [
                Self.key(Self.anna, stranger), Self.key(Self.anna, neighbour), Self.key(Self.ben, a),
                Self.key(Self.anna, a, "/b"),
            ] {
                #expect(other.owner != key.owner)
                #expect(a.state.keys.index(other) != a.state.keys.index(key))
                #expect(a.state.keys.lease(other) != a.state.keys.lease(key))
            }
            #expect(a.state.keys.generation(key) == a.state.keys.generation(.sample()))
        }
    }
}
