// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// When to return freed memory to the system.
///
/// The allocator keeps memory freed by a thread for the same thread, so that a process stays as large as at its peak.
/// Returning it costs the loops a moment, and again when they need it: it is done once there is little load, and only
/// after there was some.
struct MemoryRelease {
    /// The interval between checks.
    static let interval = Duration.seconds(5)
    /// Fewer turns of all loops within an interval count as little load.
    private static let quiet = 500
    /// After fewer turns there is nothing worth returning.
    private static let effort = 1_000

    private var last = 0
    private var released = 0

    /// - Parameter turns: of all loops together, since the start.
    mutating func isDue(turns: Int) -> Bool {
        defer { last = turns }
        guard turns - last < Self.quiet, turns - released >= Self.effort else { return false }
        released = turns
        return true
    }

    /// Takes milliseconds.
    static func perform() { FreedMemory.release() }
}
