// SPDX-License-Identifier: Apache-2.0

import LarderIO
import Synchronization

/// The counters of one loop. Only that loop writes; any thread reads, and sums over the loops.
package final class LoopCounters: Sendable {
    /// The outcome of a request, in the words of `/-/status`.
    package enum Kind: Int, CaseIterable, Sendable {
        case hit, miss, stale, validated, collapsed, error, tunnel
        /// Forwarded without consulting the cache: other methods, `no-store`, ranges that are not stored.
        case pass
        /// The client left while its response was awaited, or incomplete.
        case aborted
        /// Answered by Larder itself: the first page, `/-/…`.
        case own
        /// Refused by Larder itself, with a 4xx.
        case refused
    }

    package enum Amount: Int, CaseIterable, Sendable {
        /// Bytes of content sent to clients, and received from upstreams.
        case sent, received
        /// Bytes of content sent to clients without being received from an upstream.
        case saved
        case connectionsAccepted, connectionsClosed, connectionsRefused
        /// Connections refused because their client was at its limit.
        case connectionsRefusedByClient
        /// Requests refused because their client was at its limit.
        case requestsRefusedByClient
        /// Requests sent upstream.
        case upstreamRequests, upstreamErrors
        /// Requests that were not sent because their origin is in backoff.
        case upstreamHeld
        /// Bytes relayed through tunnels, in both directions.
        case tunnelled
        case malformedRequests
        /// Hits answered from the loop's cached replies.
        case answeredAtOnce
        /// How often an idle connection released its task.
        case connectionsRested
    }

    private let cells = CounterCells(count: LoopCounters.reasons + Reason.all.count)
    /// The counters of each service, by its name.
    private let services = Lock<[String: ServiceCounters]>([:])
    private static let histogram = Kind.allCases.count + Amount.allCases.count
    private static let reasons = histogram + LatencyScale.buckets + 1

    package init() {}

    // MARK: Counting, on the loop

    /// - Parameter latency: in nanoseconds; nil where there was nothing to wait for.
    package func count(_ kind: Kind, latency nanoseconds: Int64?) {
        cells.add(1, to: kind.rawValue)
        guard let nanoseconds else { return }
        cells.add(1, to: LoopCounters.histogram + LatencyScale.bucket(of: nanoseconds))
        cells.add(UInt64(max(0, nanoseconds)), to: LoopCounters.histogram + LatencyScale.buckets)
    }

    package func add(_ amount: Amount, _ value: Int = 1) {
        cells.add(UInt64(value), to: Kind.allCases.count + amount.rawValue)
    }

    /// Counts the reason at `place` of `Reason.all`.
    func addReason(at place: Int) { cells.add(1, to: LoopCounters.reasons + place) }

    // MARK: Services

    /// The loop's counters for the service of that name.
    func counters(of service: String) -> ServiceCounters {
        services.withLock { services in
            if let known = services[service] { return known }
            let made = ServiceCounters()
            services[service] = made
            return made
        }
    }

    package var byService: [String: ServiceCounters] { services.withLock { $0 } }

    // MARK: Reading, from anywhere

    package func value(_ kind: Kind) -> UInt64 { cells[kind.rawValue] }
    package func value(_ amount: Amount) -> UInt64 { cells[Kind.allCases.count + amount.rawValue] }
    func reason(at place: Int) -> UInt64 { cells[LoopCounters.reasons + place] }
    package func latencies() -> [UInt64] { (0..<LatencyScale.buckets).map { cells[LoopCounters.histogram + $0] } }
    /// The sum of all latencies in nanoseconds.
    package var latencySum: UInt64 { cells[LoopCounters.histogram + LatencyScale.buckets] }
}

/// A log-linear scale of latencies: four buckets for each power of two, from a microsecond to an hour.
package enum LatencyScale {
    package static let buckets = 128

    static func bucket(of nanoseconds: Int64) -> Int {
        let microseconds = UInt64(max(0, nanoseconds)) / 1000
        guard microseconds >= 4 else { return Int(microseconds) }
        let exponent = 63 - microseconds.leadingZeroBitCount
        let fraction = Int((microseconds >> (exponent - 2)) & 3)
        return min(buckets - 1, (exponent - 1) * 4 + fraction)
    }

    /// The largest latency that falls into `bucket`, in seconds.
    package static func upperBound(of bucket: Int) -> Double {
        guard bucket >= 4 else { return Double(bucket + 1) / 1e6 }
        let exponent = bucket / 4 + 1
        return Double((4 + bucket % 4 + 1) << (exponent - 2)) / 1e6
    }

    /// The latency below which the fraction `quantile` of `counts` lies, in seconds; 0 when there are none.
    package static func quantile(_ quantile: Double, of counts: [UInt64]) -> Double {
        let total = counts.reduce(0, +)
        guard total > 0 else { return 0 }
        let rank = max(1, UInt64((Double(total) * quantile).rounded(.up)))
        var seen: UInt64 = 0
        for (bucket, count) in counts.enumerated() {
            seen += count
            if seen >= rank { return upperBound(of: bucket) }
        }
        return upperBound(of: buckets - 1)
    }
}

/// Counters of one loop. Only that loop writes; any thread reads.
struct CounterCells: ~Copyable, Sendable {
    // Each cell is atomic; the pointer never changes.
    private nonisolated(unsafe) let cells: UnsafeMutablePointer<Atomic<UInt64>>
    private let count: Int

    init(count: Int) {
        self.count = count
        cells = .allocate(capacity: count)
        for index in 0..<count { (cells + index).initialize(to: Atomic(0)) }
    }

    deinit {
        cells.deinitialize(count: count)
        cells.deallocate()
    }

    subscript(cell: Int) -> UInt64 { cells[cell].load(ordering: .relaxed) }

    /// There is one writer, so a load and a store suffice.
    @inline(__always)
    func add(_ value: UInt64, to cell: Int) { cells[cell].store(self[cell] &+ value, ordering: .relaxed) }
}
