// SPDX-License-Identifier: Apache-2.0

/// SIEVE (Zhang and others, NSDI 2024).
struct SievePolicy: ReplayedPolicy {
    private var queue: KeyQueue
    private var sizes: [Int32]
    private var visited: [Bool]
    private var hand = -1
    private let capacity: Int

    init(capacity: Int, keys: Int) {
        queue = KeyQueue(keys: keys)
        sizes = [Int32](repeating: 0, count: keys)
        visited = [Bool](repeating: false, count: keys)
        self.capacity = capacity
    }

    mutating func request(_ key: Int, size: Int) -> Bool {
        if queue.contains(key) {
            visited[key] = true
            return true
        }
        guard size <= capacity else { return false }
        while queue.bytes + size > capacity {
            if hand < 0 { hand = Int(queue.oldest) }
            let candidate = hand
            hand = Int(queue.newer(than: candidate))
            if visited[candidate] {
                visited[candidate] = false
            } else {
                queue.remove(candidate, size: Int(sizes[candidate]))
            }
        }
        sizes[key] = Int32(size)
        queue.insert(key, size: size)
        return false
    }
}

/// S3-FIFO (Yang and others, SOSP 2023): a small queue in front of the main one, and a ghost of what left the
/// small one.
struct S3FIFOPolicy: ReplayedPolicy {
    private var small: KeyQueue
    private var main: KeyQueue
    private var ghost: KeyQueue
    private var sizes: [Int32]
    private var uses: [UInt8]
    private let capacity: Int
    private let smallCapacity: Int

    init(capacity: Int, keys: Int) {
        small = KeyQueue(keys: keys)
        main = small
        ghost = small
        sizes = [Int32](repeating: 0, count: keys)
        uses = [UInt8](repeating: 0, count: keys)
        self.capacity = capacity
        smallCapacity = capacity / 10
    }

    mutating func request(_ key: Int, size: Int) -> Bool {
        if small.contains(key) || main.contains(key) {
            uses[key] = min(3, uses[key] + 1)
            return true
        }
        guard size <= capacity else { return false }
        let isGhost = ghost.contains(key)
        if isGhost { ghost.remove(key, size: size) }
        while small.bytes + main.bytes + size > capacity {
            if small.bytes > smallCapacity || main.count == 0 { evictSmall() } else { evictMain() }
        }
        sizes[key] = Int32(size)
        uses[key] = 0
        if isGhost { main.insert(key, size: size) } else { small.insert(key, size: size) }
        return false
    }

    private mutating func evictSmall() {
        let key = Int(small.oldest)
        let size = Int(sizes[key])
        small.remove(key, size: size)
        if uses[key] > 1 {
            uses[key] = 0
            main.insert(key, size: size)
            return
        }
        ghost.insert(key, size: size)
        while ghost.bytes > capacity - smallCapacity {
            let forgotten = Int(ghost.oldest)
            ghost.remove(forgotten, size: Int(sizes[forgotten]))
        }
    }

    private mutating func evictMain() {
        while true {
            let key = Int(main.oldest)
            let size = Int(sizes[key])
            main.remove(key, size: size)
            guard uses[key] > 0 else { return }
            uses[key] -= 1
            main.insert(key, size: size)
        }
    }
}

/// W-TinyLFU (Einziger and others, 2017): a window of a hundredth, a segmented LRU, and a frequency sketch between.
struct TinyLFUPolicy: ReplayedPolicy {
    private var window: KeyQueue
    private var probation: KeyQueue
    private var protected: KeyQueue
    private var sizes: [Int32]
    /// Exact counts in place of a sketch, halved every so often.
    private var counts: [UInt8]
    private var counted = 0
    private let sampleSize: Int
    private let capacity: Int
    private let windowCapacity: Int

    init(capacity: Int, keys: Int, meanSize: Int) {
        window = KeyQueue(keys: keys)
        probation = window
        protected = window
        sizes = [Int32](repeating: 0, count: keys)
        counts = [UInt8](repeating: 0, count: keys)
        self.capacity = capacity
        windowCapacity = capacity / 100
        sampleSize = max(1000, capacity / max(1, meanSize) * 10)
    }

    mutating func request(_ key: Int, size: Int) -> Bool {
        count(key)
        if window.contains(key) {
            window.remove(key, size: size)
            window.insert(key, size: size)
            return true
        }
        if protected.contains(key) {
            protected.remove(key, size: size)
            protected.insert(key, size: size)
            return true
        }
        if probation.contains(key) {
            probation.remove(key, size: size)
            protected.insert(key, size: size)
            while protected.bytes > (capacity - windowCapacity) / 5 * 4 {
                let demoted = Int(protected.oldest)
                protected.remove(demoted, size: Int(sizes[demoted]))
                probation.insert(demoted, size: Int(sizes[demoted]))
            }
            return true
        }
        guard size <= capacity else { return false }
        sizes[key] = Int32(size)
        window.insert(key, size: size)
        while window.bytes > windowCapacity { admit() }
        return false
    }

    private mutating func admit() {
        let candidate = Int(window.oldest)
        let size = Int(sizes[candidate])
        window.remove(candidate, size: size)
        let room = capacity - windowCapacity
        while probation.bytes + protected.bytes + size > room {
            let victim = Int(probation.count > 0 ? probation.oldest : protected.oldest)
            guard victim >= 0, counts[candidate] > counts[victim] else { return }
            if probation.contains(victim) {
                probation.remove(victim, size: Int(sizes[victim]))
            } else {
                protected.remove(victim, size: Int(sizes[victim]))
            }
        }
        probation.insert(candidate, size: size)
    }

    private mutating func count(_ key: Int) {
        if counts[key] < 15 { counts[key] += 1 }
        counted += 1
        guard counted >= sampleSize else { return }
        counted /= 2
        for index in counts.indices { counts[index] /= 2 }
    }
}
