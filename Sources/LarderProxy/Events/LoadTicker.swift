// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO

/// Tells how far the loads of one loop have come, as long as anybody listens (model: PG-03). Confined to its loop.
///
/// A load that ends before its first interval is over tells nothing; one that lasts tells what has changed, and at the
/// end 1, which its Resource sees to. While nobody listens there is no timer and a load costs a place in a list.
final class LoadTicker {
    private struct Entry {
        let load: Load
        let beganAt: Int64
        /// Made when it is looked at first.
        var told: Told?
    }

    private struct Told {
        var estimate = ProgressEstimate(isGet: true)
        let interval: Int64
        var dueAt: Int64
        var fraction = 0.0

        init(_ entry: Entry) {
            let wanted = entry.load.configuration.frozen.configuration.progressReportingInterval
            interval = max(LoadTicker.interval, wanted).wholeNanoseconds
            dueAt = entry.beganAt + interval
            _ = estimate.update(TransferProgress.Counters(), at: Double(entry.beganAt) / 1e9)
        }
    }

    private let loop: EventLoop
    private let feed: ChangeFeed
    /// In no order: a load knows its place.
    private var entries: [Entry] = []
    private var timer: Timer?

    /// How often it is looked, and so the shortest interval.
    static let interval = Duration.milliseconds(500)
    /// How many loads tell something each time; those that have waited longest come first.
    static let limit = 64
    /// A smaller change is not worth telling.
    private static let threshold = 0.005

    init(loop: EventLoop, feed: ChangeFeed) {
        self.loop = loop
        self.feed = feed
    }

    /// A load begins; `end` must follow.
    func begin(_ load: Load) {
        load.place = entries.count
        entries.append(Entry(load: load, beganAt: loop.monotonicHere()))
        wake()
    }

    func end(_ load: Load) {
        guard let place = load.place else { return }
        load.place = nil
        let last = entries.removeLast()
        guard last.load !== load else { return }
        entries[place] = last
        last.load.place = place
    }

    /// Has all loads cancelled that are under way.
    func cancelAll() { entries.forEach { $0.load.flight.cancel() } }

    /// Begins to look, if there is anything to look at and anybody to tell.
    func wake() {
        guard timer == nil, !entries.isEmpty, feed.isHeard else { return }
        timer = loop.timerHere(after: LoadTicker.interval) { [weak self] in
            guard let self else { return }
            timer = nil
            tick()
            wake()
        }
    }

    private func tick() {
        guard feed.isHeard else { return }
        let now = loop.time.monotonic()
        var due = entries.map { ($0.load, told: $0.told ?? Told($0)) }.filter { $0.told.dueAt <= now }
        if due.count > LoadTicker.limit {
            due.sort { $0.told.dueAt < $1.told.dueAt }
            due.removeLast(due.count - LoadTicker.limit)
        }
        for (load, var told) in due {
            // 1 is told when it is over.
            let fraction = min(told.estimate.update(load.flight.transferred, at: Double(now) / 1e9), 0.999)
            told.dueAt = now + told.interval
            if fraction - told.fraction >= LoadTicker.threshold {
                told.fraction = fraction
                load.resource.memory.tellProgress(of: load.flight, fraction)
            }
            if let place = load.place { entries[place].told = told }
        }
    }
}
