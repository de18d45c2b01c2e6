// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// When to give freed memory back to the system.
///
/// The allocator keeps what a thread has freed for the same thread, so that a crowd of clients leaves a process that
/// looks as large as it ever was. Giving it back costs the loops a moment, and again when they need it: it is done
/// once there is little to do, and only after there was something.
struct MemoryRelease {
    /// How often to ask.
    static let interval = Duration.seconds(5)
    /// Fewer turns of all loops within an interval are little to do.
    private static let quiet = 500
    /// Fewer turns leave nothing worth the effort.
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
