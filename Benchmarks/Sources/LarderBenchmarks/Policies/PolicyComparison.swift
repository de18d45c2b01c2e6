// SPDX-License-Identifier: Apache-2.0

/// Replays requests through one policy after the other and prints the share that each has answered.
struct PolicyComparison {
    /// The octets that every object takes beside its content.
    private let overhead: Int
    /// Requests of a made trace.
    private let count: Int

    init(overhead: Int, count: Int) {
        self.overhead = overhead
        self.count = count
    }

    /// Compares on a recorded trace, at four shares of what it asks for altogether.
    func compare(csv path: String) throws {
        let trace = try Trace(csv: path, overhead: overhead)
        compare(trace, at: [0.01, 0.03, 0.1, 0.3].map { Int($0 * Double(trace.footprint)) })
    }

    /// Compares on the mixes that are made here.
    func compareMixes() {
        let size = 4096 + overhead
        let million = 1_000_000
        let sizes = [16 << 20, 64 << 20, 256 << 20]
        compare(.zipf(0.8, keys: million, size: size, count: count), at: sizes)
        compare(.zipf(0.9, keys: million, size: size, count: count), at: sizes)
        compare(.zipf(1.0, keys: million, size: size, count: count), at: [64 << 20])
        let scans = Trace.scans(0.9, keys: million, size: size, count: count, every: count / 20, length: 30_000)
        compare(scans, at: [64 << 20])
        compare(.drifting(0.9, keys: million, size: size, count: count, every: count / 60), at: [64 << 20])
        compare(.loop(keys: (64 << 20) / size * 11 / 10, size: size, count: count), at: [64 << 20])
    }

    private func compare(_ trace: Trace, at sizes: [Int]) {
        for size in sizes {
            let keys = trace.keyCount
            let mean = trace.footprint / keys
            print("\(trace.name), \(size >> 20) MiB of \(trace.footprint >> 20) MiB")
            show("FIFO", trace, QueuePolicy(capacity: size, keys: keys, renewsOnHit: false))
            show("LRU", trace, QueuePolicy(capacity: size, keys: keys, renewsOnHit: true))
            show("SIEVE", trace, SievePolicy(capacity: size, keys: keys))
            show("S3-FIFO", trace, S3FIFOPolicy(capacity: size, keys: keys))
            show("W-TinyLFU", trace, TinyLFUPolicy(capacity: size, keys: keys, meanSize: mean))
            show("Larder", trace, LarderPolicy(capacity: size, keys: keys))
            show("Belady", trace, BeladyPolicy(capacity: size, trace: trace))
        }
    }

    private func show(_ name: String, _ trace: Trace, _ policy: consuming some ReplayedPolicy) {
        let padding = String(repeating: " ", count: 12 - name.utf8.count)
        print("  \(name)\(padding)\(PolicyComparison.percent(hits(trace, &policy)))")
    }

    /// The share of hits, in hundredths of a percent, once the first third of the requests has filled the cache.
    private func hits(_ trace: Trace, _ policy: inout some ReplayedPolicy) -> Int {
        let first = trace.requests.count / 3
        var hits = 0
        for (index, request) in trace.requests.enumerated() {
            let isHit = policy.request(Int(request.key), size: Int(request.size))
            if isHit, index >= first { hits += 1 }
        }
        return hits * 10_000 / max(1, trace.requests.count - first)
    }

    private static func percent(_ hundredths: Int) -> String {
        let fraction = hundredths % 100
        return "\(hundredths / 100).\(fraction < 10 ? "0" : "")\(fraction) %"
    }
}
