// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("What the writing thread is to do next", .timeLimit(.minutes(1)))
struct WriteQueueTests {
    private func queue(interval: Duration) -> WriteQueue {
        var settings = StoreSettings(path: "", diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
        settings.commitInterval = interval
        return WriteQueue(settings: settings, index: KeyIndex())
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
}
