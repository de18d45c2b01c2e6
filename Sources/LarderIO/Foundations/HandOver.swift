// SPDX-License-Identifier: Apache-2.0

/// Has a job run elsewhere and waits for its result, which `start` has given to `finish` once.
///
/// It is handed over under a lock: the thread sanitizer does not see that resuming a task orders the accesses of both.
@inlinable
package func handedOver<Value: Sendable>(
    _ start: (_ finish: @escaping @Sendable (Value) -> Void) -> Void
) async -> Value {
    let place = Lock<Value?>(nil)
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        start { value in
            place.withLock { $0 = value }
            continuation.resume()
        }
    }
    // Holds: it is there before the task is resumed.
    return place.withLock { $0! }
}
