// SPDX-License-Identifier: Apache-2.0

/// A cache of so many octets whose policy is compared. Keys are small numbers.
protocol ReplayedPolicy {
    /// Whether the key was there; if not, it is brought in as far as the policy wants it.
    mutating func request(_ key: Int, size: Int) -> Bool
}

/// Keys in a row, each at most once: the queue that FIFO and others are made of.
struct KeyQueue {
    private var newer: [Int32]
    private var older: [Int32]
    private(set) var newest: Int32 = -1
    private(set) var oldest: Int32 = -1
    private(set) var bytes = 0
    private(set) var count = 0

    init(keys: Int) {
        newer = [Int32](repeating: -2, count: keys)
        older = newer
    }

    func contains(_ key: Int) -> Bool { newer[key] != -2 }
    func newer(than key: Int) -> Int32 { newer[key] }

    mutating func insert(_ key: Int, size: Int) {
        newer[key] = -1
        older[key] = newest
        if newest >= 0 { newer[Int(newest)] = Int32(key) } else { oldest = Int32(key) }
        newest = Int32(key)
        bytes += size
        count += 1
    }

    mutating func remove(_ key: Int, size: Int) {
        let (after, before) = (newer[key], older[key])
        if after >= 0 { older[Int(after)] = before } else { newest = before }
        if before >= 0 { newer[Int(before)] = after } else { oldest = after }
        newer[key] = -2
        bytes -= size
        count -= 1
    }
}

/// First in, first out; or, if every hit counts as coming anew, least recently used.
struct QueuePolicy: ReplayedPolicy {
    private var queue: KeyQueue
    private var sizes: [Int32]
    private let capacity: Int
    private let renewsOnHit: Bool

    init(capacity: Int, keys: Int, renewsOnHit: Bool) {
        queue = KeyQueue(keys: keys)
        sizes = [Int32](repeating: 0, count: keys)
        self.capacity = capacity
        self.renewsOnHit = renewsOnHit
    }

    mutating func request(_ key: Int, size: Int) -> Bool {
        if queue.contains(key) {
            if renewsOnHit {
                queue.remove(key, size: size)
                queue.insert(key, size: size)
            }
            return true
        }
        guard size <= capacity else { return false }
        sizes[key] = Int32(size)
        queue.insert(key, size: size)
        while queue.bytes > capacity {
            let gone = Int(queue.oldest)
            queue.remove(gone, size: Int(sizes[gone]))
        }
        return false
    }
}
