// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import LarderShared

@Suite("Slots of a cluster")
struct SlotTests {
    @Test(arguments: [
        ("123456789", 0x31C3), ("foo", 12182), ("bar", 5061), ("", 0),
        ("{}foo", HashSlot.slot(of: Array("{}foo".utf8))),
        ("{user1000}.following", HashSlot.slot(of: Array("user1000".utf8))),
        ("foo{{bar}}zap", HashSlot.slot(of: Array("{bar".utf8))),
        ("foo{bar}{zap}", 5061),
    ])
    func `a key has the slot of what is in braces, or of itself`(_ key: String, _ slot: Int) {
        #expect(HashSlot.slot(of: Array(key.utf8)) == slot)
    }

    @Test func `the keys of a URL have one slot, and other URLs have others`() {
        let keys = EngineKeys(namespace: "team")
        let slots = (0..<50).map { number in
            let key = SharedKey(service: "s", base: "b", url: Array("https://a.test/\(number)".utf8))
            let own = Set([keys.index(key), keys.generation(key), keys.lease(key)].map(HashSlot.slot))
            #expect(own.count == 1)
            return own.first
        }
        #expect(Set(slots).count > 40)
    }

    private static let asked = EngineNode.tcp(host: "10.0.0.1", port: 7000)

    private static func entry(_ first: Int64, _ last: Int64, _ host: String?, _ port: Int64) -> Reply {
        .array([
            .integer(first), .integer(last),
            .array([host.map { .bulk(Array($0.utf8)) } ?? .null, .integer(port), .bulk(Array("id".utf8))]),
            .array([.bulk(Array("10.0.0.7".utf8)), .integer(7007), .bulk(Array("replica".utf8))]),
        ])
    }

    @Test func `a map answers with the master of each slot`() throws {
        let map = try #require(
            SlotMap(
                .array([
                    Self.entry(10923, 16383, "10.0.0.3", 7002), Self.entry(0, 5460, nil, 7000),
                    Self.entry(5461, 10922, "10.0.0.2", 7001),
                ]), from: Self.asked))
        #expect(map.node(of: 0) == Self.asked)
        #expect(map.node(of: 5460) == Self.asked)
        #expect(map.node(of: 5461) == .tcp(host: "10.0.0.2", port: 7001))
        #expect(map.node(of: 16383) == .tcp(host: "10.0.0.3", port: 7002))
        #expect(map.nodes.count == 3)
    }

    @Test func `a slot that has moved is elsewhere, and its neighbours are not`() throws {
        var map = try #require(SlotMap(.array([Self.entry(0, 16383, "10.0.0.2", 1)]), from: Self.asked))
        let new = EngineNode.tcp(host: "10.0.0.3", port: 2)
        let old = EngineNode.tcp(host: "10.0.0.2", port: 1)
        for slot in [0, 100, 16383, 101, 100] { map.move(slot, to: new) }
        #expect([0, 100, 101, 16383].allSatisfy { map.node(of: $0) == new })
        #expect([1, 99, 102, 16382].allSatisfy { map.node(of: $0) == old })
    }

    @Test func `a slot that nobody has is nowhere`() throws {
        let map = try #require(SlotMap(.array([Self.entry(10, 20, "a", 1)]), from: Self.asked))
        #expect(map.node(of: 9) == nil && map.node(of: 21) == nil && SlotMap().node(of: 0) == nil)
    }

    @Test(
        arguments: [
            .null, .array([.null]), .array([.array([.integer(0)])]), .array([entry(5, 4, "a", 1)]),
            .array([entry(-1, 4, "a", 1)]), .array([entry(0, 16384, "a", 1)]), .array([entry(0, 1, "a", 0)]),
            .array([entry(0, 1, "a", 65536)]), .array([entry(0, 5, "a", 1), entry(5, 6, "b", 1)]),
        ] as [Reply])
    func `anything else is no map`(_ reply: Reply) {
        #expect(SlotMap(reply, from: Self.asked) == nil)
    }
}
