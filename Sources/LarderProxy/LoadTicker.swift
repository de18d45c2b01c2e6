// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderIO

/// A load as its loop knows it.
class LoopLoad {
    final let resource: Resource
    final let configuration: EffectiveConfiguration
    /// Its index among the loads of its loop; nil before it begins and after its end.
    final var place: Int?

    init(_ resource: Resource, _ configuration: EffectiveConfiguration) {
        self.resource = resource
        self.configuration = configuration
    }
}

/// Reports the progress of one loop's loads while there are observers (model: PG-03). Observers over the network
/// observe all Resources, and a program observes its own Resources. Confined to its loop.
///
/// Loads shorter than one interval report nothing; longer ones report changes, and their Resource reports 1 at the end.
/// Without observers there is no timer, and a load costs a list entry.
final class LoadTicker {
    private struct Entry {
        let load: LoopLoad
        let listed: ActiveLoad
        let beganAt: Int64
        /// True if a program looks at its Resource.
        let isFollowed: Bool
        /// Set at the first tick.
        var told: Told?
    }

    private struct Told {
        var estimate = ProgressEstimate(isGet: true)
        let interval: Duration
        var dueAt: Int64
        var fraction = 0.0

        init(_ entry: Entry) {
            let wanted = entry.load.configuration.frozen.configuration.progressReportingInterval
            interval = max(entry.isFollowed ? LoadTicker.programInterval : LoadTicker.interval, wanted)
            dueAt = entry.beganAt.advanced(by: interval)
            _ = estimate.update(TransferProgress.Counters(), at: Double(entry.beganAt) / 1e9)
        }
    }

    private let loop: EventLoop
    private let feed: ChangeFeed
    /// Unordered: a load knows its index.
    private var entries: [Entry] = []
    private var followed = 0
    private var timer: Timer?

    /// The interval of the timer, and so the shortest between reports.
    static let interval = Duration.milliseconds(500)
    /// The interval of the timer while a program observes the Resource of a load.
    static let programInterval = Duration.milliseconds(50)
    /// The most loads that report at each tick; the loads that have waited longest come first.
    static let limit = 64
    /// Smaller changes are not reported.
    private static let threshold = 0.005

    init(loop: EventLoop, feed: ChangeFeed) {
        self.loop = loop
        self.feed = feed
    }

    /// A load begins; `end` must follow.
    func begin(_ load: LoopLoad, _ listed: ActiveLoad) {
        load.place = entries.count
        let isFollowed = load.resource.memory.isFollowed
        if isFollowed { followed += 1 }
        entries.append(Entry(load: load, listed: listed, beganAt: loop.monotonicHere(), isFollowed: isFollowed))
        wake()
    }

    func end(_ load: LoopLoad) {
        guard let place = load.place else { return }
        load.place = nil
        if entries[place].isFollowed { followed -= 1 }
        let last = entries.removeLast()
        guard last.load !== load else { return }
        entries[place] = last
        last.load.place = place
    }

    /// Cancels all loads under way.
    func cancelAll() { entries.forEach { $0.listed.cancel() } }

    /// Starts the timer, if there are loads and observers.
    func wake() {
        guard timer == nil, !entries.isEmpty, hasListeners else { return }
        timer = loop.timerHere(after: followed > 0 ? LoadTicker.programInterval : LoadTicker.interval) {
            [weak self] in
            guard let self else { return }
            timer = nil
            tick()
            wake()
        }
    }

    private var hasListeners: Bool { feed.isHeard || followed > 0 }

    private func tick() {
        guard hasListeners else { return }
        let now = loop.time.monotonic()
        var due = entries.map { ($0.load, $0.listed, told: $0.told ?? Told($0)) }.filter { $0.told.dueAt <= now }
        if due.count > LoadTicker.limit {
            due.sort { $0.told.dueAt < $1.told.dueAt }
            due.removeLast(due.count - LoadTicker.limit)
        }
        for (load, listed, var told) in due {
            // 1 is reported at the end.
            let fraction = min(told.estimate.update(listed.transferred, at: Double(now) / 1e9), 0.999)
            told.dueAt = now.advanced(by: told.interval)
            if fraction - told.fraction >= LoadTicker.threshold {
                told.fraction = fraction
                load.resource.memory.tellProgress(of: listed, fraction)
            }
            if let place = load.place { entries[place].told = told }
        }
    }
}
