// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
package import LarderProxy

/// The last quarter of an hour and the last day, in steps, as drawn by the dashboard, and the counts of all runs of the
/// daemon.
///
/// Bounded: 180 steps of 5 s, 288 of 5 min, and for each of at most 200 services 96 of 15 min; about 700 KiB in all.
package final class History: Sendable {
    struct Counts: Sendable {
        var hits: UInt64 = 0
        var misses: UInt64 = 0
        /// How many of the misses passed by the cache, and are no part of a hit ratio.
        var passes: UInt64 = 0
        var errors: UInt64 = 0
        var saved: UInt64 = 0
        var received: UInt64 = 0

        static let all: [any WritableKeyPath<Counts, UInt64> & Sendable] = [
            \.hits, \.misses, \.passes, \.errors, \.saved, \.received,
        ]

        static func - (a: Counts, b: Counts) -> Counts {
            all.reduce(into: a) { $0[keyPath: $1] &-= b[keyPath: $1] }
        }

        static func += (a: inout Counts, b: Counts) { for count in all { a[keyPath: count] += b[keyPath: count] } }
    }

    /// The events of one step.
    struct Step: Sendable {
        var counts = Counts()
        /// Latencies in seconds: the median and the 99th percentile, of responses from the cache and of others.
        var hitLatency = (median: 0.0, most: 0.0)
        var loadLatency = (median: 0.0, most: 0.0)
    }

    /// Steps of one length, the oldest first.
    struct Series<Value: Sendable>: Sendable {
        let seconds: Int64
        let limit: Int
        /// The step of the last value: its number since 1970.
        private(set) var last: Int64?
        private(set) var values: [Value] = []

        init(seconds: Int64, limit: Int, last: Int64? = nil, _ values: [Value] = []) {
            self.seconds = seconds
            self.limit = limit
            self.last = last
            self.values = values
        }

        /// Sets the value of the step at `now`; skipped steps become `blank`.
        mutating func put(at now: Timestamp, blank: Value, _ change: (inout Value) -> Void) {
            let number = now.seconds / seconds
            // The steps that were ahead of a clock that was set back are forgotten: a day would pass without new ones.
            if let last, last - number > 1 {
                values.removeLast(Int(min(Int64(values.count), last - number)))
                self.last = values.isEmpty ? nil : number
            }
            if let last, number > last {
                for _ in 0..<min(Int64(limit), number - last) { values.append(blank) }
            } else if last == nil {
                values.append(blank)
            }
            // If it was set back a little, the last step is changed.
            last = max(number, last ?? number)
            if values.count > limit { values.removeFirst(values.count - limit) }
            if let end = values.indices.last { change(&values[end]) }
        }

        /// The start of the first step.
        var beginning: Int64 { ((last ?? 0) - Int64(values.count) + 1) * seconds }
    }

    /// Counters at a moment.
    fileprivate struct Mark: Sendable {
        var counts = Counts()
        var hitLatencies = [UInt64](repeating: 0, count: LatencyScale.buckets)
        var loadLatencies = [UInt64](repeating: 0, count: LatencyScale.buckets)

        static func - (a: Mark, b: Mark) -> Mark {
            func less(_ a: [UInt64], _ b: [UInt64]) -> [UInt64] { zip(a, b).map { $0 >= $1 ? $0 - $1 : 0 } }
            var rest = Mark()
            rest.counts = a.counts - b.counts
            rest.hitLatencies = less(a.hitLatencies, b.hitLatencies)
            rest.loadLatencies = less(a.loadLatencies, b.loadLatencies)
            return rest
        }
    }

    /// The events of one service in one step.
    struct ServiceStep: Sendable {
        var hits: UInt64 = 0
        var others: UInt64 = 0
        var errors: UInt64 = 0
    }

    struct State: Sendable {
        var recent = Series<Step>(seconds: 5, limit: 180)
        var day = History.daySteps
        var services: [String: Series<ServiceStep>] = [:]
        fileprivate var mark = Mark()
        /// The counters at the start of the running step of `day`. Its latencies are the latencies of the whole step.
        fileprivate var dayMark = Mark()
        fileprivate var dayStep: Int64 = 0
        fileprivate var serviceMarks: [String: ServiceStep] = [:]

        /// Adds the events of services since the last call. Former services stay until their place is needed.
        mutating func add(_ totals: [String: ServiceStep], at now: Timestamp, isConfigured: (String) -> Bool) {
            if services.count >= serviceLimit { services = services.filter { isConfigured($0.key) } }
            for (name, total) in totals {
                let before = serviceMarks.updateValue(total, forKey: name) ?? ServiceStep()
                guard services[name] != nil || services.count < serviceLimit && isConfigured(name) else { continue }
                services[name, default: History.serviceSteps].put(at: now, blank: ServiceStep()) { step in
                    step.hits += total.hits &- before.hits
                    step.others += total.others &- before.others
                    step.errors += total.errors &- before.errors
                }
            }
        }
    }

    private let state: Lock<State>
    /// The counts of earlier runs; nil where statistics are not kept.
    private let former: KeptStatistics.AllTime?

    static let serviceLimit = 200
    static let daySteps = Series<Step>(seconds: 300, limit: 288)
    static let serviceSteps = Series<ServiceStep>(seconds: 900, limit: 96)
    /// How often `sample` is to be called.
    package static let interval = Duration.seconds(5)

    package convenience init() { self.init(continuing: nil) }

    /// - Parameter kept: the statistics of earlier runs; nil where statistics are not kept.
    init(continuing kept: KeptStatistics?) {
        var state = State()
        if let kept { (state.day, state.services) = (kept.day, kept.services) }
        self.state = Lock(state)
        former = kept?.allTime
    }

    /// The counts of all runs; nil where statistics are not kept.
    func allTime(_ proxy: Proxy) -> KeptStatistics.AllTime? {
        guard var allTime = former else { return nil }
        func add(_ more: [UInt64], to counts: inout [UInt64]) { counts = zip(counts, more).map { $0 &+ $1 } }
        add(LoopCounters.Kind.allCases.map { proxy.total($0) }, to: &allTime.totals.kinds)
        for service in proxy.serviceTotals().values {
            allTime.totals.sent &+= service.sent
            allTime.totals.saved &+= service.saved
            add(service.latencySums, to: &allTime.totals.latencySums)
            for source in ServiceCounters.Source.allCases {
                add(service.latencies(source), to: &allTime.totals.latencies[source.rawValue])
            }
        }
        return allTime
    }

    /// The statistics for the next run; nil where they are not kept.
    func kept(_ proxy: Proxy) -> KeptStatistics? {
        sample(proxy)
        let steps = steps
        return allTime(proxy).map { KeptStatistics(allTime: $0, day: steps.day, services: steps.services) }
    }

    var steps: State { state.withLock { $0 } }

    /// Adds the events since the last call.
    package func sample(_ proxy: Proxy) {
        let now = proxy.now
        let totals = proxy.serviceTotals()
        let mark = History.mark(proxy, totals)
        let table = proxy.configuration.router.table
        let steps = totals.mapValues {
            ServiceStep(hits: $0.served, others: $0.count(.miss) + $0.count(.pass), errors: $0.count(.error))
        }
        state.withLock { state in
            let change = mark - state.mark
            state.recent.put(at: now, blank: Step()) { History.add(change, to: &$0, latencies: change) }
            if now.seconds / state.day.seconds != state.dayStep {
                state.dayStep = now.seconds / state.day.seconds
                state.dayMark = state.mark
            }
            let since = mark - state.dayMark
            state.day.put(at: now, blank: Step()) { History.add(change, to: &$0, latencies: since) }
            state.mark = mark
            state.add(steps, at: now) { $0 == "-" || table.named($0) != nil }
        }
    }

    private static func mark(_ proxy: Proxy, _ services: [String: ServiceCounters.Totals]) -> Mark {
        var mark = Mark()
        mark.counts.hits = [.hit, .stale, .validated, .collapsed].reduce(0) { $0 + proxy.total($1) }
        mark.counts.passes = proxy.total(.pass)
        mark.counts.misses = proxy.total(.miss) + mark.counts.passes
        mark.counts.errors = proxy.total(.error)
        mark.counts.saved = proxy.total(.saved)
        mark.counts.received = proxy.total(.received)
        for total in services.values {
            for (bucket, count) in total.latencies(.cache).enumerated() { mark.hitLatencies[bucket] += count }
            for (bucket, count) in total.latencies(.origin).enumerated() { mark.loadLatencies[bucket] += count }
        }
        return mark
    }

    private static func add(_ change: Mark, to step: inout Step, latencies: Mark) {
        step.counts += change.counts
        step.hitLatency = quantiles(latencies.hitLatencies)
        step.loadLatency = quantiles(latencies.loadLatencies)
    }

    private static func quantiles(_ counts: [UInt64]) -> (median: Double, most: Double) {
        (LatencyScale.quantile(0.5, of: counts), LatencyScale.quantile(0.99, of: counts))
    }
}
