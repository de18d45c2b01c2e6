// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
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
        Removal(match: EntityMatch(label: label), reason: .superseded, removed: 0, continuation: nil)
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
