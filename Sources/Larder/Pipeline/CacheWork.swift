// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderRules

/// Runs the operations on entity caches: serially for one entry, in the order they were requested; concurrently for
/// different entries. Nothing waits for writes.
final class CacheWork: Sendable {
    private struct Tail {
        let number: UInt64
        let task: Task<Void, Never>
        /// The number of the last change up to this one.
        let lastChange: UInt64
    }

    /// Changes of an entry that those after them did not wait for any longer, and that have not ended.
    private struct Overdue {
        var count = 0
        /// True if there are changes that were requested later.
        var isFollowed = false
    }

    private struct State {
        var tails: [CacheEntry.ID: Tail] = [:]
        var overdue: [CacheEntry.ID: Overdue] = [:]
        /// Operations that concern more than one entry.
        var others: [UInt64: Task<Void, Never>] = [:]
        var lastNumber: UInt64 = 0
        /// Writes of a daemon that are not done yet, and their bytes.
        var pendingWrites = 0
        var pendingOctets = 0
    }

    /// More writes of a daemon than these do not wait: caches may be slower than clients.
    static let pendingLimit = (writes: 1024, octets: 64 << 20)

    /// How long one operation may take. Then those after it do not wait for it any more, and a read is a miss. After a
    /// change all reads are, until it has ended; if other changes have been requested by then, the entity is removed, as
    /// it may be an earlier one.
    static let patience = Duration.seconds(5)

    private let state = Lock(State())
    private let clock: any ModelClock

    init(clock: any ModelClock) { self.clock = clock }

    /// - Parameter clock: measures how long it may take.
    func read(_ entry: CacheEntry, clock: any ModelClock, log: ModelLog) async -> AnyEntity? {
        let result = Lock<AnyEntity?>(nil)
        await enqueue(entry.id, clock: clock) {
            guard self.state.withLock({ $0.overdue[entry.id] == nil }) else { return }
            await CacheWork.attempt(entry, "reading", log) {
                let entity = try await entry.read()
                result.withLock { $0 = entity }
            }
        }.value
        return result.withLock { $0 }
    }

    func write(_ entity: AnyEntity, to entry: CacheEntry, log: ModelLog) {
        change(entry, log) {
            do {
                let isWritten = try await entry.write(entity)
                if !isWritten {
                    log(.cache, "the cache at \(entry.stage) does not keep \(type(of: entity.content as Any))")
                }
            } catch {
                await CacheWork.forget(entry, after: error, log: log)
            }
        }
    }

    /// Writes what `make` returns, unless too much waits to be written already.
    func write(
        octets: Int, to entry: CacheEntry, log: ModelLog, _ make: @escaping @Sendable () -> AnyEntity
    ) {
        let isTaken = state.withLock { state in
            guard state.pendingWrites < CacheWork.pendingLimit.writes,
                state.pendingOctets + octets <= CacheWork.pendingLimit.octets
            else { return false }
            state.pendingWrites += 1
            state.pendingOctets += octets
            return true
        }
        guard isTaken else { return log(.cache, "the cache at \(entry.stage) is too slow: something was not written") }
        change(entry, log) {
            do {
                // Content of another type than the cache's is meant for another stage or none.
                _ = try await entry.write(make())
            } catch {
                await CacheWork.forget(entry, after: error, log: log)
            }
            self.state.withLock { state in
                state.pendingWrites -= 1
                state.pendingOctets -= octets
            }
        }
    }

    /// Removes what was there before a write that failed: it is not the latest any more.
    private static func forget(_ entry: CacheEntry, after error: any Error, log: ModelLog) async {
        log(.cache, "writing at \(entry.stage) failed: \(error)")
        await attempt(entry, "removing", log, entry.remove)
    }

    /// - Parameter action: what it is, for the log.
    private static func attempt(
        _ entry: CacheEntry, _ action: String, _ log: ModelLog, _ work: @Sendable () async throws -> Void
    ) async {
        do { try await work() } catch { log(.cache, "\(action) at \(entry.stage) failed: \(error)") }
    }

    private func change(
        _ entry: CacheEntry, _ action: String, _ log: ModelLog, _ work: @escaping @Sendable () async throws -> Void
    ) {
        change(entry, log) { await CacheWork.attempt(entry, action, log, work) }
    }

    private func change(_ entry: CacheEntry, _ log: ModelLog, _ work: @escaping @Sendable () async -> Void) {
        enqueue(entry.id, ifLate: { self.endLate(entry, log) }, work)
    }

    /// A change has ended that was not waited for any longer.
    private func endLate(_ entry: CacheEntry, _ log: ModelLog) {
        let isFollowed = state.withLock { state in
            guard var overdue = state.overdue[entry.id] else { return false }
            overdue.count -= 1
            let isFollowed = overdue.isFollowed && overdue.count == 0
            // The removal is one more, so that there is nothing to read before it.
            if isFollowed { overdue = Overdue(count: 1) }
            state.overdue[entry.id] = overdue.count > 0 ? overdue : nil
            return isFollowed
        }
        guard isFollowed else { return }
        log(.cache, "a change at \(entry.stage) took until after later ones: the entity is removed")
        change(entry, log) {
            await CacheWork.attempt(entry, "removing", log, entry.remove)
            self.state.withLock { state in
                state.overdue[entry.id]?.count -= 1
                if state.overdue[entry.id]?.count == 0 { state.overdue[entry.id] = nil }
            }
        }
    }

    /// Changes the stored entity as a 304 with the fields `update` says, whatever its stage has made of its fields.
    func freshen(_ entry: CacheEntry, by update: Fields, at now: Timestamp, log: ModelLog) {
        change(entry, "updating", log) {
            guard let entity = try await entry.read() else { return }
            try await entry.update(now, Freshening.merged(entity.fields, with: update))
        }
    }

    /// Makes the stored entity as old as can be, so that it is validated before it is used.
    func expire(_ entry: CacheEntry, log: ModelLog) {
        change(entry, "updating", log) { try await entry.update(Timestamp(seconds: 0), nil) }
    }

    func update(_ entry: CacheEntry, with entity: AnyEntity, log: ModelLog) {
        change(entry, "updating", log) { try await entry.update(entity.timestamp, entity.fields) }
    }

    func remove(_ entry: CacheEntry, log: ModelLog) { change(entry, "removing", log, entry.remove) }

    /// Waits until all operations requested so far are done.
    func finish() async {
        let (tails, others) = state.withLock { (Array($0.tails.values), Array($0.others.values)) }
        for tail in tails { await tail.task.value }
        for other in others { await other.value }
        // The others may have asked for more.
        for tail in state.withLock({ Array($0.tails.values) }) { await tail.task.value }
    }

    /// Runs an operation that concerns more than one entry, concurrently with all others.
    func perform(_ work: @escaping @Sendable () async -> Void) {
        state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            state.others[number] = Task {
                await work()
                self.state.withLock { $0.others[number] = nil }
            }
        }
    }

    /// - Parameter endLate: called when a change ends that was not waited for any longer; nil for a read.
    @discardableResult
    private func enqueue(
        _ id: CacheEntry.ID, clock: (any ModelClock)? = nil, ifLate endLate: (@Sendable () -> Void)? = nil,
        _ work: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        let clock = clock ?? self.clock
        return state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            let tail = state.tails[id]
            let task = Task {
                await tail?.task.value
                await CacheWork.withPatience(
                    clock, givingUp: { if endLate != nil { self.giveUp(id, number) } }, late: { endLate?() }, work)
                self.state.withLock { state in
                    if state.tails[id]?.number == number { state.tails[id] = nil }
                }
            }
            if endLate != nil { state.overdue[id]?.isFollowed = true }
            state.tails[id] = Tail(
                number: number, task: task, lastChange: endLate != nil ? number : tail?.lastChange ?? 0)
            return task
        }
    }

    /// A change is not waited for any longer.
    private func giveUp(_ id: CacheEntry.ID, _ number: UInt64) {
        state.withLock { state in
            var overdue = state.overdue[id] ?? Overdue()
            overdue.count += 1
            if let last = state.tails[id]?.lastChange, last > number { overdue.isFollowed = true }
            state.overdue[id] = overdue
        }
    }

    /// The result of an operation, or nil once it has taken as long as it may. It goes on alone after that.
    ///
    /// - Parameters:
    ///   - giveUp: called when it has taken that long.
    ///   - late: called when it ends after that.
    @discardableResult
    static func withPatience<Value: Sendable>(
        _ clock: any ModelClock, givingUp giveUp: @escaping @Sendable () -> Void = {},
        late: @escaping @Sendable () -> Void = {}, _ work: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            let isOver = Lock(false)
            let end: @Sendable (() -> Void) -> Bool = { whileHeld in
                isOver.withLock { isOver in
                    guard !isOver else { return false }
                    isOver = true
                    whileHeld()
                    return true
                }
            }
            let timer = clock.schedule(after: patience) { if end(giveUp) { continuation.resume(returning: nil) } }
            Task {
                let value = await work()
                guard end({}) else { return late() }
                timer.cancel()
                continuation.resume(returning: value)
            }
        }
    }
}
