// SPDX-License-Identifier: Apache-2.0
import Larder

/// The very queue that the registry of Resources uses.
struct LarderPolicy: ReplayedPolicy {
    private var queue = EvictionQueue<Int>()
    private var present: [Bool]
    private var used: [Bool]
    private let capacity: Int

    init(capacity: Int, keys: Int) {
        present = [Bool](repeating: false, count: keys)
        used = present
        self.capacity = capacity
    }

    mutating func request(_ key: Int, size: Int) -> Bool {
        if present[key] {
            used[key] = true
            return true
        }
        guard size <= capacity else { return false }
        present[key] = true
        _ = queue.insert(key, hash: UInt64(key) &* 0x9E37_79B9_7F4A_7C15, cost: size)
        while queue.cost > capacity {
            let victim = queue.nextVictim { entry in
                defer { used[entry] = false }
                return used[entry] ? .used : .idle
            }
            guard let victim else { break }
            present[queue.remove(victim, isEvicted: true).entry] = false
        }
        return false
    }
}
