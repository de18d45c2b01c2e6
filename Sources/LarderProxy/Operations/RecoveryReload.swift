// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream
import Logging

/// Reloads watched resources in error when their origin has recovered, where configured (B-28).
///
/// Loads a few resources at a time, each once: a recovered origin must not get all requests at once, and an origin that
/// fails again gets no further requests. If an origin in backoff gets no other requests, one of the resources probes
/// it, no more often than a client's request would.
final class RecoveryReload: Sendable {
    private struct State {
        weak var proxy: Proxy?
        /// The resources to load.
        var waiting: [ResourceSubject] = []
        /// The number of loads under way.
        var lanes = 0
        /// True if origins in backoff are being probed.
        var isLooking = false
    }

    private let state = Lock(State())
    static let laneLimit = 4
    /// The most waiting resources; clients load the rest.
    static let waitingLimit = 1_000
    /// How often origins are checked for a due probe.
    private static let interval = Duration.seconds(1)

    func attach(to proxy: Proxy) { state.withLock { $0.proxy = proxy } }

    /// Records an event of an origin. Look-ups run later, on a loop.
    func heard(_ event: OriginWatch.Event) {
        guard let proxy = state.withLock({ $0.proxy }), proxy.phase == .serving else { return }
        switch event {
        case .recovered, .networkBack:
            try? proxy.anyContext().execute { [weak proxy] context in
                if let proxy { self.begin(with: proxy.watchedInError, on: context, proxy) }
            }
        case .stopped, .networkLost:
            if beginsLooking() { try? proxy.anyContext().execute { self.lookLater(on: $0) } }
        case .paused: break
        }
    }

    /// False where somebody is looking already.
    private func beginsLooking() -> Bool {
        state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
    }

    // MARK: Finding out

    private func lookLater(on context: LoopContext) {
        context.loop.execute { loop in
            loop.timer(after: RecoveryReload.interval) {
                guard let proxy = self.state.withLock({ $0.proxy }) else { return }
                try? proxy.anyContext().execute { self.look(on: $0) }
            }
        }
    }

    /// Sends one request to each origin in backoff with a due probe, if one of its resources is watched and in error.
    /// Ends when no resource waits for an origin.
    private func look(on context: LoopContext) {
        // Before the origins are looked at: an event that comes after that begins anew.
        state.withLock { $0.isLooking = false }
        guard let proxy = state.withLock({ $0.proxy }), proxy.phase == .serving, proxy.hasOriginsOutOfReach,
            beginsLooking()
        else { return }
        var asked: Set<String> = []
        // The order is random: a resource that is never answered must not be requested every time.
        for subject in proxy.watchedInError.shuffled()
        where proxy.isOutOfReach(subject.uri, subject.service) && !asked.contains(subject.uri.origin)
            && proxy.isProbeDue(subject.uri, subject.service)
        {
            asked.insert(subject.uri.origin)
            context.spawn { [weak proxy] in
                if let proxy { await self.load(subject, proxy) }
            }
        }
        lookLater(on: context)
    }

    // MARK: Loading

    private func begin(with found: [ResourceSubject], on context: LoopContext, _ proxy: Proxy) {
        let lanes = state.withLock { state in
            let known = Set(state.waiting.map(\.url))
            let room = RecoveryReload.waitingLimit - state.waiting.count
            state.waiting += found.filter { !known.contains($0.url) }.prefix(room)
            let more = max(0, min(RecoveryReload.laneLimit - state.lanes, state.waiting.count))
            state.lanes += more
            return more
        }
        for _ in 0..<lanes {
            context.spawn { [weak proxy] in
                while let subject = self.next() {
                    guard let proxy, !proxy.isOutOfReach(subject.uri, subject.service) else { continue }
                    await self.load(subject, proxy)
                }
            }
        }
    }

    /// The next one; nil ends a lane.
    private func next() -> ResourceSubject? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.lanes -= 1
                return nil
            }
            return state.waiting.removeFirst()
        }
    }

    private func load(_ subject: ResourceSubject, _ proxy: Proxy) async {
        do {
            _ = try await proxy.load(
                subject, fields: Fields(), onlyIfNeeded: true, despiteFailure: true, from: .machine)
        } catch {
            proxy.logger.debug(
                "a resource that is watched could not be loaded again",
                metadata: ["url": "\(SecretText.logged(url: subject.uri.string))", "error": "\(error)"])
        }
    }
}

extension Proxy {
    /// True if an origin's circuit is not closed, or no origin can be reached.
    var hasOriginsOutOfReach: Bool {
        origins.isNetworkLost || originReports().contains { $0.state == .open || $0.state == .halfOpen }
    }

    /// The individually watched resources whose last load failed, and for which a reload is configured.
    var watchedInError: [ResourceSubject] {
        let table = configuration.router.table
        return events.watched.compactMap { subject in
            // The service in its current configuration.
            let current = subject.service.base == nil ? table.unclaimed : table.named(subject.service.name)
            guard let service = current, let resource = registry.resource(for: subject.key(in: .shared)),
                service.configuration(for: resource).frozen.configuration.reloadOnRecovery,
                resource.memory.isInError
            else { return nil }
            return ResourceSubject(
                service: service, form: subject.form, uri: subject.uri, spelling: subject.spelling,
                content: subject.content)
        }
    }
}

extension ResourceMemory {
    /// True if the last load brought no response, or an error.
    fileprivate var isInError: Bool {
        let snapshot = snapshot
        if snapshot.failure != nil { return true }
        if let unstored { return unstored.status.isError }
        return snapshot.variants.first?.stored.status.isError ?? false
    }
}
