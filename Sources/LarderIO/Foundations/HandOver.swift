// SPDX-License-Identifier: Apache-2.0

/// Has a job run elsewhere and waits for its result, which `start` has given to `finish` once.
///
/// It is handed over under a lock: the thread sanitizer does not see that resuming a task orders the accesses of both.
func handedOver<Value: Sendable>(
    _ start: (_ finish: @escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
) async throws -> Value {
    let place = Lock<Result<Value, any Error>?>(nil)
    await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        start { result in
            place.withLock { $0 = result }
            continuation.resume()
        }
    }
    // Holds: it is there before the task is resumed.
    return try place.withLock { $0! }.get()
}
