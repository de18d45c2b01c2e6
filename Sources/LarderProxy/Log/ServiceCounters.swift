// SPDX-License-Identifier: Apache-2.0

/// The counters of one loop for one service. Only that loop writes; any thread reads, and sums over the loops.
package final class ServiceCounters: Sendable {
    /// The source of a response: the cache, or the origin, even if only to validate.
    package enum Source: Int, CaseIterable, Sendable {
        case cache, origin

        init(_ kind: LoopCounters.Kind) {
            self = kind == .hit || kind == .stale ? .cache : .origin
        }
    }

    private let cells = CounterCells(
        count: ServiceCounters.histograms + Source.allCases.count * ServiceCounters.histogramSize)
    private static let sent = LoopCounters.Kind.allCases.count
    private static let saved = sent + 1
    private static let histograms = saved + 1
    /// The counts of a histogram, and the sum behind them.
    private static let histogramSize = LatencyScale.buckets + 1

    /// Counts an exchange with its bytes of content sent.
    ///
    /// - Parameter latency: in nanoseconds; nil where there was nothing to wait for.
    func count(_ kind: LoopCounters.Kind, latency nanoseconds: Int64?, sent: Int) {
        cells.add(1, to: kind.rawValue)
        cells.add(UInt64(sent), to: ServiceCounters.sent)
        if kind == .hit || kind == .stale || kind == .validated { cells.add(UInt64(sent), to: ServiceCounters.saved) }
        guard let nanoseconds else { return }
        let histogram = ServiceCounters.histograms + Source(kind).rawValue * ServiceCounters.histogramSize
        cells.add(1, to: histogram + LatencyScale.bucket(of: nanoseconds))
        cells.add(UInt64(max(0, nanoseconds)), to: histogram + LatencyScale.buckets)
    }

    /// The sums over several loops, for one service or for all.
    package struct Totals: Sendable {
        package var kinds = [UInt64](repeating: 0, count: LoopCounters.Kind.allCases.count)
        package var sent: UInt64 = 0
        /// Bytes of content answered from the cache.
        package var saved: UInt64 = 0
        /// Exchanges by their duration, on `LatencyScale`, by the source of the response.
        package var latencies = Source.allCases.map { _ in [UInt64](repeating: 0, count: LatencyScale.buckets) }
        /// In nanoseconds.
        package var latencySums = Source.allCases.map { _ in UInt64(0) }

        package init() {}

        package func count(_ kind: LoopCounters.Kind) -> UInt64 { kinds[kind.rawValue] }
        package func latencies(_ source: Source) -> [UInt64] { latencies[source.rawValue] }
        package func latencySum(_ source: Source) -> UInt64 { latencySums[source.rawValue] }

        /// Responses that no origin had to send in full.
        package var served: UInt64 { count(.hit) + count(.stale) + count(.validated) + count(.collapsed) }
        package var requests: UInt64 { kinds.reduce(0, +) }

        /// The share of cacheable requests that no origin had to answer in full; 0 before the first. Failures are no
        /// hits.
        package var hitRatio: Double {
            let cacheable = served + count(.miss) + count(.error)
            return cacheable == 0 ? 0 : Double(served) / Double(cacheable)
        }

        package mutating func add(_ counters: ServiceCounters) {
            for index in kinds.indices { kinds[index] += counters.cells[index] }
            sent += counters.cells[ServiceCounters.sent]
            saved += counters.cells[ServiceCounters.saved]
            for source in Source.allCases.map(\.rawValue) {
                let histogram = ServiceCounters.histograms + source * ServiceCounters.histogramSize
                for bucket in 0..<LatencyScale.buckets {
                    latencies[source][bucket] += counters.cells[histogram + bucket]
                }
                latencySums[source] += counters.cells[histogram + LatencyScale.buckets]
            }
        }
    }
}
