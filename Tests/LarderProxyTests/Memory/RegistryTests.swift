// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderTesting
import Testing

@testable import Larder

@Suite("The registry of Resources")
struct RegistryTests {
    let service = Service("test", baseURL: "http://a.example/", transport: StubTransport())

    /// The charge of a Resource without content: keys are 8 octets here.
    static let cost = Registry.overhead + 8

    /// A key in the first shard unless `hash` says otherwise.
    func key(_ number: Int, hash: UInt64? = nil) -> ResourceKey {
        ResourceKey(bytes: Array(String(10_000_000 + number).utf8), hash: hash ?? UInt64(number))
    }

    func make(_ key: ResourceKey) -> Resource {
        Resource(service: service, url: ResourceURL("http://a.example/"), partition: .shared, key: key)
    }

    /// Brings a Resource into memory and lets go of it.
    func visit(_ registry: Registry, _ number: Int, hash: UInt64? = nil, content: Int = 0) {
        let resource = registry.resource(for: key(number, hash: hash), make: make)
        if content > 0 { registry.charge(resource, content: content) }
    }

    func numbers(_ registry: Registry) -> [Int] {
        var found: [Int] = []
        registry.forEach { found.append((Int(String(decoding: $0.key.bytes, as: UTF8.self)) ?? 0) - 10_000_000) }
        return found.sorted()
    }

    @Test func `a key has one Resource as long as it is in memory`() {
        let registry = Registry(limit: 1 << 20)
        let first = registry.resource(for: key(1), make: make)
        #expect(registry.resource(for: key(1), make: make) === first)
        #expect(registry.resource(for: key(1)) === first)
        #expect(registry.resource(for: key(2)) == nil)
        #expect(registry.count == 1)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `loads under way have half of the room, and make it`() {
        let registry = Registry(limit: 10_000)
        visit(registry, 1, content: 5_500)
        #expect(registry.reserve(3_000))
        #expect(numbers(registry) == [1])
        #expect(!registry.reserve(3_000))
        #expect(registry.reserve(2_000))
        #expect(numbers(registry) == [])
        #expect(registry.reserved == 5_000)
        #expect(registry.bytes == 5_000)
        registry.release(5_000)
        #expect(registry.bytes == 0)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `loads have no room that Resources in use have taken`() {
        let registry = Registry(limit: 10_000)
        let held = registry.resource(for: key(1), make: make)
        registry.charge(held, content: 8_500)
        #expect(!registry.reserve(1_000))
        #expect(registry.reserved == 0)
        registry.charge(held, content: 0)
        #expect(registry.reserve(1_000))
        registry.release(1_000)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `keys and URIs that are kept take what they need, however many were made before`() throws {
        var key = ResourceKey()
        var uri = TargetURI()
        var kept: [(ResourceKey, TargetURI)] = []
        for number in 0..<5_000 {
            try Array("http://a.example/\(number)".utf8).withUnsafeBytes { try uri.set(absolute: $0) }
            key.set(service: 1, partition: .shared, url: uri)
            // Held while the next is made, as a Resource and its load do.
            kept = [(key, uri)]
            #expect(key.bytes.capacity <= 2_048)
            #expect(key.compact.bytes.capacity <= key.bytes.count + 32)
            #expect(uri.capacity <= 2_048)
            #expect(uri.compact.capacity <= uri.string.utf8.count + 32)
        }
        #expect(kept.count == 1)
    }

    @Test func `B-34 the oldest Resource without a hit goes first`() {
        let registry = Registry(limit: 3 * Self.cost)
        for number in 1...3 { visit(registry, number) }
        registry.resource(for: key(1))?.memory.touch()
        visit(registry, 4)
        #expect(numbers(registry) == [1, 3, 4])
        visit(registry, 5)
        #expect(numbers(registry) == [1, 4, 5])
        #expect(registry.evicted == 2)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `a Resource that keeps nothing goes before any that keeps something`() {
        let registry = Registry(limit: 4 * Self.cost + 100)
        for number in 1...2 { visit(registry, number, content: 1) }
        for number in 3...30 { visit(registry, number) }
        #expect(numbers(registry) == [1, 2, 29, 30])
        // A Resource that has something now takes the place of one that has not.
        visit(registry, 29, content: 1)
        visit(registry, 31, content: 1)
        #expect(numbers(registry) == [1, 2, 29, 31])
        #expect(registry.checkInvariants() == [])
    }

    @Test func `Resources that keep nothing have an eighth of the room`() {
        let registry = Registry(limit: 64 * 80 * 8 * Self.cost)
        for number in 0..<20_000 { visit(registry, number, hash: UInt64(number) &* 0x9E37_79B9_7F4A_7C15) }
        #expect((64 * 75...64 * 80).contains(registry.count))
        #expect(registry.evicted == 20_000 - registry.count)
        #expect(registry.bytes == registry.count * Self.cost)
        #expect(numbers(registry).contains(19_999))
        #expect(registry.checkInvariants() == [])
    }

    @Test func `a hit protects until it is looked for again`() {
        let registry = Registry(limit: 2 * Self.cost)
        visit(registry, 1)
        visit(registry, 2)
        for number in 1...2 { registry.resource(for: key(number))?.memory.touch() }
        // Both were used, which is forgotten now, and the newest is held: the oldest goes.
        visit(registry, 3)
        #expect(numbers(registry) == [2, 3])
        // 3 was not used, 2 was.
        visit(registry, 4)
        #expect(numbers(registry) == [2, 4])
    }

    @Test func `a scan does not push out what is used`() {
        let registry = Registry(limit: 20 * (Self.cost + 1))
        for number in 1...10 { visit(registry, number, content: 1) }
        for scanned in 100..<2000 {
            registry.resource(for: key(1 + scanned % 10))?.memory.touch()
            visit(registry, scanned, content: 1)
        }
        #expect(numbers(registry).prefix(10) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
        #expect(registry.bytes <= registry.limit)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `SV-07 a Resource that somebody holds stays, even beyond the limit`() {
        let registry = Registry(limit: 2 * Self.cost)
        let held = (1...5).map { registry.resource(for: key($0), make: make) }
        #expect(numbers(registry) == [1, 2, 3, 4, 5])
        #expect(registry.bytes == 5 * Self.cost)
        visit(registry, 6)
        visit(registry, 7)
        #expect(numbers(registry).filter { $0 <= 5 } == [1, 2, 3, 4, 5])
        withExtendedLifetime(held) {}
        #expect(registry.checkInvariants() == [])
    }

    @Test func `content is charged, and makes room in other shards too`() {
        let registry = Registry(limit: 100_000)
        for shard in 0..<32 { visit(registry, shard, hash: UInt64(shard) << 58, content: 2_000) }
        #expect(registry.count == 32)
        visit(registry, 40, hash: 40 << 58, content: 90_000)
        #expect(registry.bytes <= registry.limit)
        #expect(registry.resource(for: key(40, hash: 40 << 58)) != nil)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `loads take the room they need from all shards alike`() {
        let registry = Registry(limit: 640 * Self.cost)
        for number in 0..<6400 {
            #expect(registry.reserve(Self.cost))
            registry.release(Self.cost)
            visit(registry, number, hash: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
        }
        var counts = [Int](repeating: 0, count: 64)
        registry.forEach { counts[Int($0.key.hash >> 58)] += 1 }
        #expect(counts.allSatisfy { (5...15).contains($0) })
        #expect(counts.reduce(0, +) >= 638)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `charging again replaces the charge; charging what was dropped does nothing`() {
        let registry = Registry(limit: 1 << 20)
        let resource = registry.resource(for: key(1), make: make)
        registry.charge(resource, content: 1000)
        registry.charge(resource, content: 10)
        #expect(registry.bytes == Self.cost + 10)
        let stranger = make(key(2))
        registry.charge(stranger, content: 5000)
        #expect(registry.bytes == Self.cost + 10)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `keys with the same hash are told apart`() {
        let registry = Registry(limit: 1 << 20)
        let held = (1...5).map { registry.resource(for: key($0, hash: 7), make: make) }
        #expect(Set(held.map(ObjectIdentifier.init)).count == 5)
        for number in 1...5 { #expect(registry.resource(for: key(number, hash: 7)) === held[number - 1]) }
        #expect(registry.checkInvariants() == [])
        withExtendedLifetime(held) {}
    }

    @Test(arguments: [[1, 2, 3, 4], [4, 3, 2, 1], [2, 3, 1, 4]])
    func `of keys with the same hash, any may be dropped`(order: [Int]) {
        let registry = Registry(limit: 1 << 20)
        for number in 1...4 { visit(registry, number, hash: 7) }
        var left = Set(1...4)
        for number in order {
            let dropped = key(number, hash: 7).bytes
            registry.flushUnused { $0.key.bytes == dropped }
            left.remove(number)
            #expect(numbers(registry) == left.sorted())
            #expect(registry.checkInvariants() == [])
        }
        #expect(registry.bytes == 0)
    }

    @Test func `flushing drops what nobody holds, and the accounts go back to nothing`() {
        let registry = Registry(limit: 1 << 20)
        var held: Resource? = registry.resource(for: key(1), make: make)
        for number in 2...50 { visit(registry, number, hash: UInt64(number) << 56, content: number) }
        registry.flushUnused()
        #expect(numbers(registry) == [1])
        #expect(registry.bytes == Self.cost)
        _ = consume held
        held = nil
        registry.flushUnused()
        #expect(registry.count == 0)
        #expect(registry.bytes == 0)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `a lower limit counts from the next charge`() {
        let registry = Registry(limit: 1 << 20)
        for number in 1...100 { visit(registry, number, hash: UInt64(number) << 56) }
        registry.limit = 10 * Self.cost
        visit(registry, 101)
        #expect(registry.count == 10)
        #expect(registry.checkInvariants() == [])
    }

    @Test func `many threads at once leave it whole and within its limit`() async {
        let registry = Registry(limit: 200 * Self.cost)
        await withTaskGroup { group in
            for task in 0..<8 {
                group.addTask {
                    var generator = SystemRandomNumberGenerator()
                    for step in 0..<3000 {
                        let number = Int.random(in: 0..<600, using: &generator)
                        let resource = registry.resource(
                            for: key(number, hash: UInt64(number) &* 0x9E37_79B9_7F4A_7C15), make: make)
                        if step % 3 == 0 { resource.memory.touch() }
                        if step % 5 == 0 { registry.charge(resource, content: number) }
                        if step % 1000 == 999, task == 0 { registry.flushUnused { $0.key.bytes.last == 0x31 } }
                    }
                }
            }
        }
        #expect(registry.checkInvariants() == [])
        visit(registry, 1)
        registry.charge(registry.resource(for: key(1), make: make), content: 1)
        #expect(registry.bytes <= registry.limit)
    }
}
