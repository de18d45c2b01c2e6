// SPDX-License-Identifier: Apache-2.0

/// Work that several callers need at the same time and one of them does: the first. The others wait until it is done.
package final class FirstCaller<Key: Hashable & Sendable>: Sendable {
    /// The waiting callers, for each key whose work is under way.
    private let waiting = Lock<[Key: [UnsafeContinuation<Bool, Never>]]>([:])

    package init() {}

    /// True if the caller must do the work for `key` and then call `end`. False once another caller has done the work
    /// and stored its result.
    ///
    /// Another caller may have ended just before: a caller that gets true looks for a result first.
    package func begin(_ key: Key) async -> Bool {
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
            let isFirst = waiting.withLock { waiting in
                guard waiting[key] != nil else {
                    waiting[key] = []
                    return true
                }
                waiting[key]?.append(continuation)
                return false
            }
            if isFirst { continuation.resume(returning: true) }
        }
    }

    /// The work for `key` is done, or has failed.
    package func end(_ key: Key) {
        for continuation in waiting.withLock({ $0.removeValue(forKey: key) }) ?? [] {
            continuation.resume(returning: false)
        }
    }
}
