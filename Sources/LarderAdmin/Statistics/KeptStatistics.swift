// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy
import LarderStores

/// The statistics that outlive a run of the daemon: the counts of all runs, and the charts of the last day.
struct KeptStatistics: Sendable {
    /// Counts of requests since a time.
    struct AllTime: Sendable {
        var since: Timestamp
        var totals = ServiceCounters.Totals()

        /// How much longer the responses from the cache would have taken if each had taken as long as the average load.
        var timeSaved: Duration {
            let (hits, loads) = (totals.latencies(.cache).reduce(0, +), totals.latencies(.origin).reduce(0, +))
            guard loads > 0 else { return .zero }
            let load = Double(totals.latencySum(.origin)) / Double(loads)
            return .seconds(max(0, load * Double(hits) - Double(totals.latencySum(.cache))) / 1e9)
        }
    }

    var allTime: AllTime
    var day: History.Series<History.Step>
    var services: [String: History.Series<History.ServiceStep>]
}

extension KeptStatistics {
    /// Empty statistics.
    init(startingAt now: Timestamp) {
        self.init(allTime: AllTime(since: now), day: History.daySteps, services: [:])
    }
}

/// The form in a file: a line with the version, numbers of 8 bytes, and 8 bytes of the SHA-256 of all before. At most
/// 500 KiB, as each part has a limit.
extension KeptStatistics {
    private static let heading = Array("larder statistics 1\n".utf8)
    private static let digestLength = 8

    var octets: [UInt8] {
        var writer = OctetWriter()
        writer.append(rest: KeptStatistics.heading)
        writer.append(place: allTime.since.nanoseconds)
        writer.append(count: LoopCounters.Kind.allCases.count)
        for kind in LoopCounters.Kind.allCases {
            writer.append(run: "\(kind)")
            writer.append(mark: allTime.totals.count(kind))
        }
        for number in [allTime.totals.sent, allTime.totals.saved] { writer.append(mark: number) }
        for source in ServiceCounters.Source.allCases {
            writer.append(mark: allTime.totals.latencySum(source))
            writer.append(count: LatencyScale.buckets)
            for count in allTime.totals.latencies(source) { writer.append(mark: count) }
        }
        writer.append(day) { writer, step in
            for count in History.Counts.all { writer.append(mark: step.counts[keyPath: count]) }
            let latencies = [step.hitLatency, step.loadLatency]
            for latency in latencies.flatMap({ [$0.median, $0.most] }) { writer.append(mark: latency.bitPattern) }
        }
        writer.append(count: services.count)
        for (name, series) in services.sorted(by: { $0.key < $1.key }) {
            writer.append(run: name)
            writer.append(series) { writer, step in
                for number in [step.hits, step.others, step.errors] { writer.append(mark: number) }
            }
        }
        writer.append(mark: KeptStatistics.checksum(writer.octets))
        return writer.octets
    }

    /// Nil where the bytes are damaged, or of another version.
    init?(_ octets: [UInt8]) {
        let length = octets.count - KeptStatistics.digestLength
        guard length > KeptStatistics.heading.count, octets.starts(with: KeptStatistics.heading) else { return nil }
        let content = Array(octets[..<length])
        var end = OctetReader(Array(octets[length...]))
        guard end.mark() == KeptStatistics.checksum(content) else { return nil }
        var reader = OctetReader(Array(content.dropFirst(KeptStatistics.heading.count)))
        guard let allTime = KeptStatistics.allTime(&reader),
            let day = reader.series(of: History.daySteps, step: KeptStatistics.step),
            let count = reader.count(), count <= History.serviceLimit
        else { return nil }
        var services: [String: History.Series<History.ServiceStep>] = [:]
        for _ in 0..<count {
            guard let name = reader.run().flatMap({ String(validating: $0, as: UTF8.self) }),
                let series = reader.series(of: History.serviceSteps, step: KeptStatistics.serviceStep)
            else { return nil }
            services[name] = series
        }
        guard reader.isAtEnd else { return nil }
        (self.allTime, self.day, self.services) = (allTime, day, services)
    }

    private static func checksum(_ octets: [UInt8]) -> UInt64 {
        ContentDigest(of: octets).prefix
    }

    private static func allTime(_ reader: inout OctetReader) -> AllTime? {
        guard let since = reader.place(), let kinds = reader.count(), kinds < 1_000 else { return nil }
        var allTime = AllTime(since: Timestamp(nanoseconds: since))
        for _ in 0..<kinds {
            guard let name = reader.run(), let number = reader.amount() else { return nil }
            // Another version may have others.
            let kind = LoopCounters.Kind.allCases.first { "\($0)".utf8.elementsEqual(name) }
            if let kind { allTime.totals.kinds[kind.rawValue] = number }
        }
        guard let sent = reader.amount(), let saved = reader.amount() else { return nil }
        (allTime.totals.sent, allTime.totals.saved) = (sent, saved)
        for source in ServiceCounters.Source.allCases {
            // A sum of nanoseconds may be larger than a count.
            guard let sum = reader.mark(), sum < 1 << 62, let buckets = reader.count(), buckets == LatencyScale.buckets
            else { return nil }
            allTime.totals.latencySums[source.rawValue] = sum
            for bucket in 0..<LatencyScale.buckets {
                guard let count = reader.amount() else { return nil }
                allTime.totals.latencies[source.rawValue][bucket] = count
            }
        }
        return allTime
    }

    private static func step(_ reader: inout OctetReader) -> History.Step? {
        var step = History.Step()
        for count in History.Counts.all {
            guard let number = reader.amount() else { return nil }
            step.counts[keyPath: count] = number
        }
        guard let hitMedian = reader.seconds(), let hitMost = reader.seconds(), let loadMedian = reader.seconds(),
            let loadMost = reader.seconds()
        else { return nil }
        step.hitLatency = (hitMedian, hitMost)
        step.loadLatency = (loadMedian, loadMost)
        return step
    }

    private static func serviceStep(_ reader: inout OctetReader) -> History.ServiceStep? {
        guard let hits = reader.amount(), let others = reader.amount(), let errors = reader.amount() else { return nil }
        return History.ServiceStep(hits: hits, others: others, errors: errors)
    }
}

extension OctetWriter {
    fileprivate mutating func append<Step>(
        _ series: History.Series<Step>, _ append: (inout OctetWriter, Step) -> Void
    ) {
        self.append(place: series.last ?? 0)
        self.append(count: series.values.count)
        for step in series.values { append(&self, step) }
    }
}

extension OctetReader {
    /// A count. No count comes near the bound, and sums of smaller counts cannot overflow.
    fileprivate mutating func amount() -> UInt64? { mark().flatMap { $0 < 1 << 53 ? $0 : nil } }

    fileprivate mutating func seconds() -> Double? {
        mark().map(Double.init(bitPattern:)).flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }

    /// A series with the step length and limit of `empty`.
    fileprivate mutating func series<Step>(
        of empty: History.Series<Step>, step: (inout OctetReader) -> Step?
    ) -> History.Series<Step>? {
        guard let last = place(), last < 1 << 40, let count = count(), count <= empty.limit else { return nil }
        var values: [Step] = []
        for _ in 0..<count {
            guard let value = step(&self) else { return nil }
            values.append(value)
        }
        return History.Series(seconds: empty.seconds, limit: empty.limit, last: values.isEmpty ? nil : last, values)
    }
}
