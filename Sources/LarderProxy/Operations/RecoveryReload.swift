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
/// again is not asked for the rest.
final class RecoveryReload: Sendable {
    private struct State {
        weak var proxy: Proxy?
        /// What is to be loaded.
        var waiting: [ResourceSubject] = []
        /// How many loads are under way.
        var lanes = 0
    }

    private let state = Lock(State())
    static let laneLimit = 4
    /// How many wait at a time; clients load the rest.
    static let waitingLimit = 1_000

    func attach(to proxy: Proxy) { state.withLock { $0.proxy = proxy } }

    /// Takes note of what became of an origin. Nothing is looked up on the caller's time.
    func heard(_ event: OriginWatch.Event) {
        switch event {
        case .recovered, .networkBack: break
        case .stopped, .paused, .networkLost: return
        }
        guard let proxy = state.withLock({ $0.proxy }), proxy.phase == .serving else { return }
        try? proxy.anyContext().execute { [weak proxy] context in
            if let proxy { self.begin(with: proxy.watchedInError, on: context, proxy) }
        }
    }

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
                    guard let proxy else { continue }
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
        guard !proxy.isOutOfReach(subject.uri, subject.service) else { return }
        do {
            _ = try await proxy.load(
                subject, fields: Fields(), onlyIfNeeded: true, despiteFailure: true, from: .machine)
        } catch {
            proxy.logger.debug(
                "a resource could not be loaded although its origin works again",
                metadata: ["url": "\(subject.uri)", "error": "\(error)"])
        }
    }
}

extension Proxy {
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
