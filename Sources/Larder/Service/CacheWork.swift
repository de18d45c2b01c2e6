// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// Runs the operations on entity caches: serially for one entry, in the order they were requested; concurrently for
/// different entries. Nothing waits for writes.
final class CacheWork: Sendable {
    private struct Tail {
        let number: UInt64
        let task: Task<Void, Never>
    }

    private struct State {
        var tails: [CacheEntry.ID: Tail] = [:]
        /// Operations that concern more than one entry.
        var others: [UInt64: Task<Void, Never>] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Lock(State())

    func read(_ entry: CacheEntry, log: ModelLog) async -> AnyEntity? {
        let result = Lock<AnyEntity?>(nil)
        await enqueue(entry.id) {
            do {
                let entity = try await entry.read()
                result.withLock { $0 = entity }
            } catch {
                log(.cache, "reading at \(entry.stage) failed: \(error)")
            }
        }.value
        return result.withLock { $0 }
    }

    func write(_ entity: AnyEntity, to entry: CacheEntry, log: ModelLog) {
        enqueue(entry.id) {
            do {
                let isWritten = try await entry.write(entity)
                if !isWritten {
                    log(.cache, "the cache at \(entry.stage) does not keep \(type(of: entity.content as Any))")
                }
            } catch {
                log(.cache, "writing at \(entry.stage) failed: \(error)")
            }
        }
    }

    func update(_ entry: CacheEntry, with entity: AnyEntity, log: ModelLog) {
        enqueue(entry.id) {
            do {
                try await entry.update(entity.timestamp, entity.fields)
            } catch {
                log(.cache, "updating at \(entry.stage) failed: \(error)")
            }
        }
    }

    func remove(_ entry: CacheEntry, log: ModelLog) {
        enqueue(entry.id) {
            do {
                try await entry.remove()
            } catch {
                log(.cache, "removing at \(entry.stage) failed: \(error)")
            }
        }
    }

    /// Waits until all operations requested so far are done.
    func finish() async {
        let (tails, others) = state.withLock { (Array($0.tails.values), Array($0.others.values)) }
        for tail in tails { await tail.task.value }
        for other in others { await other.value }
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

    @discardableResult
    private func enqueue(_ id: CacheEntry.ID, _ work: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        state.withLock { state in
            state.lastNumber += 1
            let number = state.lastNumber
            let previous = state.tails[id]?.task
            let task = Task {
                await previous?.value
                await work()
                self.state.withLock { state in
                    if state.tails[id]?.number == number { state.tails[id] = nil }
                }
            }
            state.tails[id] = Tail(number: number, task: task)
            return task
        }
    }
}
