// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO

/// The response of a load, shared by the clients that wait for it: first its head, then its content as it arrives, which
/// each reads at its own pace (RFC 9111 §4, collapsed requests).
///
/// One task produces; any number of readers on any loop consume. Content that may be kept in memory is retained
/// whole; other content passes through a window, and a reader that falls behind the window reads from the spool
/// that the store is writing or, where there is none, holds the producer back.
package final class SharedLoad: Sendable {
    struct State {
        var interims: [ResponseHead] = []
        var answer: Answer?
        var content = ContentWindow()
        var retains = false
        /// Bytes the registry has reserved for this shared load.
        var reserved = 0
        var spool: (any ContentReader)?
        /// The spool is released as soon as no reader is behind the window; until then nothing more is produced.
        var isSpoolEnding = false
        var trailers: Fields?
        var error: (any Error)?
        var readers = Readers()
        var nextReader = 0
        /// The reader whose request it is: interim responses are for it alone.
        var first: Int?
        /// Clients on their way to becoming readers, which count as interest.
        var expected = 0
        var producer: UnsafeContinuation<Void, Never>?
        var remarks = Remarks()

        /// How often its last reader, or whoever else was interested, has left.
        var departures = 0
        /// Set when it is about to be cancelled because nobody reads: nobody may begin to.
        var isClosing = false

        var isOver: Bool { trailers != nil || error != nil }
        var isAbandoned: Bool { readers.isEmpty && expected == 0 && !isOver }

        /// Counts a departure after which nobody is left, if it is one.
        mutating func depart() -> Int? {
            guard isAbandoned else { return nil }
            departures += 1
            return departures
        }
    }

    let state: Lock<State>
    private let window: Int
    /// The memory budget of completely retained content; without one it is unlimited.
    private let registry: Registry?

    /// - Parameters:
    ///   - window: bytes retained for readers when the content is not retained whole.
    ///   - expecting: clients that are about to `read`.
    init(window: Int, expecting: Int, registry: Registry? = nil) {
        self.window = window
        self.registry = registry
        state = Lock(State(expected: expecting))
    }

    deinit { registry?.release(state.withLock { $0.reserved }) }

    // MARK: Reading

    /// Announces one more client; false when the shared load is over and cannot be joined.
    func retain() -> Bool {
        state.withLock { state in
            if state.error != nil || state.isClosing { return false }
            if state.content.start > 0, state.spool == nil || state.isSpoolEnding { return false }
            state.expected += 1
            return true
        }
    }

    /// Begins to read; the number names the reader in all other calls. `leave` must follow.
    ///
    /// - Parameter isFirst: whether this reader's request is the one that is sent. Interim responses, which are not
    ///   stored, are for that reader alone: they may carry its cookies.
    package func read(isFirst: Bool = false) -> Int {
        state.withLock { state in
            state.expected -= 1
            let reader = state.nextReader
            state.nextReader += 1
            if isFirst { state.first = reader }
            state.readers[reader] = ReaderState()
            return reader
        }
    }

    /// Ends a reader, once. The number of the departure, if it was the last and the load still runs.
    @discardableResult
    func leave(_ reader: Int) -> Int? {
        depart { state in
            guard state.readers[reader] != nil else { return false }
            state.readers[reader] = nil
            if state.first == reader {
                state.first = nil
                state.interims = []
            }
            return true
        }
    }

    /// One of the clients that were about to read does not.
    func forgo() -> Int? {
        depart { state in
            state.expected -= 1
            return true
        }
    }

    private func depart(_ body: (inout State) -> Bool) -> Int? {
        let (producer, departure) = change { state -> (UnsafeContinuation<Void, Never>?, Int?) in
            guard body(&state) else { return (nil, nil) }
            return (trim(&state), state.depart())
        }
        producer?.resume()
        return departure
    }

    /// Wakes a reader that waits: its client went away or its time is up.
    package func interrupt(_ reader: Int) {
        let waiting = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            state.readers[reader]?.isInterrupted = true
            return state.readers[reader]?.waiting.take()
        }
        waiting?.resume()
    }

    /// Waits for the answer; the first reader hears interim responses before it. Nil when interrupted.
    package func nextEvent(for reader: Int) async -> HeadEvent? {
        while true {
            let (event, isInterrupted) = state.withLock { state -> (HeadEvent?, Bool) in
                guard let mine = state.readers[reader], !mine.isInterrupted else { return (nil, true) }
                if reader == state.first, !state.interims.isEmpty {
                    return (.interim(state.interims.removeFirst()), false)
                }
                return (state.answer.map { .answer($0) }, false)
            }
            if let event { return event }
            if isInterrupted { return nil }
            await wait(reader) { $0.answer != nil || $0.first == reader && !$0.interims.isEmpty }
        }
    }

    /// The next piece of content for `reader`, in order, without gaps.
    package func next(for reader: Int) async -> Piece {
        while true {
            let (piece, producer) = change { state -> (Piece?, UnsafeContinuation<Void, Never>?) in
                guard let offset = state.readers[reader]?.giveBack(), state.readers[reader]?.isInterrupted == false
                else { return (.interrupted, nil) }
                if offset < state.content.start {
                    guard let spool = state.spool else { return (.failed(SharedLoadError.fellBehind), nil) }
                    let count = min(Int(state.content.start - offset), max(window, 16 << 10))
                    state.readers[reader]?.lend(count)
                    return (.spooled(spool, offset: offset, count: count), trim(&state))
                }
                if offset < state.content.end {
                    let chunks = state.content.pieces(from: offset)
                    state.readers[reader]?.offset = offset + chunks.reduce(0) { $0 + Int64($1.count) }
                    return (.chunks(chunks), trim(&state))
                }
                if let error = state.error { return (.failed(error), nil) }
                if let trailers = state.trailers { return (.end(trailers: trailers), nil) }
                // It gave back what it was lent, which may be all that the producer waits for.
                return (nil, trim(&state))
            }
            producer?.resume()
            if let piece { return piece }
            await wait(reader) { $0.content.end > ($0.readers[reader]?.offset ?? 0) || $0.isOver }
        }
    }

    /// True if `next` has an answer without waiting.
    package func hasNext(for reader: Int) -> Bool {
        state.withLock { state in
            guard let mine = state.readers[reader], !mine.isInterrupted else { return true }
            return state.content.end > mine.offset || state.isOver
        }
    }

    /// Further information about the load once there is an answer.
    package var remarks: Remarks { state.withLock { $0.remarks } }

    /// The answer, if there is one.
    package var currentAnswer: Answer? { state.withLock { $0.answer } }

    /// Bytes of content that have arrived so far.
    package var received: Int64 { state.withLock { $0.content.end } }

    // MARK: Producing

    /// Tells the first reader of an interim response, if it is there.
    package func announce(interim head: ResponseHead) {
        wakeAll { if $0.first != nil { $0.interims.append(head) } }
    }

    /// Announces the outcome of the request to the readers.
    ///
    /// - Parameters:
    ///   - retains: keeps all content for the memory tier, if there is room for it. Room for `expected` bytes is
    ///     reserved now; for more it is reserved as they arrive.
    package func announce(
        _ answer: Answer, _ remarks: Remarks = Remarks(), retains: Bool = false, expected: Int = 0,
        spool: (any ContentReader)? = nil
    ) {
        let isRoom = retains && reserve(expected)
        wakeAll { state in
            state.answer = answer
            state.remarks = remarks
            state.retains = isRoom
            state.reserved = isRoom && registry != nil ? expected : 0
            state.spool = spool
            if case .failed(let error) = answer { state.error = error }
        }
    }

    /// Gives the readers a chunk. Follow it by `room`.
    package func append(_ chunk: ContentChunk) {
        let weight = ContentWindow.weight(of: chunk)
        // Only the producer, who calls this, makes it more.
        let lack = state.withLock { $0.retains ? max(0, $0.content.weight + weight - $0.reserved) : 0 }
        let isRoom = lack == 0 || reserve(lack)
        wakeAll { state in
            if !isRoom {
                state.retains = false
            } else if registry != nil {
                state.reserved += lack
            }
            state.content.append(chunk)
            _ = trim(&state)
        }
    }

    /// Waits until the window has room again: at once unless a reader without a spool is slow.
    ///
    /// - Parameter hold: called when it waits; its result, when it has waited.
    package func room(_ hold: () -> () -> Void = { {} }) async {
        guard state.withLock({ state in isFull(state) }) else { return }
        let ended = hold()
        defer { ended() }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let mustWait = state.withLock { state in
                guard isFull(state) else { return false }
                state.producer = continuation
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    /// How many have ended reading.
    package var formerReaders: Int { state.withLock { $0.nextReader - $0.readers.count } }

    /// True if more than one client reads.
    package var isForSeveral: Bool { state.withLock { $0.readers.count > 1 } }

    /// Gives up the readers that the producer waits for, and those who are about as slow, if others wait behind them. True
    /// if it gave up any.
    package func giveUpSlow() -> Bool {
        let (isDone, producer) = change { state -> (Bool, UnsafeContinuation<Void, Never>?) in
            guard isFull(state), state.expected == 0 else { return (false, nil) }
            // While the spool ends, all who are behind the window are waited for.
            let (start, end) = (state.content.start, state.content.end)
            let isDone = state.readers.giveUp(before: state.isSpoolEnding ? start : start + (end - start + 1) / 2)
            return (isDone, trim(&state))
        }
        producer?.resume()
        return isDone
    }

    /// From now on content passes through the window: it grew beyond what memory keeps.
    package func stopRetaining() {
        let producer = change { state in
            state.retains = false
            return trim(&state)
        }
        producer?.resume()
    }

    /// True if all content is retained so far.
    package var isRetaining: Bool { state.withLock { $0.retains } }

    /// The store gave up: readers that are behind the window have lost their place.
    package func dropSpool() {
        wakeAll { $0.spool = nil }
    }

    /// Waits until every reader has what only the spool holds; from there on slow readers hold the producer back.
    package func retireSpool(_ hold: () -> () -> Void = { {} }) async {
        state.withLock { $0.isSpoolEnding = true }
        await room(hold)
        wakeAll { state in
            state.isSpoolEnding = false
            state.spool = nil
        }
    }

    /// All content so far, if it was retained whole.
    package var retainedContent: [ContentChunk]? {
        state.withLock { $0.retains && $0.content.start == 0 ? $0.content.chunks : nil }
    }

    /// The content is complete. Retained chunks are released as they are read.
    package func finish(trailers: Fields) {
        wakeAll { state in
            state.trailers = trailers
            if state.retains {
                // From now on the content is owned by its readers alone.
                state.retains = false
                state.spool = nil
                _ = trim(&state)
            }
        }
    }

    /// Tells the readers everything at once: what became of the request, and all of the content.
    package func conclude(
        _ answer: Answer, _ remarks: Remarks, content: [ContentChunk] = [], trailers: Fields = Fields()
    ) {
        wakeAll { state in
            state.answer = answer
            state.remarks = remarks
            for chunk in content { state.content.append(chunk) }
            state.trailers = trailers
            _ = trim(&state)
        }
    }

    /// The load broke off; readers get the content received before, then the error.
    package func fail(_ error: any Error, _ remarks: Remarks = Remarks()) {
        wakeAll { state in
            state.error = error
            state.retains = false
            if state.answer == nil {
                state.answer = .failed(error)
                state.remarks = remarks
            }
        }
    }

    // MARK: Private parts

    private func wait(_ reader: Int, until isReady: (State) -> Bool) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let mustWait = state.withLock { state in
                guard let mine = state.readers[reader], !mine.isInterrupted, !isReady(state) else { return false }
                state.readers[reader]?.waiting = continuation
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    private func reserve(_ octets: Int) -> Bool { registry?.reserve(octets) ?? true }

    /// Changes the state, and releases the reservation for dropped content.
    private func change<Result>(_ body: (inout State) -> Result) -> Result {
        let (result, spare) = state.withLock { state in
            let result = body(&state)
            let spare = state.retains ? 0 : max(0, state.reserved - state.content.weight)
            state.reserved -= spare
            return (result, spare)
        }
        if spare > 0 { registry?.release(spare) }
        return result
    }

    private func wakeAll(_ body: (inout State) -> Void) {
        let waiting = change { state in
            body(&state)
            return state.readers.takeWaiting()
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Drops chunks that no reader needs from the window, and returns the producer if there is room for it again.
    private func trim(_ state: inout State) -> UnsafeContinuation<Void, Never>? {
        guard !state.retains else { return nil }
        // Expected readers start at the beginning.
        let slowest = state.expected > 0 ? state.content.start : state.readers.slowest ?? state.content.end
        state.content.drop(before: slowest)
        if state.spool != nil { state.content.shrink(to: window) }
        guard !isFull(state), let producer = state.producer else { return nil }
        state.producer = nil
        return producer
    }

    private func isFull(_ state: State) -> Bool {
        if state.retains || state.isOver || state.readers.isEmpty && state.expected == 0 { return false }
        if state.isSpoolEnding {  // Those who are expected begin at the beginning.
            return (state.expected > 0 ? 0 : state.readers.slowest ?? .max) < state.content.start
        }
        return state.spool == nil && state.content.fills(window)
    }
}
