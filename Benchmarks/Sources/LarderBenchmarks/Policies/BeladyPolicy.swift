// SPDX-License-Identifier: Apache-2.0

/// Belady's optimum: what is needed last, for the most octets, goes first, and what is needed later than all
/// others is not taken in. With equal sizes nothing is better; with others the choice is among 64 at random, and
/// nearly so.
struct BeladyPolicy: ReplayedPolicy {
    private let next: [Int32]
    private var step = 0
    private var due: [Int32]
    private var sizes: [Int32]
    private var place: [Int32]
    private var present: [Int32] = []
    private var bytes = 0
    private let capacity: Int
    private let isUniform: Bool
    private var heap: [(due: Int32, key: Int32)] = []
    private var random: UInt64 = 88_172_645_463_325_252

    init(capacity: Int, trace: Trace) {
        var last = [Int32](repeating: .max, count: trace.keyCount)
        var next = [Int32](repeating: .max, count: trace.requests.count)
        for index in trace.requests.indices.reversed() {
            let key = Int(trace.requests[index].key)
            next[index] = last[key]
            last[key] = Int32(index)
        }
        self.next = next
        self.capacity = capacity
        due = [Int32](repeating: .max, count: trace.keyCount)
        sizes = [Int32](repeating: 0, count: trace.keyCount)
        place = [Int32](repeating: -1, count: trace.keyCount)
        isUniform = trace.requests.allSatisfy { $0.size == trace.requests[0].size }
    }

    mutating func request(_ key: Int, size: Int) -> Bool {
        defer { step += 1 }
        due[key] = next[step]
        if place[key] >= 0 {
            if isUniform { push(key) }
            return true
        }
        guard size <= capacity, due[key] != .max else { return false }
        sizes[key] = Int32(size)
        place[key] = Int32(present.count)
        present.append(Int32(key))
        bytes += size
        if isUniform { push(key) }
        while bytes > capacity { remove(isUniform ? last() : worst()) }
        return false
    }

    private mutating func remove(_ key: Int) {
        bytes -= Int(sizes[key])
        let hole = Int(place[key])
        place[key] = -1
        let moved = present.removeLast()
        guard Int(moved) != key else { return }
        present[hole] = moved
        place[Int(moved)] = Int32(hole)
    }

    private mutating func worst() -> Int {
        var worst = Int(present[0])
        var highest = -1
        for _ in 0..<64 {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            let key = Int(present[Int(random % UInt64(present.count))])
            let weight = (Int(due[key]) - step) * Int(sizes[key])
            if weight > highest { (worst, highest) = (key, weight) }
        }
        return worst
    }

    private mutating func last() -> Int {
        while true {
            let (due, key) = pop()
            if place[Int(key)] >= 0, self.due[Int(key)] == due { return Int(key) }
        }
    }

    private mutating func push(_ key: Int) {
        heap.append((due[key], Int32(key)))
        var child = heap.count - 1
        while child > 0, heap[(child - 1) / 2].due < heap[child].due {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func pop() -> (Int32, Int32) {
        let top = heap[0]
        heap[0] = heap[heap.count - 1]
        heap.removeLast()
        var parent = 0
        while 2 * parent + 1 < heap.count {
            var child = 2 * parent + 1
            if child + 1 < heap.count, heap[child + 1].due > heap[child].due { child += 1 }
            guard heap[child].due > heap[parent].due else { break }
            heap.swapAt(child, parent)
            parent = child
        }
        return top
    }
}
