// SPDX-License-Identifier: Apache-2.0

/// A member of a `TimerQueue`.
protocol QueuedTimer: AnyObject {
    /// Monotonic nanoseconds; meaningful while the timer is armed.
    var due: Int64 { get set }
    /// The timer's position in its queue, or -1.
    var index: Int { get set }
    /// Orders timers due at the same instant by when they were armed.
    var order: UInt64 { get set }
}

/// The armed timers of a loop or of the process, the next due first: a binary heap whose members know their place, so
/// that cancelling costs no search.
struct TimerQueue<Member: QueuedTimer> {
    private var heap: [Member] = []
    private var armed: UInt64 = 0

    var count: Int { heap.count }

    /// When the next timer is due, in monotonic nanoseconds.
    var nextDue: Int64? { heap.first?.due }

    mutating func insert(_ timer: Member, due: Int64) {
        remove(timer)
        armed += 1
        timer.due = due
        timer.order = armed
        timer.index = heap.count
        heap.append(timer)
        siftUp(timer.index)
    }

    mutating func remove(_ timer: Member) {
        let hole = timer.index
        guard hole >= 0 else { return }
        let last = heap.removeLast()
        timer.index = -1
        guard last !== timer else { return }
        place(last, at: hole)
        siftUp(hole)
        siftDown(last.index)
    }

    /// Takes out the next timer if it is due at `now`.
    mutating func popDue(at now: Int64) -> Member? {
        guard let first = heap.first, first.due <= now else { return nil }
        remove(first)
        return first
    }

    private mutating func place(_ timer: Member, at index: Int) {
        heap[index] = timer
        timer.index = index
    }

    private func precedes(_ a: Member, _ b: Member) -> Bool {
        a.due == b.due ? a.order < b.order : a.due < b.due
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        let timer = heap[index]
        while index > 0 {
            let parent = (index - 1) / 2
            guard precedes(timer, heap[parent]) else { break }
            place(heap[parent], at: index)
            index = parent
        }
        place(timer, at: index)
    }

    private mutating func siftDown(_ start: Int) {
        var index = start
        let timer = heap[index]
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, precedes(heap[child + 1], heap[child]) { child += 1 }
            guard precedes(heap[child], timer) else { break }
            place(heap[child], at: index)
            index = child
        }
        place(timer, at: index)
    }

    /// For tests: every timer knows its place and is due no earlier than its parent.
    func checkInvariants() -> Bool {
        heap.indices.allSatisfy { index in
            heap[index].index == index && (index == 0 || !precedes(heap[index], heap[(index - 1) / 2]))
        }
    }
}
