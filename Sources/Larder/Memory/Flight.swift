// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules
import Synchronization

/// A load under way, shared by every client that waits for it: first its head, then its content as it arrives,
/// which each reads at its own pace (RFC 9111 §4, collapsed requests).
///
/// One task produces; any number of readers on any loop consume. Content that may be kept in memory is retained
/// whole; other content passes through a window, and a reader that falls behind the window reads from the spool
/// that the store is writing or, where there is none, holds the producer back.
package final class Flight: Sendable {
    /// What became of the request, told to each reader before any content.
    package enum Answer: Sendable {
        /// A response whose content follows. `stored` is set when it is being stored, and so may be shared.
        case response(ResponseHead, length: Int64?, stored: StoredResponse?)
        /// The stored response was still good, or was replaced by one that is: look at the Resource again.
        case settled(Variant)
        case failed(any Error)
    }

    /// What a reader hears before any content.
    package enum Word: Sendable {
        /// A response on the way to the final one.
        case interim(ResponseHead)
        case answer(Answer)
    }

    /// A piece of content for one reader.
    package enum Piece: Sendable {
        case chunks([ContentChunk])
        /// These octets have left the window: read them from the spool.
        case spooled(any ContentReader, offset: Int64, count: Int)
        case end(trailers: Fields)
        case failed(any Error)
        case interrupted
    }

    private struct State {
        var interims: [ResponseHead] = []
        var answer: Answer?
        var chunks: [ContentChunk] = []
        /// The offset of `chunks[0]`, and of the end of the last.
        var start: Int64 = 0
        var end: Int64 = 0
        var retains = false
        var spool: (any ContentSpool)?
        /// The spool goes as soon as nobody is behind the window; until then nothing more is produced.
        var isSpoolEnding = false
        var trailers: Fields?
        var error: (any Error)?
        var readers: [Int: ReaderState] = [:]
        var nextReader = 0
        /// Clients on their way to becoming readers, which count as interest.
        var expected = 0
        var producer: UnsafeContinuation<Void, Never>?
        var onAbandoned: (@Sendable () -> Void)?

        var isOver: Bool { trailers != nil || error != nil }
        var retained: Int { Int(end - start) }
    }

    private struct ReaderState {
        var offset: Int64 = 0
        /// How many interim responses it has heard.
        var interims = 0
        var waiting: UnsafeContinuation<Void, Never>?
        var isInterrupted = false
    }

    private let state: Lock<State>
    private let refusal = Lock<UnstoredReason?>(nil)
    /// The request as it goes upstream, and whose `Vary` fields decide who may share the answer.
    package let request: RequestHead
    package let startedAt: Timestamp
    /// Whether the request validates something stored.
    package let isValidation: Bool
    /// Whether clients may join: not when the request carries what only its own client asked for.
    package let isJoinable: Bool
    private let window: Int

    /// - Parameters:
    ///   - window: octets retained for readers when the content is not retained whole.
    ///   - expecting: clients that are about to `read`.
    package init(
        request: RequestHead, at now: Timestamp, isValidation: Bool, isJoinable: Bool, window: Int, expecting: Int
    ) {
        self.request = request
        startedAt = now
        self.isValidation = isValidation
        self.isJoinable = isJoinable
        self.window = window
        var state = State()
        state.expected = expecting
        self.state = Lock(state)
    }

    /// Why the response is not stored; known when it is announced.
    package var unstoredReason: UnstoredReason? { refusal.withLock { $0 } }

    /// Says why the response that is about to be announced is not stored.
    package func isNotStored(because reason: UnstoredReason) { refusal.withLock { $0 = reason } }

    // MARK: Reading

    /// Announces one more client; false when the flight is over and cannot be joined.
    func retain() -> Bool {
        state.withLock { state in
            if state.error != nil { return false }
            if state.start > 0, state.spool == nil { return false }
            state.expected += 1
            return true
        }
    }

    /// Begins to read; the number names the reader in all other calls. `leave` must follow.
    package func read() -> Int {
        state.withLock { state in
            state.expected -= 1
            let reader = state.nextReader
            state.nextReader += 1
            state.readers[reader] = ReaderState()
            return reader
        }
    }

    /// Ends a reader. When it was the last and the flight still runs, `onAbandoned` is called.
    package func leave(_ reader: Int) {
        let (producer, abandoned) = state.withLock {
            state -> (UnsafeContinuation<Void, Never>?, (@Sendable () -> Void)?) in
            state.readers[reader] = nil
            let isAbandoned = state.readers.isEmpty && state.expected == 0 && !state.isOver
            return (trim(&state), isAbandoned ? state.onAbandoned : nil)
        }
        producer?.resume()
        abandoned?()
    }

    /// Wakes a reader that waits: its client went away or its time is up.
    package func interrupt(_ reader: Int) {
        let waiting = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            state.readers[reader]?.isInterrupted = true
            return take(reader, &state)
        }
        waiting?.resume()
    }

    /// Waits for the answer, hearing interim responses first; nil when interrupted.
    package func word(for reader: Int) async -> Word? {
        while true {
            let (word, isInterrupted) = state.withLock { state -> (Word?, Bool) in
                guard let mine = state.readers[reader], !mine.isInterrupted else { return (nil, true) }
                if mine.interims < state.interims.count {
                    state.readers[reader]!.interims += 1
                    return (.interim(state.interims[mine.interims]), false)
                }
                return (state.answer.map { .answer($0) }, false)
            }
            if let word { return word }
            if isInterrupted { return nil }
            await wait(reader) { $0.answer != nil || $0.interims.count > ($0.readers[reader]?.interims ?? 0) }
        }
    }

    /// The next piece of content for `reader`, in order, without gaps.
    package func next(for reader: Int) async -> Piece {
        while true {
            let (piece, producer) = state.withLock { state -> (Piece?, UnsafeContinuation<Void, Never>?) in
                guard let offset = state.readers[reader]?.offset else { return (.interrupted, nil) }
                if state.readers[reader]!.isInterrupted { return (.interrupted, nil) }
                if offset < state.start {
                    guard let spool = state.spool else { return (.failed(FlightError.fellBehind), nil) }
                    let count = min(Int(state.start - offset), 256 << 10)
                    state.readers[reader]!.offset += Int64(count)
                    return (.spooled(spool, offset: offset, count: count), trim(&state))
                }
                if offset < state.end {
                    let chunks = pieces(from: offset, state)
                    state.readers[reader]!.offset = offset + chunks.reduce(0) { $0 + Int64($1.count) }
                    return (.chunks(chunks), trim(&state))
                }
                if let error = state.error { return (.failed(error), nil) }
                if let trailers = state.trailers { return (.end(trailers: trailers), nil) }
                return (nil, nil)
            }
            producer?.resume()
            if let piece { return piece }
            await wait(reader) { $0.end > ($0.readers[reader]?.offset ?? 0) || $0.isOver }
        }
    }

    /// Whether `next` has an answer without waiting.
    package func hasNext(for reader: Int) -> Bool {
        state.withLock { state in
            guard let mine = state.readers[reader], !mine.isInterrupted else { return true }
            return state.end > mine.offset || state.isOver
        }
    }

    /// How many clients read or are about to.
    package var interest: Int { state.withLock { $0.readers.count + $0.expected } }

    /// Whether the response is known and shared, for those who decide whether to join.
    package var isAnswered: Bool { state.withLock { $0.answer != nil } }

    /// Whether the producer waits for slow readers.
    package var isHoldingBack: Bool { state.withLock { $0.producer != nil } }

    /// The answer, if there is one.
    package var currentAnswer: Answer? { state.withLock { $0.answer } }

    // MARK: Producing

    /// Calls `action` when the last reader leaves before the end, from then on.
    package func onAbandoned(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.onAbandoned = action }
    }

    /// Tells the readers of an interim response.
    package func announce(interim head: ResponseHead) {
        wakeAll { $0.interims.append(head) }
    }

    /// Tells the readers what became of the request. `retains` keeps all content for the memory tier.
    package func announce(_ answer: Answer, retains: Bool = false, spool: (any ContentSpool)? = nil) {
        wakeAll { state in
            state.answer = answer
            state.retains = retains
            state.spool = spool
            if case .failed(let error) = answer { state.error = error }
        }
    }

    /// Gives the readers a chunk. Follow it by `room`.
    package func append(_ chunk: ContentChunk) {
        wakeAll { state in
            state.chunks.append(chunk)
            state.end += Int64(chunk.count)
            _ = trim(&state)
        }
    }

    /// Waits until the window has room again: at once unless a reader without a spool is slow.
    package func room() async {
        guard state.withLock({ state in isFull(state) }) else { return }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let mustWait = state.withLock { state in
                guard isFull(state) else { return false }
                state.producer = continuation
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    /// From now on content passes through the window: it grew beyond what memory keeps.
    package func stopRetaining() {
        let producer = state.withLock { state in
            state.retains = false
            return trim(&state)
        }
        producer?.resume()
    }

    /// The store gave up: readers that are behind the window have lost their place.
    package func dropSpool() {
        wakeAll { $0.spool = nil }
    }

    /// Waits until every reader has what only the spool holds, then does without: from there on slow readers hold
    /// the producer back.
    package func retireSpool() async {
        state.withLock { $0.isSpoolEnding = true }
        await room()
        wakeAll { state in
            state.isSpoolEnding = false
            state.spool = nil
        }
    }

    /// All content so far, if it was retained whole.
    package var retainedContent: [ContentChunk]? {
        state.withLock { $0.retains && $0.start == 0 ? $0.chunks : nil }
    }

    /// The content is complete.
    package func finish(trailers: Fields) {
        wakeAll { state in
            state.trailers = trailers
            // It may hold what holds this flight.
            state.onAbandoned = nil
        }
    }

    /// The load broke off; readers get what came before, then the error.
    package func fail(_ error: any Error) {
        wakeAll { state in
            state.error = error
            state.onAbandoned = nil
            if state.answer == nil { state.answer = .failed(error) }
        }
    }

    // MARK: Private parts

    private func wait(_ reader: Int, until isReady: (State) -> Bool) async {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            let mustWait = state.withLock { state in
                guard let mine = state.readers[reader], !mine.isInterrupted, !isReady(state) else { return false }
                state.readers[reader]!.waiting = continuation
                return true
            }
            if !mustWait { continuation.resume() }
        }
    }

    private func wakeAll(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            return state.readers.keys.compactMap { take($0, &state) }
        }
        for continuation in waiting { continuation.resume() }
    }

    private func take(_ reader: Int, _ state: inout State) -> UnsafeContinuation<Void, Never>? {
        guard let waiting = state.readers[reader]?.waiting else { return nil }
        state.readers[reader]!.waiting = nil
        return waiting
    }

    /// Up to 16 chunks from `offset`, the first cut if the reader stands inside it.
    private func pieces(from offset: Int64, _ state: State) -> [ContentChunk] {
        var position = state.start
        var found: [ContentChunk] = []
        for chunk in state.chunks where found.count < 16 {
            let next = position + Int64(chunk.count)
            if next > offset {
                let skipped = Int(max(0, offset - position))
                found.append(skipped == 0 ? chunk : chunk.suffix(from: skipped))
            }
            position = next
        }
        return found
    }

    /// Drops what nobody needs from the window, and returns the producer if there is room for it again.
    private func trim(_ state: inout State) -> UnsafeContinuation<Void, Never>? {
        guard !state.retains else { return nil }
        // Who is about to read begins at the beginning.
        let slowest = state.expected > 0 ? state.start : state.readers.values.map(\.offset).min() ?? state.end
        var dropped = 0
        for chunk in state.chunks {
            let next = state.start + Int64(chunk.count)
            let isPassed = next <= slowest
            let isSpooled = state.spool != nil && state.retained > window
            guard isPassed || isSpooled else { break }
            state.start = next
            dropped += 1
        }
        state.chunks.removeFirst(dropped)
        guard !isFull(state), let producer = state.producer else { return nil }
        state.producer = nil
        return producer
    }

    private func isFull(_ state: State) -> Bool {
        if state.retains || state.isOver || state.readers.isEmpty && state.expected == 0 { return false }
        if state.isSpoolEnding { return state.readers.values.contains { $0.offset < state.start } }
        return state.spool == nil && state.retained >= window
    }
}

/// What a store writes content to while it arrives, and slow readers read back from.
package protocol ContentSpool: ContentReader {}

package enum FlightError: Error {
    /// The reader was slower than the window and nothing on disk holds what it missed.
    case fellBehind
    /// All clients left before the response was complete.
    case abandoned
    /// The Resource was wiped or the load cancelled by an operator.
    case cancelled
}
