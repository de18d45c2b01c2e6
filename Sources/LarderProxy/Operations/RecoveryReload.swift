// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream
import Logging

/// Loads what is watched and in error when its origin works again, where the configuration says so (B-28).
///
/// A few at a time, each once: an origin that has just come back is not met by everything at once, and one that fails
/// again is not asked for the rest. Where nobody else asks an origin that is left alone, one of them finds out whether
/// it works again, no more often than a client's request would.
final class RecoveryReload: Sendable {
    private struct State {
        weak var proxy: Proxy?
        /// What is to be loaded.
        var waiting: [ResourceSubject] = []
        /// How many loads are under way.
        var lanes = 0
        /// Whether somebody looks after origins that are left alone.
        var isLooking = false
    }

    private let state = Lock(State())
    static let laneLimit = 4
    /// How many wait at a time; clients load the rest.
    static let waitingLimit = 1_000
    /// How often it is looked whether an origin may be asked again.
    private static let interval = Duration.seconds(1)

    func attach(to proxy: Proxy) { state.withLock { $0.proxy = proxy } }

    /// Takes note of what became of an origin. Nothing is looked up on the caller's time.
    func heard(_ event: OriginWatch.Event) {
        guard let proxy = state.withLock({ $0.proxy }), proxy.phase == .serving else { return }
        switch event {
        case .recovered, .networkBack:
            try? proxy.anyContext().execute { [weak proxy] context in
                if let proxy { self.begin(with: proxy.watchedInError, on: context, proxy) }
            }
        case .stopped, .networkLost:
            let isFirst = state.withLock { state in
                defer { state.isLooking = true }
                return !state.isLooking
            }
            if isFirst { try? proxy.anyContext().execute { self.lookLater(on: $0) } }
        case .paused: break
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

    /// Sends one request to each origin that is left alone and may be asked again, if something of it is watched and
    /// in error. Who waits for none of them looks no more.
    private func look(on context: LoopContext) {
        guard let proxy = state.withLock({ $0.proxy }), proxy.phase == .serving, proxy.hasOriginsOutOfReach else {
            return state.withLock { $0.isLooking = false }
        }
        var asked: Set<String> = []
        for subject in proxy.watchedInError
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
                metadata: ["url": "\(subject.uri)", "error": "\(error)"])
        }
    }
}

extension Proxy {
    /// Whether an origin's circuit is not closed, or no origin can be reached.
    var hasOriginsOutOfReach: Bool {
        origins.isNetworkLost || originReports().contains { $0.state == .open || $0.state == .halfOpen }
    }

    /// The single resources that someone watches, whose last load failed, and which are to be loaded again for that.
    var watchedInError: [ResourceSubject] {
        let table = configuration.router.table
        return events.watched.compactMap { subject in
            // The service as it is today.
            let current = subject.service.base == nil ? table.unclaimed : table.named(subject.service.name)
            guard let service = current, let resource = registry.resource(for: subject.key(in: .shared)),
                service.configuration(for: resource).frozen.configuration.reloadsOnRecovery,
                resource.memory.isInError
            else { return nil }
            return ResourceSubject(
                service: service, way: subject.way, uri: subject.uri, spelling: subject.spelling,
                content: subject.content)
        }
    }
}

extension ResourceMemory {
    /// Whether the last load brought no answer, or one that says that it is none.
    fileprivate var isInError: Bool {
        let snapshot = snapshot
        if snapshot.failure != nil { return true }
        if let unstored { return unstored.status.isError }
        return snapshot.variants.first?.stored.status.isError ?? false
    }
}
