// SPDX-License-Identifier: Apache-2.0
import Larder
package import LarderHTTP
import LarderIO

/// An entity being written to the store.
///
/// Content of up to `inlineLimit` stays in memory and is committed with its row. Longer content goes to a file as it
/// arrives, on other threads, and its row is committed when the file is complete, synced and named.
///
/// Any thread may call, one at a time for `append` and `finish`. A writer that is released without `finish` stores
/// nothing. As long as it is retained, what was appended can be read, stored or not, until `abort` or a failure of the
/// disk.
package final class EntityWriter: ContentReader {
    private let core: StoreCore
    private let key: EntityKey
    private let record: EntityRecord
    private let expectedLength: Int64?
    private let lock: Lock<State>

    init(core: StoreCore, key: EntityKey, record: EntityRecord, expectedLength: Int64?) {
        self.core = core
        self.key = key
        self.record = record
        self.expectedLength = expectedLength
        var state = State()
        if !core.queue.acceptsWrites {
            state.phase = .abandoned(.unavailable)
        } else if let expectedLength, expectedLength > core.settings.longestContent {
            state.phase = .abandoned(.tooLarge)
        } else if let expectedLength, expectedLength > Int64(core.settings.inlineLimit) {
            state.phase = .spooling
        }
        lock = Lock(state)
    }

    deinit { abort() }

    package var state: EntityWriterState {
        lock.withLock { state in
            switch state.phase {
            case .gathering, .spooling: state.operation == nil ? .open : .finished
            case .finished: .finished
            case .withheld(let reason), .abandoned(let reason): .abandoned(reason)
            }
        }
    }

    // MARK: Writing

    /// Appends content. Never blocks; keeps the chunk until it is written.
    package func append(_ chunk: ContentChunk) {
        guard chunk.count > 0 else { return }
        let appending = lock.withLock { state -> Appending in
            guard state.isOpen else { return .done(mustSchedule: false) }
            let length = state.length + Int64(chunk.count)
            if length > core.settings.longestContent { return .refused(.tooLarge) }
            if let expectedLength, length > expectedLength { return .refused(.wrongLength) }
            guard core.queue.hold(chunk.count) else { return .refused(.queueFull) }
            // Not to a piece that is being written.
            if state.chunks.count > state.writing { state.chunks.collect(chunk) } else { state.chunks.append(chunk) }
            state.length = length
            state.held += chunk.count
            if case .gathering = state.phase, length > Int64(core.settings.inlineLimit) { state.phase = .spooling }
            return .done(mustSchedule: needsJob(&state))
        }
        switch appending {
        case .done(let mustSchedule): if mustSchedule { schedule() }
        case .refused(let reason): withhold(reason)
        }
    }

    /// Declares the content complete, and not to be stored: what was there before stays. Readers can read to its end.
    package func finishUnstored() {
        lock.withLock { $0.isUnwanted = true }
        withhold(.aborted)
    }

    /// Declares the content complete. The entity can be read from now on. Returns false if it is not stored.
    ///
    /// - Parameter head: instead of the one of `beginWrite`, if it is known only at the end.
    @discardableResult
    package func finish(head: [UInt8]? = nil) -> Bool { commit(head: head, length: expectedLength) }

    /// Declares the content complete.
    ///
    /// - Parameters:
    ///   - content: the same bytes in other pieces, which are retained anyway.
    ///   - head: instead of the one at the beginning.
    package func finish(sharing content: [ContentChunk], head: [UInt8]? = nil) -> Bool {
        commit(head: head, length: expectedLength, sharing: content)
    }

    /// Declares that no more content follows, with fewer bytes than expected: `head` says so.
    package func finishCut(head: [UInt8]) -> Bool { commit(head: head, length: nil, isCut: true) }

    /// - Parameter length: the required length, if it is known.
    private func commit(
        head: [UInt8]?, length: Int64?, isCut: Bool = false, sharing content: [ContentChunk] = []
    ) -> Bool {
        var record = record
        if isCut { record.history.isVersion = false }
        if let head { record.head = head }
        switch end(length: length, sharing: content) {
        case .done: return true
        case .inline(let chunk, let held):
            return finishInline(record, chunk, held: held) || drop(record, because: .unavailable)
        case .file: return finishFile(record)
        case .abandoned(let reason):
            withhold(reason)
            return drop(record, because: reason)
        }
    }

    /// The final steps. From here on the operation accounts for the content in memory.
    private func end(length: Int64?, sharing content: [ContentChunk]) -> Ending {
        lock.withLock { state in
            if let reason = state.refusal { return .abandoned(state.isUnwanted ? .aborted : reason) }
            guard state.isOpen else { return .done }
            if let length, length != state.length { return .abandoned(.wrongLength) }
            guard case .gathering = state.phase else { return .file }
            if state.chunks.count > 1 {
                let isShared = content.count == 1 && Int64(content[0].count) == state.length
                state.chunks = isShared ? content : [joined(state.chunks, length: Int(state.length))]
            }
            state.phase = .finished
            defer { state.held = 0 }
            return .inline(state.chunks.first, held: state.held)
        }
    }

    /// The new content cannot be stored; the old content is out of date nevertheless.
    private func drop(_ record: EntityRecord, because reason: EntityWriterState.AbandonReason) -> Bool {
        guard reason != .aborted, reason != .wrongLength else { return false }
        core.emit(.writeDropped(url: key.url, reason: "\(reason)"))
        _ = core.queue.accept(
            Operation(key: key, change: .remove(variant: record.variant, because: .superseded)))
        return false
    }

    /// Cancels the write; the previously stored entity stays.
    package func abort() { abandon(.aborted) }

    /// Stops because the store is too slow. `finish` then removes the entity that was to be replaced, because it is out
    /// of date.
    package func giveUp() { abandon(.queueFull) }

    private func finishInline(_ record: EntityRecord, _ chunk: ContentChunk?, held: Int) -> Bool {
        var record = record
        if let chunk {
            // Its digest is computed on the writing thread if it is needed.
            record.content = ContentReference(
                digest: ContentReference.empty.digest, length: Int64(chunk.count), location: .inline(chunk))
        }
        if core.queue.accept(Operation(key: key, change: .write(record, blocks: nil), cost: held)) { return true }
        core.queue.release(held)
        lock.withLock { $0.phase = .withheld(.unavailable) }
        return false
    }

    private func finishFile(_ record: EntityRecord) -> Bool {
        let operation = Operation(key: key, change: .write(record, blocks: nil), progress: .spooling)
        guard core.queue.accept(operation) else {
            withhold(.unavailable)
            return drop(record, because: .unavailable)
        }
        let (mustSchedule, isAbandoned) = lock.withLock { state in
            if state.refusal != nil { return (false, true) }
            state.operation = operation
            return (needsJob(&state), false)
        }
        if isAbandoned {
            core.queue.contentFailed(operation)
            return false
        }
        if mustSchedule { schedule() }
        return true
    }

    /// Stops, and keeps what was appended for readers.
    private func withhold(_ reason: EntityWriterState.AbandonReason) {
        let operation = lock.withLock { $0.withhold(reason) }
        if let operation { core.queue.contentFailed(operation) }
    }

    /// Stops, releases all memory, and drops the file.
    private func abandon(_ reason: EntityWriterState.AbandonReason) {
        let (operation, held, written): (Operation?, Int, Int64) = lock.withLock { state in
            switch state.phase {
            case .abandoned: return (nil, 0, 0)
            // A file that is being completed is stored unless it fails, even if its owner aborts.
            case .finished where reason == .aborted: return (nil, 0, 0)
            case .spooling where state.operation != nil && reason == .aborted: return (nil, 0, 0)
            case .gathering, .spooling, .finished, .withheld: break
            }
            // The first reason stays.
            state.phase = .abandoned(state.refusal ?? reason)
            defer {
                state.operation = nil
                state.held = 0
                state.chunks = []
                // A job that is writing releases its own.
                if !state.isScheduled { state.file = nil }
            }
            return (state.operation, state.held, state.isScheduled ? 0 : state.written)
        }
        core.queue.release(held)
        core.files.addSpooled(-written)
        if let operation { core.queue.contentFailed(operation) }
    }

    // MARK: Spooling

    /// True if a job must be started: each writer has at most one.
    private func needsJob(_ state: inout State) -> Bool {
        guard case .spooling = state.phase, !state.isScheduled else { return false }
        state.isScheduled = true
        return true
    }

    private func schedule() {
        // The job retains the writer until the content is in its file, even if its owner releases it after `finish`.
        guard !core.spoolers.submit({ [self] _ in spool() }) else { return }
        lock.withLock { $0.isScheduled = false }
        withhold(.queueFull)
    }

    private func spool() {
        while true {
            switch nextStep() {
            case .rest: return
            case .write(let chunks, let offset):
                do {
                    try write(chunks, at: offset)
                } catch {
                    core.failed(error)
                    // Readers get the rest from memory.
                    lock.withLock { $0.writing = 0 }
                    withhold(.diskFailed(error.description))
                }
            case .complete(let operation, let file, let hashing):
                complete(operation, file, hashing)
                return
            }
        }
    }

    private func nextStep() -> Step {
        let (step, dropped): (Step, Int64) = lock.withLock { state in
            if case .abandoned = state.phase {
                state.isScheduled = false
                defer {
                    state.file = nil
                    state.hashing = nil
                    state.written = 0
                }
                return (.rest, state.written)
            }
            state.chunks.removeFirst(state.writing)
            state.writing = state.isWriting ? state.chunks.count : 0
            if state.writing > 0 { return (.write(state.chunks, at: state.written), 0) }
            if let operation = state.operation, let file = state.file, let hashing = state.hashing {
                return (.complete(operation, file, hashing), 0)
            }
            state.isScheduled = false
            return (.rest, 0)
        }
        core.files.addSpooled(-dropped)
        return step
    }

    private func write(_ chunks: [ContentChunk], at offset: Int64) throws(DiskFailure) {
        let (file, hashing) = try tools()
        var end = offset
        for chunk in chunks {
            try file.write(chunk.bytes, at: end)
            hashing.update(chunk.bytes)
            end += Int64(chunk.count)
        }
        let count = Int(end - offset)
        core.files.addSpooled(Int64(count))
        let held = lock.withLock { state in
            state.written = end
            // Content in the file is read back from there; `abandon` may have emptied the list meanwhile.
            state.chunks.removeFirst(min(state.writing, state.chunks.count))
            state.writing = 0
            defer { state.held = max(state.held - count, 0) }
            return min(count, state.held)
        }
        core.queue.release(held)
        let limit = core.limit
        if core.files.spooledBytes > limit / 2 { withhold(.queueFull) }
        if core.bytesOnDisk > limit - StoreSettings.reserve(below: limit) { core.queue.hurry() }
    }

    /// The file and its digester, created on first use.
    private func tools() throws(DiskFailure) -> (SpoolFile, ContentHashing) {
        let made = lock.withLock { state in state.file.flatMap { file in state.hashing.map { (file, $0) } } }
        if let made { return made }
        let file = try core.files.makeSpoolFile()
        let hashing = ContentHashing(core.key?.secret)
        lock.withLock { state in
            state.file = file
            state.hashing = hashing
        }
        return (file, hashing)
    }

    private func complete(_ operation: Operation, _ file: SpoolFile, _ hashing: ContentHashing) {
        let (digest, blocks) = hashing.finish()
        let length = lock.withLock { $0.length }
        do {
            try core.files.adopt(file, digest: digest, length: length, blocks: blocks)
            core.trust.forget(digest)
        } catch {
            lock.withLock { state in
                state.isScheduled = false
                state.operation = nil
            }
            core.failed(error)
            withhold(.diskFailed(error.description))
            core.queue.contentFailed(operation)
            core.queue.post(.checkOrphan(digest))
            return
        }
        let content = ContentReference(digest: digest, length: length, location: .file)
        lock.withLock { state in
            state.isScheduled = false
            state.operation = nil
            state.phase = .finished
        }
        if !core.queue.contentReady(operation, content: content, blocks: blocks) {
            core.files.release(digest)
            core.files.addSpooled(-length)
            core.queue.post(.checkOrphan(digest))
        }
    }

    // MARK: Reading back

    /// Up to `count` bytes from `offset` on; nil if there are none yet, or the write was cancelled.
    package func read(at offset: Int64, count: Int) async -> ContentChunk? {
        let (chunk, file, limit): (ContentChunk?, SpoolFile?, Int64) = lock.withLock { state in
            guard offset >= 0, offset < state.length, count > 0 else { return (nil, nil, 0) }
            if offset < state.written { return (nil, state.file, state.written - offset) }
            var start = state.written
            for chunk in state.chunks {
                if offset < start + Int64(chunk.count) {
                    return (slice(chunk, from: Int(offset - start), count: count), nil, 0)
                }
                start += Int64(chunk.count)
            }
            return (nil, nil, 0)
        }
        if let chunk { return chunk }
        guard let file else { return nil }
        let result = await core.onReadingThread { try? file.read(at: offset, count: Int(min(Int64(count), limit))) }
        return result ?? nil
    }
}
