// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import Logging

extension ChangeNotifier {
    /// Records a response that a load brought. Called on its loop.
    func note(_ loaded: Loaded, on context: LoopContext) {
        let isFirst = state.withLock { state in
            guard state.loaded.count < ChangeNotifier.loadedLimit else {
                state.counts.dropped += 1
                return false
            }
            state.loaded.append(loaded)
            defer { state.isComparing = true }
            return !state.isComparing
        }
        if isFirst { context.spawn { await self.compareAll(on: context) } }
    }

    // MARK: Comparing

    private func compareAll(on context: LoopContext) async {
        while let loaded = next() {
            guard let change = await compare(loaded, on: context) else { continue }
            let lost = state.withLock {
                $0.queue.note(change, loaded.rule, now: context.loop.time.monotonic())
            }
            if lost > 0 { state.withLock { $0.counts.dropped += UInt64(lost) } }
            wake(on: context)
        }
    }

    private func next() -> Loaded? {
        state.withLock { state in
            guard !state.loaded.isEmpty else {
                state.isComparing = false
                return nil
            }
            return state.loaded.removeFirst()
        }
    }

    /// Nil if the content has not changed, or no earlier content is known.
    private func compare(_ loaded: Loaded, on context: LoopContext) async -> ContentChange? {
        let key = loaded.key
        let known = state.withLock { $0.digests[key] }
        guard let content = await content(of: loaded, on: context), let new = await digest(of: content) else {
            return nil
        }
        var old = known?.digest
        if let predecessor = loaded.predecessor, predecessor.storedAt != known?.storedAt {
            old = await digest(of: predecessor.content) ?? old
        }
        state.withLock { $0.digests.set(.init(digest: new, storedAt: loaded.stored.responseTime), for: key) }
        guard let old, old != new else { return nil }
        return ContentChange(
            url: loaded.resource.key.url, service: loaded.service.name, status: loaded.stored.status,
            at: loaded.stored.responseTime, oldDigest: old, newDigest: new)
    }

    private func content(of loaded: Loaded, on context: LoopContext) async -> VariantContent? {
        if let variant = loaded.variant { return variant.content }
        let found = try? await context.diskTier?.variants(
            of: loaded.resource, service: loaded.service, loaded.configuration)
        return found?.first {
            $0.stored.variance == loaded.stored.variance && $0.storedAt == loaded.stored.responseTime
        }?.content
    }

    /// Nil when the content cannot be read.
    private func digest(of content: VariantContent) async -> String? {
        guard let cursor = try? await ContentCursor.open(content) else { return nil }
        let pool = state.withLock { state -> WorkerPool in
            if let pool = state.hashers { return pool }
            let pool = WorkerPool(name: "larder-changes", threads: 1, queueLimit: 4)
            state.hashers = pool
            return pool
        }
        // Confined to one job at a time: each job is awaited before the next job starts.
        let hashing = Confined(ContentDigest.Hashing())
        var offset: Int64 = 0
        while offset < cursor.length {
            guard let chunks = try? await cursor.read(at: offset, count: 256 << 10) else { return nil }
            offset += chunks.reduce(0) { $0 + Int64($1.count) }
            do {
                try await pool.run { for chunk in chunks { chunk.withBytes { hashing.value.update($0) } } }
            } catch {
                return nil
            }
        }
        return hashing.value.finish().hexadecimal
    }

    // MARK: Telling

    /// Sees to it that what is due is told.
    private func wake(on context: LoopContext) {
        let now = context.loop.time.monotonic()
        let wait = state.withLock { state -> Duration? in
            guard let due = state.queue.nextDue, state.wakesAt.map({ due < $0 }) ?? true else { return nil }
            state.wakesAt = due
            return .nanoseconds(max(0, due - now))
        }
        guard let wait else { return }
        context.loop.timerHere(after: wait) { [weak context] in
            guard let context else { return }
            self.tell(on: context)
        }
    }

    private func tell(on context: LoopContext) {
        let deliveries = state.withLock { state in
            state.wakesAt = nil
            return state.queue.take(now: context.loop.time.monotonic())
        }
        for delivery in deliveries { context.spawn { await self.tell(delivery, on: context) } }
        wake(on: context)
    }

    private func tell(_ delivery: ChangeQueue.Delivery, on context: LoopContext) async {
        var failure: String?
        do {
            switch delivery.job.listener {
            case .program(let command): try await ChangeDelivery.run(command, delivery.change, on: runners)
            case .webhook(let url): try await ChangeDelivery.post(delivery.change, to: url, from: context)
            }
        } catch {
            failure = "\(error)"
        }
        let listener = delivery.job.listener
        let isNew = state.withLock { state in
            let now = context.loop.time.monotonic()
            switch state.queue.finished(delivery, isTold: failure == nil, now: now) {
            case .told: state.counts.told += 1
            case .givenUp: state.counts.failed += 1
            case .willBeRepeated: break
            }
            guard failure != nil else {
                state.failing.remove(listener)
                return false
            }
            // The table stays as short as the configuration is.
            if state.failing.count > ChangeQueue.limit { state.failing = [] }
            return state.failing.insert(listener).inserted
        }
        if let failure, isNew {
            context.proxy.logger.warning(
                "a change could not be told; further failures are not logged until one can",
                metadata: [
                    "url": "\(SecretText.logged(url: delivery.change.url))",
                    "listener": "\(ChangeDelivery.name(of: listener))", "error": "\(failure)",
                ])
        }
        wake(on: context)
    }

    private var runners: WorkerPool {
        state.withLock { state in
            if let pool = state.runners { return pool }
            let pool = WorkerPool(
                name: "larder-onchange", threads: ChangeQueue.concurrency, queueLimit: ChangeQueue.concurrency)
            state.runners = pool
            return pool
        }
    }
}
