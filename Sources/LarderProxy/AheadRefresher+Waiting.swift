// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores

extension AheadRefresher {
    /// Records a response that a load has stored or confirmed. Called on its loop.
    ///
    /// - Parameter sent: the fields of the client's request.
    func note(
        _ variant: Variant, of resource: Resource, _ service: RoutedService, _ configuration: EffectiveConfiguration,
        sent: Fields, on context: LoopContext
    ) {
        guard let target = AheadTarget(resource, service) else { return }
        let jitter = Double.random(in: 0...1)
        guard case .eligible = target.eligibility(of: variant, sent: sent, configuration),
            let delay = AheadRefresher.delay(
                configuration.refreshAhead, AheadRefresher.standing(variant), jitter, on: context)
        else { return state.withLock { $0.queue.remove(resource.key) } }
        add(
            target, in: delay, vouched: variant.stored.responseTime, uses: resource.memory.hits, jitter, on: context)
    }

    /// Queues a resource, unless it is queued already. It may be in the store alone, or newly observed.
    func consider(_ target: AheadTarget, in delay: Duration, on context: LoopContext) {
        let isKnown = state.withLock { $0.queue.due(target.key) != nil }
        guard !isKnown,
            context.configuration.router.table.hardWiredAnswer(
                toLoadOf: target.subject.uri, of: target.subject.service) == nil
        else { return }
        add(target, in: delay, vouched: nil, uses: 0, Double.random(in: 0...1), on: context)
    }

    func add(
        _ target: AheadTarget, in delay: Duration, vouched: Timestamp?, uses: UInt64, _ jitter: Double,
        on context: LoopContext
    ) {
        let (due, overflow) = context.loop.time.monotonic().addingReportingOverflow(delay.wholeNanoseconds)
        guard !overflow else { return }
        let entry = AheadQueue.Entry(target: target, vouched: vouched, uses: uses, jitter: jitter, due: due)
        state.withLock { $0.queue.add(entry, isWanted: { AheadRefresher.isPopular($0, on: context) }) }
        wake(on: context)
    }

    // MARK: In time

    private func wake(on context: LoopContext) {
        let now = context.loop.time.monotonic()
        let wait = state.withLock { state -> Duration? in
            guard let due = state.queue.nextDue(now: now), state.wakesAt.map({ due < $0 }) ?? true else { return nil }
            state.wakesAt = due
            return .nanoseconds(max(0, due - now))
        }
        guard let wait else { return }
        context.loop.timerHere(after: wait) { [weak context] in
            guard let context, !context.isDraining else { return }
            self.state.withLock { $0.wakesAt = nil }
            self.lookAtDue(on: context)
        }
    }

    private func lookAtDue(on context: LoopContext) {
        let now = context.loop.time.monotonic()
        var skipped = 0
        while skipped < AheadRefresher.skipLimit, let entry = state.withLock({ $0.queue.take(now: now) }) {
            if isForgotten(entry, on: context) {
                state.withLock { $0.queue.skipped(entry) }
                skipped += 1
            } else {
                begin(entry, on: context)
            }
        }
        wake(on: context)
    }

    /// True if the resource can be skipped at once: it has had too few requests since its response arrived.
    private func isForgotten(_ entry: AheadQueue.Entry, on context: LoopContext) -> Bool {
        guard entry.vouched != nil,
            let service = context.configuration.router.table.numbered(entry.target.key.serviceNumber),
            service.configuration(for: entry.target.subject.uri, method: .get).refreshAhead == .popular
        else { return false }
        return !AheadRefresher.isPopular(entry, on: context)
    }

    private static func isPopular(_ entry: AheadQueue.Entry, on context: LoopContext) -> Bool {
        guard let memory = context.registry.resource(for: entry.target.key)?.memory else { return false }
        return AheadRefresher.uses(memory, since: entry) >= RefreshAhead.popularUses
    }

    static func uses(_ memory: ResourceMemory, since entry: AheadQueue.Entry) -> UInt64 {
        let uses = memory.hits
        return uses >= entry.uses ? uses - entry.uses : uses
    }

    private func begin(_ entry: AheadQueue.Entry, on context: LoopContext) {
        context.spawn {
            let timer = context.loop.timerHere(after: AheadRefresher.patience) {
                self.state.withLock { $0.queue.noteLate(entry) }
                self.wake(on: context)
            }
            await context.proxy.work.lookAhead(entry, context)
            let wasLate = !timer.isArmed
            timer.cancel()
            self.state.withLock { $0.queue.finished(entry, wasLate: wasLate) }
            self.wake(on: context)
        }
    }

    // MARK: Deciding

    static func standing(
        _ variant: Variant, isObserved: Bool = true, uses: UInt64 = .max
    ) -> RefreshAhead.Standing {
        let facts = variant.stored.facts
        return RefreshAhead.Standing(
            responseTime: facts.responseTime, freshUntil: facts.validatesAlways ? facts.responseTime : facts.freshUntil,
            isObserved: isObserved, uses: uses)
    }

    /// How long until the origin is asked; zero for now, nil for not at all.
    static func delay(
        _ ahead: RefreshAhead, _ standing: RefreshAhead.Standing, _ jitter: Double, on context: LoopContext
    ) -> Duration? {
        let now = context.now()
        switch ahead.decide(standing, now: now, jitter: jitter, offset: ahead.isDaily ? LocalTime.offset(at: now) : 0) {
        case .drop: return nil
        case .refresh: return .zero
        case .wait(let until): return max(until - now, .milliseconds(1))
        }
    }

    // MARK: Resources not loaded since the start

    /// Queues the stored responses of services with a schedule.
    func considerStored(on context: LoopContext) async {
        guard let store = context.diskTier?.store else { return }
        for service in context.configuration.router.table.all where service.hasSchedule {
            var row: Int64?
            var left = AheadQueue.limit
            while left > 0 {
                let match = EntityMatch(service: service.name, partition: "", stage: DiskTier.stage)
                guard let slice = try? await store.list(after: row, limit: 500, where: match) else { break }
                for entry in slice { consider(entry, of: service, on: context) }
                left -= slice.count
                guard slice.count == 500 else { break }
                row = slice.last?.row
            }
        }
    }

    private func consider(_ entry: EntityListing, of service: RoutedService, on context: LoopContext) {
        guard ContentMark.split(entry.key.url).1 == nil, let uri = try? TargetURI(entry.key.url) else { return }
        let target = AheadTarget(uri, service)
        let ahead = service.configuration(for: uri, method: .get).refreshAhead
        guard target.key.url == entry.key.url, ahead.isScheduled else { return }
        let standing = RefreshAhead.Standing(responseTime: entry.responseTime, freshUntil: entry.responseTime)
        guard let delay = AheadRefresher.delay(ahead, standing, Double.random(in: 0...1), on: context) else { return }
        consider(target, in: delay, on: context)
    }
}
