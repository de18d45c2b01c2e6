// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import Synchronization
import Testing

@testable import LarderStores

@Suite("What the writing thread is to do next", .timeLimit(.minutes(1)))
struct WriteQueueTests {
    private func queue(interval: Duration) -> WriteQueue {
        var settings = StoreSettings(path: "", diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
        settings.commitInterval = interval
        return WriteQueue(settings: settings, index: KeyIndex(), labels: KeyIndex())
    }

    private func isIdle(_ work: WriteQueue.Work) -> Bool { if case .idle = work { true } else { false } }

    @Test func `a group that is not due leaves time to look after the house`() {
        let queue = queue(interval: .seconds(3600))
        #expect(queue.post(.checkOrphan(.sha256(ContentDigest(of: [1])))))
        // Due at once; this once kept the thread turning until the group was due.
        #expect(isIdle(queue.next(idleDeadline: 0)))
        #expect(isIdle(queue.next(idleDeadline: monotonicNow() + 1_000_000)))
    }

    @Test func `a group that is due comes before anything else`() {
        let queue = queue(interval: .zero)
        #expect(queue.post(.checkOrphan(.sha256(ContentDigest(of: [1])))))
        guard case .batch(let batch) = queue.next(idleDeadline: 0) else {
            Issue.record("there was something to commit")
            return
        }
        #expect(batch.items.count == 1)
        #expect(isIdle(queue.next(idleDeadline: 0)))
    }

    @Test func `removals in progress take turns with groups that are always due`() {
        let queue = queue(interval: .zero)
        for number in UInt8(1)...3 {
            #expect(queue.post(.checkOrphan(.sha256(ContentDigest(of: [number])))))
            guard case .batch = queue.next(idleDeadline: 0, isRemoving: true) else {
                Issue.record("there was something to commit")
                return
            }
            #expect(queue.post(.checkOrphan(.sha256(ContentDigest(of: [number, number])))))
            #expect(isIdle(queue.next(idleDeadline: 0, isRemoving: true)))
        }
    }

    private func update(_ head: UInt8, _ labels: [EntityLabel]? = nil) -> Operation {
        let time = Timestamp(seconds: 1)
        return Operation(
            key: key("a"),
            change: .updateHead(
                HeadUpdate(
                    variant: [], head: [head], requestTime: time, responseTime: time, storedAt: time, labels: labels)))
    }

    private func removal(
        _ variant: [UInt8]? = nil, because reason: RemovalReason, ifStoredAt: Timestamp? = nil
    ) -> Operation {
        Operation(key: key("a"), change: .remove(variant: variant, because: reason, ifStoredAt: ifStoredAt))
    }

    private func changes(of queue: WriteQueue) -> [Operation.Change] {
        queue.stripes.withStripe(of: key("a").hash) { _, stripe in stripe.pending[key("a").hash].map(\.change) }
    }

    @Test func `while nothing can be written, what is repeated about an entity waits once`() {
        let queue = queue(interval: .zero)
        queue.suspend()
        for number in 0..<1000 { #expect(queue.accept(update(UInt8(truncatingIfNeeded: number), [LabelTests.red]))) }
        #expect(queue.accept(update(7)))
        guard case .updateHead(let head)? = changes(of: queue).first else {
            Issue.record("no head waits")
            return
        }
        #expect(head.head == [7] && head.labels == [LabelTests.red])
        for _ in 0..<1000 {
            // As a response that cannot be stored, one that may not be, a write at the origin and damage do.
            _ = queue.accept(removal([], because: .superseded))
            _ = queue.accept(removal([], because: .unusable))
            _ = queue.accept(removal(because: .superseded))
            _ = queue.accept(removal([], because: .unusable, ifStoredAt: Timestamp(seconds: 1)))
        }
        #expect(queue.pendingOperations <= 2)
        #expect(
            queue.stripes.withAll {
                $0.collect(); return $0.items.count
            } <= 5)
    }

    private func wipe(_ label: EntityLabel) -> Removal {
        Removal(match: EntityMatch(label: label), reason: .superseded)
    }

    @Test func `a head that brings other labels waits behind a removal by label`() {
        let queue = queue(interval: .zero)
        #expect(queue.accept(update(1, [LabelTests.red])))
        #expect(queue.post(.removeAll(wipe(LabelTests.blue))))
        #expect(queue.accept(update(2, [])))
        #expect(queue.pendingOperations == 2)
    }

    @Test(arguments: [false, true], [false, true])
    func `an entity whose new head brings a label is removed by it`(isSecond: Bool, isCommitting: Bool) {
        let queue = queue(interval: .zero)
        let time = Timestamp(seconds: 1)
        let row = EntityRecord(
            variant: [], head: [], requestTime: time, responseTime: time, storedAt: time, expires: nil, content: .empty)
        func visible() -> Int {
            if case .merge(let overlay) = queue.view(of: key("a")) { overlay.applied(to: [row]).count } else { 1 }
        }
        if isSecond { #expect(queue.post(.removeAll(wipe(LabelTests.red)))) }
        #expect(queue.accept(update(1, [LabelTests.red])))
        #expect(visible() == 1)
        if isCommitting { _ = queue.next(idleDeadline: 0) }
        for _ in 0..<2 { #expect(queue.post(.removeAll(wipe(LabelTests.red)))) }
        #expect(visible() == 0)
        #expect(queue.pendingOperations <= 2)
        // It is done behind the head, if that is still to be written.
        guard case .remove? = changes(of: queue).last else {
            Issue.record("nothing is removed")
            return
        }
    }

    private func write(_ name: String) -> Operation {
        let time = Timestamp(seconds: 1)
        let record = EntityRecord(
            variant: [], head: [], requestTime: time, responseTime: time, storedAt: time, expires: nil, content: .empty)
        return Operation(key: key(name), change: .write(record, blocks: nil))
    }

    @Test func `a command is behind the operations on any key that were accepted before it`() {
        let queue = queue(interval: .zero)
        for number in 0..<100 { #expect(queue.accept(write("\(number)"))) }
        #expect(queue.post(.checkOrphan(.sha256(ContentDigest(of: [1])))))
        for number in 100..<200 { #expect(queue.accept(write("\(number)"))) }
        guard case .batch(let batch) = queue.next(idleDeadline: 0) else {
            Issue.record("there was something to commit")
            return
        }
        let isCommand = batch.items.map { if case .command = $0 { true } else { false } }
        #expect(isCommand.count == 201 && isCommand.firstIndex(of: true) == 100)
        queue.committed(batch)
        #expect(queue.pendingOperations == 0)
    }

    private func groups(_ names: Range<Int>, at origin: String = "http://origin.example/") -> Removal {
        Removal(
            match: EntityMatch(urlPrefix: origin), labels: names.map { .group("\($0)") }, reason: .superseded)
    }

    private func removals(_ queue: WriteQueue) -> WaitingRemovals {
        queue.stripes.withStripe(of: 0) { terms, _ in terms.removals }
    }

    private func batch(_ queue: WriteQueue) -> WriteQueue.Batch {
        guard case .batch(let batch) = queue.next(idleDeadline: 0) else { return WriteQueue.Batch() }
        return batch
    }

    private func isHidden(_ queue: WriteQueue, _ key: EntityKey) -> Bool {
        if case .merge(let overlay) = queue.view(of: key) { overlay.hidesRows } else { false }
    }

    @Test func `a removal by two hundred labels looks at each waiting operation once, and readers at none`() {
        let queue = queue(interval: .zero)
        for number in 0..<100 { #expect(queue.accept(write("\(number)"))) }
        let looks = Atomic<Int>(0)
        let match = EntityMatch { _ in
            looks.add(1, ordering: .relaxed)
            return true
        }
        let labels = (0..<200).map { EntityLabel.group("\($0)") }
        #expect(queue.post(.removeAll(Removal(match: match, labels: labels, reason: .superseded))))
        #expect(looks.load(ordering: .relaxed) == 100)
        for number in 0..<100 { _ = queue.view(of: key("\(number)")) }
        #expect(looks.load(ordering: .relaxed) == 100)
        #expect(batch(queue).items.count == 101)
    }

    @Test func `a removal whose labels all wait is not queued again`() {
        let queue = queue(interval: .zero)
        for _ in 0..<50 { #expect(queue.post(.removeAll(groups(0..<200)))) }
        #expect(queue.post(.removeAll(groups(50..<150))))
        #expect(removals(queue).all.count == 1)
        #expect(queue.post(.removeAll(groups(150..<250))))
        #expect(removals(queue).all.count == 2)
        #expect(batch(queue).items.count == 2)
        #expect(queue.post(.removeAll(groups(0..<200))))
        #expect(removals(queue).all.count == 3, "one that the writer has does not serve for later ones")
    }

    @Test func `a removal ends for its callers and for readers`() {
        let queue = queue(interval: .zero)
        let (one, two) = (groups(0..<200), groups(100..<300))
        for removal in [one, two] { #expect(queue.post(.removeAll(removal))) }
        queue.end([one])
        #expect(removals(queue).byLabel.count == 200)
        queue.end([two])
        #expect(removals(queue).isEmpty && removals(queue).byLabel.isEmpty)
        if case .merge = queue.view(of: key("a")) { Issue.record("nothing waits") }
    }

    @Test func `when a thousand labels wait, the origin is emptied, in one removal at a time`() throws {
        let queue = queue(interval: .zero)
        for number in 0..<WaitingRemovals.labelLimit / 200 {
            #expect(queue.post(.removeAll(groups(number * 200..<(number + 1) * 200))))
        }
        #expect(!isHidden(queue, key("a")))
        #expect(queue.accept(write("a")))
        for number in 10..<60 { #expect(queue.post(.removeAll(groups(number * 200..<(number + 1) * 200)))) }
        #expect(removals(queue).all.count == WaitingRemovals.labelLimit / 200 + 1)
        #expect(isHidden(queue, key("a")) && queue.pendingOperations == 0)
        let other = EntityKey(service: "api", partition: "", stage: "rawData", url: "http://origin.example.net/a")
        #expect(!isHidden(queue, other))
        // While the writer is at it, all further ones wait in one more.
        let first = try #require(removals(queue).wide)
        #expect(batch(queue).items.count == WaitingRemovals.labelLimit / 200 + 1)
        for number in 0..<300 {
            #expect(queue.post(.removeAll(groups(number * 20_000..<number * 20_000 + 200))))
            #expect(queue.post(.removeAll(groups(0..<200, at: "http://origin.example.net/"))))
        }
        #expect(removals(queue).unlabelled.count == 2)
        #expect(isHidden(queue, other))
        #expect(batch(queue).items.isEmpty, "it is not queued before the first has ended")
        queue.end([first])
        #expect(batch(queue).items.count == 1)
        #expect(isHidden(queue, key("a")) && isHidden(queue, other))
        queue.end([try #require(removals(queue).wide)])
        #expect(!isHidden(queue, key("a")) && !isHidden(queue, other))
    }

    @Test func `an operator's removal by a label is never widened`() async {
        let queue = queue(interval: .zero)
        #expect(queue.post(.removeAll(groups(0..<WaitingRemovals.labelLimit))))
        _ = await withUnsafeContinuation { (continuation: UnsafeContinuation<Int, Never>) in
            let removal = Removal(
                match: EntityMatch(label: .group("x")), reason: .superseded, continuation: continuation)
            #expect(queue.post(.removeAll(removal)))
            #expect(removals(queue).unlabelled.isEmpty && removals(queue).all.count == 2)
            queue.end([removal])
        }
    }

    @Test func `when a thousand origins wait, origins are no longer told apart, but stages are`() {
        let one = Removal(widening: groups(0..<1, at: "http://0.example/"))
        for number in 1..<Removal.areaLimit + 5 {
            let match = EntityMatch(stage: "rawData", urlPrefix: "http://\(number).example/")
            one.widen(by: Removal(match: match, reason: .superseded))
            #expect((one.areas?.count ?? 0) <= Removal.areaLimit)
        }
        #expect(one.match.accepts(key("a")))
        let two = Removal(widening: Removal(match: EntityMatch(stage: "rawData"), reason: .superseded))
        #expect(two.match.accepts(key("a")) && !two.match.accepts(key("a", stage: "served")))
    }

    private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            do throws(IOError) {
                try Thread.start(name: "test") { continuation.resume(returning: body()) }.detach()
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @Test func `the writing thread is woken for what any thread queues`() async throws {
        let queue = queue(interval: .zero)
        let threads = 8
        let count = 500
        async let taken = onThread {
            var taken = 0
            // Nothing else would end this wait.
            while taken < threads * count,
                case .batch(let batch) = queue.next(idleDeadline: monotonicNow() + 30_000_000_000)
            {
                taken += batch.items.count
                queue.committed(batch)
            }
            return taken
        }
        try await withThrowingTaskGroup { group in
            for thread in 0..<threads {
                group.addTask {
                    try await onThread {
                        for number in 0..<count { _ = queue.accept(write("\(thread)/\(number)")) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await taken == threads * count)
        #expect(queue.pendingOperations == 0)
    }
}
