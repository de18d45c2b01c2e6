// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import Logging
import Synchronization

/// The resources of transformers: threads, and a budget for the content in work.
final class TransformBudget: Sendable {
    private let octets = Atomic<Int>(0)
    private let limitOctets: Atomic<Int>
    private let pool = Lock<WorkerPool?>(nil)
    private let threadCount: Int
    private static let queueLimit = 1024

    /// - Parameter limit: octets of collected content at one time.
    init(threads: Int, limit: Int) {
        threadCount = threads
        limitOctets = Atomic(limit)
    }

    var limit: Int {
        get { limitOctets.load(ordering: .relaxed) }
        set { limitOctets.store(newValue, ordering: .relaxed) }
    }

    /// Octets of content that is being collected or transformed.
    var used: Int { octets.load(ordering: .relaxed) }

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

    fileprivate func take(_ count: Int) -> Bool {
        if octets.add(count, ordering: .relaxed).newValue <= limit { return true }
        octets.subtract(count, ordering: .relaxed)
        return false
    }

    fileprivate func giveBack(_ count: Int) { octets.subtract(count, ordering: .relaxed) }
}

/// Content collected for the pipeline. It counts against the budget until it is released.
final class CollectedContent: Sendable {
    private struct State {
        var chunks: [ContentChunk] = []
        var count = 0
    }

    private let room: TransformBudget
    private let state = Lock(State())

    init(in room: TransformBudget) { self.room = room }

    deinit { room.giveBack(count) }

    var chunks: [ContentChunk] { state.withLock { $0.chunks } }
    var count: Int { state.withLock { $0.count } }

    /// All content of a stored response; nil when it is lost. Throws when the budget is used up, or the store cannot read.
    static func read(_ content: VariantContent, in room: TransformBudget) async throws -> CollectedContent? {
        guard let cursor = try await ContentCursor.open(content) else { return nil }
        let collected = CollectedContent(in: room)
        while Int64(collected.count) < cursor.length {
            let count = Int(min(256 << 10, cursor.length - Int64(collected.count)))
            guard let chunks = try await cursor.read(at: Int64(collected.count), count: count) else { return nil }
            for chunk in chunks { try collected.append(chunk) }
        }
        return collected
    }

    /// Throws when the budget is used up.
    func append(_ chunk: ContentChunk) throws(TransformersBusy) {
        guard room.take(chunk.count) else { throw TransformersBusy() }
        state.withLock { state in
            state.chunks.collect(chunk)
            state.count += chunk.count
        }
    }

    /// All octets in one piece.
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
