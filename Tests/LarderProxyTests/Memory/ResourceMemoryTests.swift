// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderRules
import LarderTesting
import Testing

@testable import Larder

@Suite("The memory of a Resource")
struct ResourceMemoryTests {
    let memory = ResourceMemory()

    var texts: [String] { memory.snapshot.variants.map(\.text) }

    func german(_ text: String, at seconds: Int64 = 1000) -> Variant {
        .variant(text, fields: ["Vary": "Accept-Language"], request: ["Accept-Language": "de"], at: seconds)
    }
    func french(_ text: String) -> Variant {
        .variant(text, fields: ["Vary": "Accept-Language"], request: ["Accept-Language": "fr"])
    }

    func load(isJoinable: Bool = true, isValidation: Bool = false) -> ActiveLoad {
        ActiveLoad(
            request: RequestHead(), at: Timestamp(seconds: 1000), isValidation: isValidation, isJoinable: isJoinable,
            window: 100, hasClient: true)
    }

    @Test func `a variant takes the place of the one for the same requests`() {
        memory.land(german("alt"))
        memory.land(french("vieux"))
        guard case .landed(let replaced) = memory.land(german("neu")) else { Issue.record("not landed"); return }
        #expect(replaced.map(\.text) == ["alt"])
        #expect(texts == ["neu", "vieux"])
        #expect(memory.snapshot.candidates.count == 2)
    }

    @Test func `a configuration that is over is kept no longer, and not again by a load that began with it`() {
        final class Effective: Sendable {}
        weak var kept: Effective?
        func use(_ version: UInt64) {
            kept = memory.configuration(version: version) { Effective() }
        }
        use(1)
        #expect(kept != nil)
        memory.forgetConfiguration(before: 2)
        #expect(kept == nil)
        use(1)
        #expect(kept == nil)
        use(2)
        memory.forgetConfiguration(before: 2)
        #expect(kept != nil)
        // Its service is gone, and comes back later.
        for _ in 0..<3 { memory.forgetConfiguration(before: nil) }
        #expect(kept == nil)
        use(2)
        #expect(kept == nil)
        use(3)
        #expect(kept != nil)
    }

    @Test func `the oldest of too many variants goes`() {
        for number in 0..<20 {
            memory.land(.variant("\(number)", fields: ["Vary": "X-Number"], request: ["X-Number": "\(number)"]))
        }
        #expect(texts.count == ResourceMemory.variantLimit)
        #expect(texts.first == "19")
        #expect(texts.last == "4")
    }

    @Test func `what was begun before a wipe does not land after it`() {
        let mark = memory.mark
        memory.land(german("alt"), since: mark)
        #expect(memory.wipe(storeIsEmpty: false).map(\.text) == ["alt"])
        guard case .superseded = memory.land(german("spät"), since: mark) else {
            Issue.record("landed"); return
        }
        #expect(texts == [])
        memory.land(german("neu"), since: memory.mark)
        #expect(texts == ["neu"])
    }

    @Test func `B-12 a load is as old as its place in the list, however late it sets out`() {
        for isWiped in [true, false] {
            guard case .started(let load) = memory.join(where: { _ in false }, orStart: { load() }) else { return }
            if isWiped { memory.wipe(storeIsEmpty: false) } else { memory.noteInvalidation() }
            #expect(memory.isSuperseded(german("spät").stored, since: load.mark, at: Timestamp(seconds: 1_000)))
            guard
                case .superseded = memory.land(
                    german("spät"), since: load.mark, ending: (load, at: Timestamp(seconds: 1_000)))
            else {
                Issue.record("landed"); return
            }
            memory.retire(load)
        }
    }

    @Test func `a wipe ends the joining of loads and forgets failures`() {
        guard case .started(let first) = memory.join(where: { _ in true }, orStart: { load() }) else { return }
        memory.remember(
            LoadFailure(at: Timestamp(seconds: 1), retryAt: Timestamp(seconds: 2), error: ScenarioFailure("x")))
        memory.wipe(storeIsEmpty: true)
        #expect(memory.snapshot.failure == nil)
        #expect(memory.snapshot.isStoreRead)
        guard case .started(let second) = memory.join(where: { _ in true }, orStart: { load() }) else {
            Issue.record("joined a load from before the wipe")
            return
        }
        #expect(first !== second)
    }

    @Test func `only what is still there is replaced by its freshened self`() {
        let old = german("alt")
        memory.land(old)
        let fresh = german("frisch")
        #expect(memory.replace(old, by: fresh))
        #expect(!memory.replace(old, by: german("noch einmal")))
        #expect(texts == ["frisch"])
    }

    @Test func `a success forgets the failure, and a failure keeps the data`() {
        memory.land(german("da"))
        memory.remember(
            LoadFailure(at: Timestamp(seconds: 1), retryAt: Timestamp(seconds: 2), error: ScenarioFailure("x")))
        #expect(texts == ["da"])
        #expect(memory.snapshot.failure != nil)
        memory.land(french("aussi"))
        #expect(memory.snapshot.failure == nil)
    }

    @Test func `the second joins the load of the first, until it is retired`() {
        guard case .started(let first) = memory.join(where: { _ in true }, orStart: { load() }) else {
            Issue.record("nothing to join yet")
            return
        }
        guard case .joined(let same) = memory.join(where: { _ in true }, orStart: { load() }) else {
            Issue.record("did not join")
            return
        }
        #expect(first === same)
        #expect(first.interest == 2)
        memory.retire(first)
        #expect(memory.loads.isEmpty)
    }

    @Test func `a load is not started for what has changed since it was found necessary`() {
        let decided = memory.snapshot
        guard case .started(let first) = memory.join(since: decided, where: { _ in true }, orStart: { load() })
        else {
            Issue.record("nothing had changed")
            return
        }
        memory.land(german("neu"), ending: (first, at: Timestamp(seconds: 1_000)))
        guard case .overtaken = memory.join(since: decided, where: { _ in true }, orStart: { load() }) else {
            Issue.record("what landed meanwhile was not seen")
            return
        }
        #expect(memory.loads.isEmpty)
        guard case .started = memory.join(since: memory.snapshot, where: { _ in true }, orStart: { load() })
        else {
            Issue.record("what landed is known now")
            return
        }
    }

    @Test func `a load that is too far on to be joined does not hide the next one`() {
        guard case .started(let first) = memory.join(where: { _ in true }, orStart: { load() }) else { return }
        let shared = first.share()
        let reader = shared.read()
        shared.append(ContentChunk(Array(repeating: 1, count: 200)))
        first.leave(reader)
        // Its beginning is gone.
        guard case .started(let second) = memory.join(where: { _ in true }, orStart: { load() }) else {
            Issue.record("joined what has lost its beginning")
            return
        }
        guard case .joined(let third) = memory.join(where: { _ in true }, orStart: { load() }) else {
            Issue.record("started a third load")
            return
        }
        #expect(third === second)
    }

    @Test func `the store is read once, however many ask`() async throws {
        #expect(await memory.beginStoreRead() == .begin)
        let done = Recorder<Int>()
        try await withThrowingTaskGroup { group in
            for number in 0..<10 {
                group.addTask {
                    #expect(await memory.beginStoreRead() == .done)
                    #expect(memory.snapshot.variants.map(\.text) == ["aus dem Lager"])
                    done(number)
                }
            }
            memory.storeWasRead([german("aus dem Lager")], since: memory.mark)
            try await group.waitForAll()
        }
        #expect(done.count == 10)
        #expect(await memory.beginStoreRead() == .done)
    }

    @Test func `a store that could not be read is read again, and what came meanwhile stays`() async throws {
        #expect(await memory.beginStoreRead() == .begin)
        let before = memory.snapshot
        try await withThrowingTaskGroup { group in
            for _ in 0..<10 {
                group.addTask {
                    // Who comes after the failure reads for itself.
                    if await memory.beginStoreRead() == .begin { memory.storeWasRead(nil, since: memory.mark) }
                }
            }
            memory.storeWasRead(nil, since: memory.mark)
            try await group.waitForAll()
        }
        #expect(memory.snapshot === before)
        memory.land(german("neu"))
        #expect(await memory.beginStoreRead() == .begin)
        memory.storeWasRead([german("alt", at: 900), french("vieux")], since: memory.mark)
        #expect(texts == ["neu", "vieux"])
        #expect(await memory.beginStoreRead() == .done)
    }

    @Test func `what the store has does not replace what is newer in memory`() async {
        #expect(await memory.beginStoreRead() == .begin)
        memory.land(german("neu"))
        memory.storeWasRead([german("alt", at: 900), french("vieux")], since: memory.mark)
        #expect(texts == ["neu", "vieux"])
    }

    @Test func `what was read from the store before a wipe does not come back`() async {
        #expect(await memory.beginStoreRead() == .begin)
        let mark = memory.mark
        memory.wipe(storeIsEmpty: false)
        memory.storeWasRead([german("alt")], since: mark)
        #expect(texts == [])
        #expect(!memory.snapshot.isStoreRead)
    }

    @Test func `B-05 what was read from the store before an invalidation does not come back`() async {
        #expect(await memory.beginStoreRead() == .begin)
        let mark = memory.mark
        memory.noteInvalidation()
        memory.storeWasRead([german("alt")], since: mark)
        #expect(texts == [])
        #expect(!memory.snapshot.isStoreRead)
    }

    @Test func `B-05 what is freshened after an invalidation stays out of date`() {
        let stale = german("alt")
        memory.land(stale)
        let mark = memory.mark
        memory.noteInvalidation()
        #expect(!memory.replace(stale, by: german("alt", at: 2_000), since: mark))
        #expect(memory.replace(stale, by: german("neu"), since: memory.mark))
    }

    @Test func `a variant that only the store can hold makes it be read again`() async {
        memory.land(german("alt"))
        memory.land(french("vieux"))
        memory.storeHasNothing(since: memory.mark)
        memory.forgetStoreRead(german("").stored, since: memory.mark)
        #expect(texts == ["vieux"])
        #expect(await memory.beginStoreRead() == .begin)
    }

    @Test func `what only the store can hold is not replaced by what was asked for earlier`() {
        func isSuperseded() -> Bool {
            memory.isSuperseded(german("alt").stored, since: memory.mark, at: Timestamp(seconds: 3_000))
        }
        guard case .started(let load) = memory.join(where: { _ in false }, orStart: { load() }) else { return }
        memory.forgetStoreRead(german("neu", at: 2_000).stored, since: memory.mark)
        #expect(isSuperseded())
        #expect(!memory.isSuperseded(french("vieux").stored, since: memory.mark, at: Timestamp(seconds: 3_000)))
        // Nothing older can come any more.
        memory.retire(load)
        #expect(!isSuperseded())
    }

    @Test func `of what only the store can hold, no more is remembered than of variants, and no content or fields`() {
        guard case .started = memory.join(where: { _ in false }, orStart: { load() }) else { return }
        for number in 0..<(2 * ResourceMemory.variantLimit) {
            let large = Variant.variant(
                "", fields: ["Vary": "X", "X-Large": String(repeating: "x", count: 8_192)],
                request: ["X": "\(number)"], at: 2_000)
            memory.forgetStoreRead(large.stored, since: memory.mark)
        }
        let remembered = memory.state.withLock { $0.storedAlone }
        #expect(remembered.count == ResourceMemory.variantLimit)
        #expect(remembered.last?.variance.selectors.first?.value == Array("31".utf8))
    }

    @Test func `the configuration is computed once for each version`() {
        final class Value: Sendable {}
        let made = Recorder<Int>()
        func configuration(_ version: UInt64) -> Value {
            memory.configuration(version: version) {
                made(Int(version))
                return Value()
            }
        }
        let first = configuration(1)
        #expect(configuration(1) === first)
        #expect(configuration(2) !== first)
        #expect(made.values == [1, 2])
    }

    @Test func `a hit is noted once until it is looked at`() {
        #expect(!memory.takeVisited())
        memory.touch()
        memory.touch()
        #expect(memory.takeVisited())
        #expect(!memory.takeVisited())
    }
}
