// SPDX-License-Identifier: Apache-2.0
import LarderIO

extension Session where Request: Hashable {
    /// A session that shares the work for equal requests while it is under way: later callers get the values so far and
    /// then the rest. When it has ended, in whatever way, the next request starts new work. When all callers have left,
    /// the work is cancelled.
    public func deduplicated() -> AnySession<Request, Value, Failure> {
        let flights = Lock<[Request: SharedWork<Value, Failure>]>([:])
        return AnySession { request in
            Values {
                let (flight, isNew) = flights.withLock { flights -> (SharedWork<Value, Failure>, Bool) in
                    if let flight = flights[request], flight.join() { return (flight, false) }
                    let flight = SharedWork<Value, Failure>()
                    flights[request] = flight
                    return (flight, true)
                }
                let seat = Seat(flight)
                if isNew {
                    flight.begin(values(for: request)) {
                        flights.withLock { if $0[request] === flight { $0[request] = nil } }
                    }
                }
                return { () async throws(Failure) -> Value? in try await seat.next() }
            }
        }
    }
}

/// Work that several iterators share.
private final class SharedWork<Value: Sendable, Failure: Error>: Sendable {
    private struct State {
        var values: [Value] = []
        var end: Result<Void, Failure>?
        var passengers = 1
        var isAbandoned = false
        var waiting: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var lastWaiter: UInt64 = 0
        var task: Task<Void, Never>?
    }

    private let state = Lock(State())

    /// Joins the work; false when it is over.
    func join() -> Bool {
        state.withLock { state in
            guard state.end == nil, !state.isAbandoned else { return false }
            state.passengers += 1
            return true
        }
    }

    /// Leaves the work; the last caller cancels it.
    func leave() {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.passengers -= 1
            guard state.passengers == 0, state.end == nil else { return nil }
            state.isAbandoned = true
            return state.task
        }
        task?.cancel()
    }

    func begin(_ source: Values<Value, Failure>, onEnd: @escaping @Sendable () -> Void) {
        let task = Task {
            let iteration = Iteration(source)
            do throws(Failure) {
                while let value = try await iteration.next() {
                    self.update { $0.values.append(value) }
                }
                onEnd()
                self.update { $0.end = .success(()) }
            } catch {
                onEnd()
                self.update { $0.end = .failure(error) }
            }
        }
        let isAbandoned = state.withLock { state in
            state.task = task
            return state.isAbandoned
        }
        if isAbandoned { task.cancel() }
    }

    private func update(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// The value at a position, nil after the last one; waits for it.
    func value(at position: Int) async throws(Failure) -> Value? {
        while true {
            let known = state.withLock { state -> Result<Value?, Failure>? in
                if position < state.values.count { return .success(state.values[position]) }
                return state.end?.map { nil }
            }
            if let known { return try known.get() }
            if Task.isCancelled { return nil }
            await waitForChange(after: position)
        }
    }

    private func waitForChange(after position: Int) async {
        let waiter = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    // Values may have arrived, or the task been cancelled, since the last check.
                    if position < state.values.count || state.end != nil || Task.isCancelled { return true }
                    state.waiting[waiter] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: waiter) }?.resume()
        }
    }
}

/// One iterator's share in the work, released when the iterator is done or deallocated.
private final class Seat<Value: Sendable, Failure: Error>: Sendable {
    private let flight: SharedWork<Value, Failure>
    private let position = Counter()
    private let hasLeft = Flag()

    init(_ flight: SharedWork<Value, Failure>) { self.flight = flight }

    deinit { if hasLeft.raise() { flight.leave() } }

    func next() async throws(Failure) -> Value? {
        let value = try await flight.value(at: position.next())
        if Task.isCancelled, hasLeft.raise() { flight.leave() }
        return value
    }
}
