// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import Logging

/// The resources of transformers: threads, and a budget for the content in work.
final class TransformBudget: Sendable {
    private let shares: Lock<TransformShares>
    private let pool = Lock<WorkerPool?>(nil)
    private let threadCount: Int
    private static let queueLimit = 1024

    /// - Parameter limit: bytes of collected content at one time.
    init(threads: Int, limit: Int) {
        threadCount = threads
        shares = Lock(TransformShares(limit: limit))
    }

    var limit: Int {
        get { shares.withLock { $0.limit } }
        set { shares.withLock { $0.limit = newValue } }
    }

    /// Bytes of content that is being collected or transformed.
    var used: Int { shares.withLock { $0.used } }

    /// Threads are created on demand: most daemons transform nothing.
    var threads: TransformerThreads { TransformerThreads(workers) }

    /// Runs `body` on one of them.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await workers.run(body)
    }

    private var workers: WorkerPool {
        pool.withLock { pool in
            let workers =
                pool
                ?? WorkerPool(
                    name: "larder-transform", threads: threadCount, queueLimit: TransformBudget.queueLimit)
            pool = workers
            return workers
        }
    }

    fileprivate func take(_ count: Int, for service: UInt32) -> Bool {
        shares.withLock { $0.take(count, for: service) }
    }

    fileprivate func giveBack(_ count: Int, of service: UInt32) {
        shares.withLock { $0.giveBack(count, of: service) }
    }
}

/// How a budget is divided among services, so that slow responses to one leave room for the others'.
///
/// A service may have three times as much as is left free: alone three quarters of the budget, beside another such one
/// three sevenths (dynamic thresholds, as switches divide the memory for their queues).
struct TransformShares {
    var limit: Int
    private(set) var used = 0
    private var shares: [UInt32: Int] = [:]

    init(limit: Int) { self.limit = limit }

    /// False where there is no room for the service.
    mutating func take(_ count: Int, for service: UInt32) -> Bool {
        let (share, total) = (shares[service, default: 0] + count, used + count)
        guard total <= limit, share <= 3 * (limit - total) else { return false }
        (used, shares[service]) = (total, share)
        return true
    }

    mutating func giveBack(_ count: Int, of service: UInt32) {
        used -= count
        let share = shares[service, default: 0] - count
        shares[service] = share > 0 ? share : nil
    }
}

/// Content collected for the pipeline. It counts against the budget until it is released.
final class CollectedContent: Sendable {
    private struct State {
        var chunks: [ContentChunk] = []
        var count = 0
    }

    private let room: TransformBudget
    /// The number of the service that it is a response of.
    private let service: UInt32
    private let state = Lock(State())

    init(in room: TransformBudget, for service: RoutedService) { (self.room, self.service) = (room, service.number) }

    deinit { room.giveBack(count, of: service) }

    var chunks: [ContentChunk] { state.withLock { $0.chunks } }
    var count: Int { state.withLock { $0.count } }

    /// All content of a stored response; nil when it is lost. Throws when there is no room, or the store cannot read.
    static func read(
        _ content: VariantContent, in room: TransformBudget, for service: RoutedService
    ) async throws -> CollectedContent? {
        guard let cursor = try await ContentCursor.open(content) else { return nil }
        let collected = CollectedContent(in: room, for: service)
        while Int64(collected.count) < cursor.length {
            let count = Int(min(256 << 10, cursor.length - Int64(collected.count)))
            guard let chunks = try await cursor.read(at: Int64(collected.count), count: count) else { return nil }
            for chunk in chunks { try collected.append(chunk) }
        }
        return collected
    }

    /// Throws when there is no room.
    func append(_ chunk: ContentChunk) throws(TransformersBusy) {
        guard room.take(chunk.count, for: service) else { throw TransformersBusy() }
        state.withLock { state in
            state.chunks.collect(chunk)
            state.count += chunk.count
        }
    }

    /// All bytes in one piece.
    func joined() -> [UInt8] {
        let chunks = chunks
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialised in
            for chunk in chunks {
                chunk.withBytes {
                    UnsafeMutableRawBufferPointer(UnsafeMutableBufferPointer(rebasing: buffer[initialised...]))
                        .copyMemory(from: $0)
                }
                initialised += chunk.count
            }
        }
    }
}
