// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@testable import Larder

@Suite("What is invalidated together")
struct InvalidationsTests {
    let invalidations = Invalidations()

    func memory(scope: Invalidations.Scope? = nil, origin: String = "http://a") -> ResourceMemory {
        ResourceMemory(reach: ResourceMemory.Reach(invalidations, scope: scope, origin: origin))
    }

    func member(_ groups: String) -> Variant { .variant(groups, fields: ["Cache-Groups": groups]) }

    func texts(_ memory: ResourceMemory) -> [String] { memory.snapshot.variants.map(\.text) }

    @Test func `members of a group go, others stay`() {
        let (red, blue, plain) = (memory(), memory(), memory())
        red.land(member("\"red\", \"all\""))
        blue.land(member("\"blue\""))
        plain.land(.variant("plain"))
        invalidations.invalidate([.group("red", origin: "http://a")])
        #expect(texts(red) == [])
        #expect(texts(blue) == ["\"blue\""])
        #expect(texts(plain) == ["plain"])
        #expect(red.mark.generation == 0, "nothing else of the Resource is concerned")
    }

    @Test(arguments: [
        ("http://a", true), ("http://b", false), (nil, true),
    ]) func `a group counts within its origin, unless all are meant`(origin: String?, isMeant: Bool) {
        let memory = memory()
        memory.land(member("\"red\""))
        invalidations.invalidate([.group("red", origin: origin)])
        #expect(texts(memory).isEmpty == isMeant)
    }

    @Test func `names are compared letter by letter`() {
        let memory = memory()
        memory.land(member("\"red\""))
        invalidations.invalidate([.group("Red", origin: "http://a"), .group("re", origin: "http://a")])
        #expect(texts(memory).count == 1)
    }

    @Test func `what was got before does not land after`() {
        let memory = memory()
        let mark = memory.mark
        invalidations.invalidate([.group("red", origin: "http://a")])
        guard case .superseded = memory.land(member("\"red\""), since: mark) else {
            Issue.record("landed")
            return
        }
        memory.land(member("\"blue\""), since: mark)
        #expect(texts(memory) == ["\"blue\""])
        memory.land(member("\"red\""), since: memory.mark)
        #expect(texts(memory) == ["\"red\""])
    }

    @Test func `what was read from the store before is not brought in after`() async {
        let memory = memory()
        let mark = memory.mark
        #expect(await memory.beginStoreRead() == .begin)
        invalidations.invalidate([.group("red", origin: nil)])
        memory.storeWasRead([member("\"red\"")], since: mark)
        #expect(texts(memory) == [])
    }

    @Test func `one invalidation reaches twenty thousand partitions`() {
        let scope = Invalidations.Scope.resource(service: 1, url: "http://a/x")
        let partitions = (0..<20_000).map { _ in memory(scope: scope) }
        let other = memory(scope: .resource(service: 1, url: "http://a/y"))
        for partition in partitions + [other] { partition.land(.variant("old")) }
        let begun = partitions[7].mark
        invalidations.invalidate([scope])
        #expect(partitions.allSatisfy { $0.snapshot.variants.isEmpty })
        #expect(texts(other) == ["old"])
        guard case .superseded = partitions[7].land(.variant("late"), since: begun) else {
            Issue.record("landed")
            return
        }
    }

    @Test func `a load of a partition from before is not joined after`() {
        let scope = Invalidations.Scope.resource(service: 1, url: "http://a/x")
        let memory = memory(scope: scope)
        func load() -> ActiveLoad {
            ActiveLoad(
                request: RequestHead(), at: Timestamp(seconds: 1), isValidation: false, isJoinable: true, window: 1,
                hasClient: true)
        }
        guard case .started(let first) = memory.join(where: { _ in true }, orStart: load) else { return }
        invalidations.invalidate([scope])
        guard case .started(let second) = memory.join(where: { _ in true }, orStart: load) else {
            Issue.record("joined")
            return
        }
        #expect(first !== second)
    }

    @Test func `an origin that invalidates many groups loses its own members alone`() {
        let mark = invalidations.latest
        for number in 0...Invalidations.originLimit {
            invalidations.invalidate([.group("\(number)", origin: "http://a")])
        }
        #expect(invalidations.isInvalid(groups: ["another"], at: "http://a", since: mark))
        #expect(!invalidations.isInvalid(groups: ["another"], at: "http://b", since: mark))
        #expect(!invalidations.isInvalid(groups: ["another"], at: "http://a", since: invalidations.latest))
        invalidations.invalidate([.group("0", origin: "http://a")])
        #expect(!invalidations.isInvalid(groups: ["1"], at: "http://a", since: invalidations.latest - 1))
        #expect(invalidations.isInvalid(groups: ["1", "0"], at: "http://a", since: invalidations.latest - 1))
    }

    @Test func `when too many are remembered, all from before count as invalidated`() {
        let few = Invalidations(limit: 3)
        let invalidationSequence = few.latest
        for number in 0..<4 { few.invalidate([.group("\(number)", origin: nil)]) }
        #expect(few.isInvalid(.group("another", origin: nil), since: invalidationSequence))
        #expect(!few.isInvalid(.group("another", origin: nil), since: few.latest))
        few.invalidate([.group("0", origin: nil)])
        #expect(!few.isInvalid(.group("1", origin: nil), since: few.latest - 1))
        #expect(few.isInvalid(.group("0", origin: nil), since: few.latest - 1))
    }
}
