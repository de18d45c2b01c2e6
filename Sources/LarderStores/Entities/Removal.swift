// SPDX-License-Identifier: Apache-2.0

/// The removal of many entities, which takes several transactions. Until it is done, readers see none of the entities
/// that existed before it.
// @unchecked: mutable state is accessed only with the lock of the `WriteQueue` held, or, `nextID` and
// `isAmongVersions`, by the writer.
final class Removal: @unchecked Sendable {
    let match: EntityMatch
    let reason: RemovalReason
    /// Whether the writer has it: operations accepted now may be beyond it.
    var isTaken = false
    /// The last row that was written before; unknown until it begins.
    var lastID: Int64?
    var removed: Int
    /// Where the next slice begins.
    var nextID: Int64 = 0
    /// Whether that is among the versions.
    var isAmongVersions = false
    /// The caller that waits for the end; nil if it cannot be done now.
    var continuation: UnsafeContinuation<Int, Never>?

    init(match: EntityMatch, reason: RemovalReason, removed: Int, continuation: UnsafeContinuation<Int, Never>?) {
        self.match = match
        self.reason = reason
        self.removed = removed
        self.continuation = continuation
    }
}
