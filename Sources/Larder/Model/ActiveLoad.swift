// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
import Synchronization

/// A load under way, as its Resource lists it.
///
/// The response belongs to the first client alone, and nothing is prepared for others, until another client wants it or
/// its content outlasts its head. The load then gets a `SharedLoad`, for good. A load that is still private when it
/// leaves the list of its Resource stays private, because clients only join listed loads.
package final class ActiveLoad: Sendable {
    /// Requests to a running load.
    package enum CancelReason: Sendable {
        /// The last reader has left, or the last one who was interested otherwise: the how manieth time.
        case abandon(Int)
        /// It is to end even if others wait for it.
        case cancel
    }

    package typealias CancelAction = @Sendable (ActiveLoad, CancelReason) -> Void

    /// The request as it goes upstream, and whose `Vary` fields decide who may share the answer.
    package let request: RequestHead
    package let startedAt: Timestamp
    /// True if the request validates something stored.
    package let isValidation: Bool
    /// The version of the configuration that it is made and its response is transformed by.
    package let version: UInt64
    /// True if the origin is not asked: a stored response is transformed again.
    package let isRemaking: Bool
    private let mayBeJoined: Bool
    private let hasClient: Bool
    private let window: Int
    private let registry: Registry?
    private let onCancel: CancelAction
    private let sharedLoad = OnceReference<SharedLoad>()
    private let programs = OnceReference<ProgramLoad>()
    private let generation = Atomic<UInt64>(0)
    private let invalidationSequence = Atomic<UInt64>(0)
    /// The groups that were invalidated since it began, if some were: its response may turn out to be of one.
    private let voidGroups = OnceReference<GroupNames>()
    private let outdated = Atomic<Bool>(false)
    private let told = Atomic<Bool>(false)
    private let cancelled = Atomic<Bool>(false)

    /// - Parameters:
    ///   - hasClient: whether a client that is about to read began it; it must `read` or `forgo` a load that is shared.
    ///   - window: bytes retained for readers when the content is not retained whole.
    ///   - registry: the memory budget of completely retained content; without one it is unlimited.
    ///   - onCancel: called for every request to the load; on any thread, also when it is over.
    package init(
        request: RequestHead, at now: Timestamp, isValidation: Bool, isJoinable: Bool, isRemaking: Bool = false,
        version: UInt64 = 0, window: Int, hasClient: Bool, registry: Registry? = nil,
        onCancel: @escaping CancelAction = { _, _ in }
    ) {
        self.request = request
        startedAt = now
        self.isValidation = isValidation
        mayBeJoined = isJoinable
        self.version = version
        self.isRemaking = isRemaking
        self.window = window
        self.hasClient = hasClient
        self.registry = registry
        self.onCancel = onCancel
    }

    /// The mark of when its Resource listed it.
    package var mark: ResourceMemory.Mark {
        ResourceMemory.Mark(
            generation: generation.load(ordering: .relaxed),
            invalidationSequence: invalidationSequence.load(ordering: .relaxed), voidGroups: voidGroups.load())
    }

    /// Called once, before anybody else knows the load.
    func begin(at mark: (generation: UInt64, invalidationSequence: UInt64)) {
        generation.store(mark.generation, ordering: .relaxed)
        invalidationSequence.store(mark.invalidationSequence, ordering: .relaxed)
    }

    // MARK: Sharing

    /// The answer and content that its readers share; nil while it is private.
    package var shared: SharedLoad? { sharedLoad.load() }

    /// Shares it from now on.
    package func share() -> SharedLoad {
        shared ?? sharedLoad.storeIfNil(SharedLoad(window: window, expecting: hasClient ? 1 : 0, registry: registry))
    }

    /// Announces one more client; false when the load is over and cannot be joined.
    func retain() -> Bool { share().retain() }

    /// Ends a reader, once. When it was the last and the load still runs, it is abandoned.
    package func leave(_ reader: Int) { cancel(after: shared?.leave(reader)) }

    /// The client that began the load, and has not read, does not want it any more.
    package func forgo() { cancel(after: share().forgo()) }

    /// Looks again whether anybody reads: something else that was interested is no more.
    func reconsider() { cancel(after: shared?.reconsider()) }

    private func cancel(after departure: Int?) {
        if let departure { onCancel(self, .abandon(departure)) }
    }

    /// Cancels the load, even if others wait for it. Those who come now need another one, though its loop has yet to hear
    /// of this.
    package func cancel() {
        outdate()
        onCancel(self, .cancel)
    }

    /// Cancels the load for a reader that does not want it any more; false if anybody else reads or is about to.
    func cancelIfLast(_ reader: Int) -> Bool {
        guard share().closeIfLast(reader) else { return false }
        cancel()
        return true
    }

    /// True if no client reads or is about to, and no interest has appeared since that departure. Then no client will
    /// read: new clients need a load of their own, and this load can be cancelled without any client noticing.
    package func closeIfAbandoned(since departure: Int) -> Bool {
        guard shared?.closeIfAbandoned(since: departure) == true else { return false }
        outdate()
        return true
    }

    // MARK: State

    /// True if clients may join. False when the request is for its own client alone, the Resource was invalidated
    /// since, or the load is being cancelled because no client waits for it.
    package var isJoinable: Bool { mayBeJoined && !isOutdated }

    /// True if new clients need another load: the Resource was invalidated since this load began, or this load is being
    /// cancelled.
    package var isOutdated: Bool { outdated.load(ordering: .acquiring) }
    func outdate() { outdated.store(true, ordering: .releasing) }

    /// Makes new clients need another load, and voids the response if it belongs to `group`.
    func outdate(group: String) {
        voidGroups.storeIfNil(GroupNames()).insert(group)
        outdate()
    }

    /// True if it is being cancelled: what has not begun of it need not begin.
    package var isCancelled: Bool { cancelled.load(ordering: .relaxed) }
    package func noteCancelled() { cancelled.store(true, ordering: .relaxed) }

    /// True if the progress of the load was reported to observers.
    var isProgressTold: Bool { told.load(ordering: .relaxed) }
    func noteProgressTold() { told.store(true, ordering: .relaxed) }

    /// How many clients read or are about to.
    package var interest: Int { shared?.interest ?? (hasClient ? 1 : 0) }

    /// True if the response is known and shared, for those who decide whether to join.
    package var isAnswered: Bool { shared?.isAnswered ?? false }

    /// Bytes of content that have arrived so far.
    package var received: Int64 { shared?.received ?? 0 }

    /// How far the load has come, in the model's terms: the request is being sent until there is an answer, which
    /// counts as its first byte.
    package var transferred: TransferProgress.Counters {
        guard let shared, let answer = shared.currentAnswer else { return TransferProgress.Counters() }
        var counters = TransferProgress.Counters(received: Int(clamping: max(1, shared.received)))
        if case .response(_, let length?, _) = answer { counters.toReceive = Int(clamping: max(1, length)) }
        return counters
    }

    // MARK: Programs

    /// The load as programs see it.
    package var forPrograms: ProgramLoad { seenByPrograms ?? programs.storeIfNil(ProgramLoad()) }

    /// The load as programs see it, if a program has looked at it.
    var seenByPrograms: ProgramLoad? { programs.load() }

    /// True if it becomes one of the loads that programs see: not if a program's own request is that already, nor if it
    /// asks for parts or does not ask the origin at all.
    var isNewToPrograms: Bool { !isRemaking && !asksForPart && seenByPrograms?.id == nil }

    var asksForPart: Bool { request.fields.contains(.range) }
}
