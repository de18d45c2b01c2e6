// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderHTTP
import LarderIO
import LarderRules
import Testing

@testable import LarderProxy

@Suite("Stages of a service")
struct StageTests {
    /// A stage that records that it is asked before a load, and supplies a response or nothing.
    private static func sending(_ name: String, _ supply: String? = nil, into asked: Lock<[String]>) -> Stage {
        var stage = Stage()
        stage.onSend = { _ in
            asked.withLock { $0.append(name) }
            return supply.map { StageSupply(.variant($0), detail: $0) }
        }
        return stage
    }

    @Test func `a service that uses no feature has no stage at any point`() {
        for stages in [Stages(), Stages([Stage(), Stage()])] {
            #expect(stages.onLookup.isEmpty && stages.onSend.isEmpty && stages.onResponse.isEmpty)
            #expect(stages.onEnd.isEmpty && stages.floors.isEmpty)
        }
    }

    @Test func `a stage is called at its own points only`() {
        var stage = Stage()
        stage.onEnd = { _ in }
        let stages = Stages([stage, Stage()])
        #expect(stages.onEnd.count == 1)
        #expect(stages.onLookup.isEmpty && stages.onSend.isEmpty && stages.onResponse.isEmpty)
    }

    @Test func `stages are asked in their order, until one supplies a response`() async {
        let asked = Lock<[String]>([])
        let stages = Stages([
            Self.sending("a", into: asked), Self.sending("b", "from b", into: asked),
            Self.sending("c", "from c", into: asked),
        ])
        #expect(await stages.supply(for: StubLoad())?.detail == "from b")
        #expect(asked.withLock { $0 } == ["a", "b"])
    }

    @Test func `without a response of a stage the origin is to be asked`() async {
        let asked = Lock<[String]>([])
        let stages = Stages([Self.sending("a", into: asked), Self.sending("b", into: asked)])
        #expect(await stages.supply(for: StubLoad())?.detail == nil)
        #expect(asked.withLock { $0 } == ["a", "b"])
    }

    @Test func `a look-up goes on to the next stage only where one has found nothing`() async {
        let asked = Lock<[String]>([])
        func finding(_ name: String, _ changes: Bool) -> Stage {
            var stage = Stage()
            stage.onLookup = { _, _ in
                asked.withLock { $0.append(name) }
                return changes
            }
            return stage
        }
        let stages = Stages([
            finding("a", false), finding("b", true), finding("c", true),
        ])
        var states = StageStates()
        #expect(await stages.change(memoryFor: StubLookup(), &states))
        #expect(asked.withLock { $0 } == ["a", "b"])
    }

    @Test func `a look-up passes the states of its stages on`() async {
        final class Mark { let number = 1 }
        var stage = Stage()
        stage.onLookup = { _, states in
            states[Mark.self] = Mark()
            return false
        }
        var states = StageStates()
        #expect(await !Stages([stage]).change(memoryFor: StubLookup(), &states))
        #expect(states[Mark.self]?.number == 1)
    }

    @Test func `a subject has one state of each type, which another replaces or nil removes`() {
        final class First {}
        final class Second {}
        var states = StageStates()
        let (one, other) = (First(), First())
        #expect(states[First.self] == nil)
        states[First.self] = one
        states[Second.self] = Second()
        #expect(states[First.self] === one && states[Second.self] != nil)
        states[First.self] = other
        #expect(states[First.self] === other)
        states[First.self] = nil
        #expect(states[First.self] == nil && states[Second.self] != nil)
    }

    @Test func `responses stored before the floor are excluded, and the floor never rises by itself`() {
        let floor = StoredFloor()
        let now = Timestamp(seconds: 1_000)
        #expect(!floor.excludes(now + .seconds(-500), at: now))
        floor.raise(to: now)
        #expect(floor.excludes(now + .seconds(-1), at: now))
        #expect(!floor.excludes(now, at: now + .seconds(1)))
    }
}

/// A subject that stages do not look at.
private class StubSubject {
    var states = StageStates()
    var service: RoutedService { preconditionFailure("not looked at") }
    var configuration: EffectiveConfiguration { preconditionFailure("not looked at") }
    var resource: Resource { preconditionFailure("not looked at") }
    var uri: TargetURI { preconditionFailure("not looked at") }
    var head: RequestHead { preconditionFailure("not looked at") }
    var policy: CachePolicy { preconditionFailure("not looked at") }
    var loop: any StagedLoop { preconditionFailure("not looked at") }
}

private final class StubLookup: StubSubject, StagedLookup {
    var candidates: [StoredResponse] { [] }
    func keep(
        _ stored: StoredResponse, _ durability: StorabilityDecision.Durability, _ chunks: [ContentChunk],
        since mark: ResourceMemory.Mark
    ) -> Variant? { nil }
}

private final class StubLoad: StubSubject, StagedLoad {
    var maySettle: Bool { true }
    var soleRequest: RequestHead? { nil }
    func keep(
        _ stored: StoredResponse, _ durability: StorabilityDecision.Durability, _ chunks: [ContentChunk]
    ) -> Variant? { nil }
    func keepOnDisk(
        _ stored: StoredResponse, length: Int64, by read: ((ContentChunk) async -> Bool) async -> Bool
    ) async -> Variant? { nil }
}
