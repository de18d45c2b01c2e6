// SPDX-License-Identifier: Apache-2.0
import DequeModule
import Glibc
import LarderIO

/// The state of a `WriteQueue`, in stripes by the hashes of keys.
///
/// A request works on the stripe of its key with the lock of that stripe alone. The terms, which are about all keys, are
/// read with any stripe's lock and changed with all of them. The writing thread waits for the queue here.
// @unchecked: a stripe is reached only with its lock held; the rest of the state with all locks, but for its terms,
// which are read with one.
final class QueueStripes: @unchecked Sendable {
    /// The part of the queue that is about some keys.
    struct Stripe {
        /// Operations that the writing thread has not looked at.
        var items: Deque<WriteQueue.Queued> = []
        /// Visible operations.
        var pending = PendingOperations()
        /// True if there is something that the writing thread waits for.
        var wakesWriter = false
    }

    /// The part of the queue that decides what becomes of an operation.
    struct Terms {
        var removals = WaitingRemovals()
        var acceptsWrites = true
        var isRefusing = false
    }

    /// A caller that waits until what these removals are about is gone from the database.
    struct Settlement {
        var removals: Set<ObjectIdentifier>
        let continuation: UnsafeContinuation<Bool, Never>
    }

    /// The whole queue.
    struct State {
        fileprivate let stripes: UnsafeMutablePointer<Stripe>
        var terms = Terms()
        /// Items in their order, as far as they have been collected.
        var items: Deque<WriteQueue.Queued> = []
        /// The callers that wait until certain removals have ended.
        var settlements: [Settlement] = []
        var isHurried = false
        /// True if a group was taken since the last turn of the removals.
        var isRemovalsTurn = false
        var isClosing = false
        var isClosed = false
        /// True if there is something that the writing thread waits for.
        var wakesWriter = false

        fileprivate init(_ stripes: UnsafeMutablePointer<Stripe>) { self.stripes = stripes }

        /// The stripe of a key's hash.
        subscript(hash: UInt64) -> Stripe {
            get { stripes[place(of: hash)] }
            nonmutating _modify { yield &stripes[place(of: hash)] }
        }

        /// Appends what is in the stripes to `items`. Operations on different keys are in no order until a command
        /// comes: the command follows all operations that were accepted before it.
        mutating func collect() {
            for number in 0..<count where !stripes[number].items.isEmpty {
                items.append(contentsOf: stripes[number].items)
                stripes[number].items.removeAll(keepingCapacity: true)
            }
        }

        /// All visible operations, in order for each hash.
        var pending: [Operation] { (0..<count).flatMap { stripes[$0].pending.all } }

        /// The visible operations that `isMeant` accepts, in order for each hash.
        func pending(where isMeant: (Operation) -> Bool) -> [Operation] {
            (0..<count).flatMap { stripes[$0].pending.filter(isMeant) }
        }

        var pendingCount: Int { (0..<count).reduce(0) { $0 + stripes[$1].pending.count } }

        fileprivate mutating func takeWakes() -> Bool {
            var wakes = wakesWriter
            wakesWriter = false
            for number in 0..<count where stripes[number].wakesWriter {
                stripes[number].wakesWriter = false
                wakes = true
            }
            return wakes
        }
    }

    private static let bits: UInt64 = 5
    private static let count = 1 << bits
    private static func place(of hash: UInt64) -> Int { Int(hash >> (64 - bits)) }

    private let locks = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: count)
    private let stripes = UnsafeMutablePointer<Stripe>.allocate(capacity: count)
    private let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
    /// The writing thread waits here. Held while all stripes are locked; never requested with one stripe locked.
    private let changes = Monitor(())

    init() {
        stripes.initialize(repeating: Stripe(), count: Self.count)
        state.initialize(to: State(stripes))
        for number in 0..<Self.count {
            (locks + number).initialize(to: pthread_mutex_t())
            pthread_mutex_init(locks + number, nil)
        }
    }

    deinit {
        for number in 0..<Self.count { pthread_mutex_destroy(locks + number) }
        locks.deallocate()
        state.deinitialize(count: 1)
        state.deallocate()
        stripes.deinitialize(count: Self.count)
        stripes.deallocate()
    }

    /// Calls `body` with the terms and the stripe of a key's hash, while no other thread can change either.
    func withStripe<Result>(of hash: UInt64, _ body: (Terms, inout Stripe) -> Result) -> Result {
        let place = Self.place(of: hash)
        let stripe = stripes + place
        pthread_mutex_lock(locks + place)
        let result = body(state.pointee.terms, &stripe.pointee)
        let wakes = stripe.pointee.wakesWriter
        stripe.pointee.wakesWriter = false
        pthread_mutex_unlock(locks + place)
        // The thread may have looked before this change, and not wait yet: then it has `changes`.
        if wakes { changes.change { _ in } }
        return result
    }

    /// Calls `body` with the whole queue, while no other thread can reach any of it.
    func withAll<Result>(_ body: (inout State) -> Result) -> Result {
        changes.withLock { _ in
            let (result, wakes) = withStripesLocked { state in (body(&state), state.takeWakes()) }
            if wakes { changes.notify() }
            return result
        }
    }

    /// Calls `body` with the whole queue now and whenever the writing thread is woken, until it returns something.
    func wait<Result>(for body: (inout State) -> Wait<Result>) -> Result {
        changes.wait { _ in withStripesLocked(body) }
    }

    private func withStripesLocked<Result>(_ body: (inout State) -> Result) -> Result {
        for number in 0..<Self.count { pthread_mutex_lock(locks + number) }
        defer { for number in 0..<Self.count { pthread_mutex_unlock(locks + number) } }
        return body(&state.pointee)
    }
}
