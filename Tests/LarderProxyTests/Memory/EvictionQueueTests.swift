// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Larder

@Suite("The order in which what is kept goes")
struct EvictionQueueTests {
    /// A cache of numbers that cost one each, as the registry uses the queue.
    struct Cache {
        var queue = EvictionQueue<Int>()
        var places: [Int: Int] = [:]
        var used: Set<Int> = []
        var held: Set<Int> = []
        let limit: Int

        init(limit: Int) { self.limit = limit }

        var kept: [Int] { places.keys.sorted() }

        /// Whether it was there.
        @discardableResult
        mutating func request(_ number: Int) -> Bool {
            if places[number] != nil {
                used.insert(number)
                return true
            }
            places[number] = queue.insert(number, hash: Self.hash(number), cost: 1)
            makeRoom()
            return false
        }

        mutating func makeRoom() {
            while queue.cost > limit {
                let victim = queue.nextVictim { entry in
                    if used.remove(entry) != nil { return .used }
                    return held.contains(entry) ? .held : .idle
                }
                guard let victim else { return }
                places[queue.remove(victim, isEvicted: true).entry] = nil
            }
        }

        static func hash(_ number: Int) -> UInt64 { UInt64(number + 1) &* 0x9E37_79B9_7F4A_7C15 }
    }

    @Test func `what was not used goes in the order it came`() {
        var cache = Cache(limit: 3)
        for number in 1...5 { cache.request(number) }
        #expect(cache.kept == [3, 4, 5])
        #expect(cache.queue.checkInvariants() == [])
    }

    @Test func `what has nothing goes first, and begins anew once it has something`() {
        var queue = EvictionQueue<Int>()
        let places = (0..<4).map { queue.insert($0, hash: Cache.hash($0), cost: 1, isBlank: $0 > 0) }
        #expect(queue.blankCost == 3)
        #expect(queue.charge(places[1], cost: 3) == 2)
        #expect(queue.blankCost == 2)
        #expect(queue.cost == 6)
        #expect(queue.checkInvariants() == [])
        var gone: [Int] = []
        while let victim = queue.nextVictim({ $0 == 2 ? .held : .idle }) { gone.append(queue.remove(victim).entry) }
        #expect(gone == [3, 0, 1])
        #expect(queue.nextBlank { _ in .used } == nil)
        #expect(queue.blankCost == 0)
        #expect(queue.checkInvariants() == [])
    }

    @Test func `what was used on probation outlives any number that nobody asks for twice`() {
        var cache = Cache(limit: 100)
        for number in 0..<50 { cache.request(number) }
        for number in 0..<50 { cache.request(number) }
        for scanned in 1000..<10_000 { cache.request(scanned) }
        #expect(cache.kept.prefix(50) == Array(0..<50)[...])
        #expect(cache.queue.checkInvariants() == [])
    }

    @Test func `what comes back soon after it has gone is not on probation again`() {
        var cache = Cache(limit: 20)
        for number in 0..<20 { cache.request(number) }
        for number in 0..<20 { cache.request(number) }
        // All of these are in the main queue now, and 100 fell out of probation unused.
        for number in 100..<110 { cache.request(number) }
        #expect(!cache.kept.contains(100))
        #expect(cache.request(100) == false)
        for scanned in 1000..<1500 { cache.request(scanned) }
        #expect(cache.kept.contains(100))
        #expect(!cache.kept.contains(101))
    }

    @Test func `in the main queue a use protects for one round of the hand`() {
        var cache = Cache(limit: 20)
        for number in 0..<20 { cache.request(number) }
        for number in 0..<20 { cache.request(number) }
        cache.request(20)
        // Probation is not crowded, and 0 is the oldest of the main queue.
        #expect(cache.kept == Array(1...20))
        cache.request(1)
        cache.request(21)
        #expect(cache.kept.contains(1))
        #expect(!cache.kept.contains(2))
        #expect(cache.queue.checkInvariants() == [])
    }

    @Test func `what is held stays, and nothing goes when everything is held`() {
        var cache = Cache(limit: 3)
        cache.held = [1, 2, 3, 4]
        for number in 1...4 { cache.request(number) }
        #expect(cache.kept == [1, 2, 3, 4])
        cache.held = [1, 2, 4]
        cache.makeRoom()
        #expect(cache.kept == [1, 2, 4])
        for number in [1, 2, 4] { cache.request(number) }
        cache.request(5)
        cache.held = []
        cache.makeRoom()
        #expect(cache.queue.count == 3)
        #expect(cache.queue.checkInvariants() == [])
    }

    @Test func `an entry is charged what it costs now`() {
        var queue = EvictionQueue<String>()
        let first = queue.insert("first", hash: 1, cost: 10)
        let second = queue.insert("second", hash: 2, cost: 20)
        #expect(queue.charge(first, cost: 25) == 15)
        #expect(queue.cost == 45)
        #expect(queue.remove(first).cost == 25)
        #expect(queue[second] == "second")
        #expect(queue.cost(at: second) == 20)
        #expect(queue.checkInvariants() == [])
    }

    @Test func `a loop a little longer than the room is not lost altogether`() {
        var cache = Cache(limit: 1000)
        var hits = 0
        for step in 0..<20_000 where cache.request(step % 1100) { hits += 1 }
        #expect(hits > 12_000)
    }

    @Test func `whatever is done to it, it stays whole`() {
        var generator = Generator(state: 7)
        var cache = Cache(limit: 64)
        for step in 0..<20_000 {
            let number = Int(generator.next() % 256)
            switch generator.next() % 8 {
            case 0:
                if let place = cache.places.removeValue(forKey: number) { cache.queue.remove(place) }
                cache.used.remove(number)
            case 1: if let place = cache.places[number] { _ = cache.queue.charge(place, cost: 1 + step % 5) }
            case 2: cache.held.formSymmetricDifference([number])
            default: cache.request(number)
            }
            if step % 500 == 0 { #expect(cache.queue.checkInvariants() == []) }
        }
        cache.held = []
        cache.makeRoom()
        #expect(cache.queue.cost <= 64)
        #expect(cache.queue.places.count == cache.places.count)
    }

    @Test func `a ghost is remembered for as many insertions as asked, once`() {
        var ghosts = GhostSet()
        for number in 0..<1000 { ghosts.insert(Cache.hash(number), among: 500) }
        let answers = [999, 999, 100, 5000].map { ghosts.take(Cache.hash($0), among: 500) }
        #expect(answers == [true, false, false, false])
        let remembered = (500..<999).filter { ghosts.take(Cache.hash($0), among: 500) }
        #expect(remembered.count > 440)
        #expect(ghosts.bytes <= 500 * 24)
    }

    @Test func `a table without anything worth remembering remembers the last`() {
        var ghosts = GhostSet()
        let before = ghosts.take(1, among: 0)
        ghosts.insert(1, among: 0)
        let after = ghosts.take(1, among: 1)
        #expect(!before && after)
    }

    @Test func `ghosts survive when their table grows`() {
        var ghosts = GhostSet()
        for number in 0..<10 { ghosts.insert(Cache.hash(number), among: 10) }
        for number in 10..<100 { ghosts.insert(Cache.hash(number), among: 10_000) }
        let remembered = (0..<100).filter { ghosts.take(Cache.hash($0), among: 10_000) }
        #expect(remembered.count > 95)
    }

    struct Generator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
    }
}
