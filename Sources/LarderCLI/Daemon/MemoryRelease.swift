// SPDX-License-Identifier: Apache-2.0

import LarderAdmin
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
    /// After fewer turns there is nothing worth returning, unless memory has grown: a crowd that comes at once takes
    /// few turns.
    private static let effort = 1_000
    /// Bytes in use more than after the last time.
    private static let growth: Int64 = 16 << 20

    private var last = 0
    private var released = 0
    private var remained: Int64?

    /// - Parameters:
    ///   - turns: of all loops together, since the start.
    ///   - resident: bytes of memory in use; nil where that is unknown.
    mutating func isDue(turns: Int, resident: Int64?) -> Bool {
        defer { last = turns }
        let hasGrown = if let resident, let remained { resident - remained >= Self.growth } else { false }
        if remained == nil { remained = resident }
        guard turns - last < Self.quiet, turns - released >= Self.effort || hasGrown else { return false }
        released = turns
        return true
    }

    /// Takes milliseconds.
    mutating func perform() {
        FreedMemory.release()
        remained = MemoryRelease.resident
    }

    /// Bytes of memory in use.
    static var resident: Int64? { ProcessUsage().residentBytes }
}
