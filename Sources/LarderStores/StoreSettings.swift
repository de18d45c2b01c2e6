// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// How a store is kept.
package struct StoreSettings: Sendable {
    /// The directory of the store. It is made if it is missing, and belongs to one process at a time.
    package var path: String
    /// The most octets that everything in the directory may take together. At least `smallestDiskLimit`.
    package var diskLimit: Int64
    /// Content of up to so many octets lies in the database, longer content in a file of its own.
    package var inlineLimit: Int
    /// Longer content is not stored. At most an eighth of `diskLimit`.
    package var maxObject: Int64
    /// How many threads read.
    package var readers: Int
    /// How long the first of a group of writes waits for others.
    package var commitInterval: Duration
    /// A group of so many octets is committed without waiting.
    package var commitBytes: Int
    /// The most octets of content that may wait in memory to be written; what comes on top is not stored.
    package var queueLimit: Int
    /// How many reads may wait; what comes on top is a miss.
    package var readQueueLimit: Int
    /// The most variants of one key that a read returns; older ones are removed.
    package var variantLimit: Int
    /// How long after a failure of the disk writing is tried again. Doubles with each failure, up to 64 times.
    package var coolDown: Duration
    /// How much of the database is read through mapped memory. None by default: a disk that fails, or a file that
    /// is cut while it is mapped, then kills the process, which is a high price for two microseconds a read.
    package var mappedBytes: Int64
    /// The time, for expiry and for naming what is set aside.
    package var now: @Sendable () -> Timestamp
    /// How long after it has found nothing more to do the writer looks after its directory and its database again.
    var idleInterval = Duration.seconds(5)
    /// The most pages the database may have; a way for tests to fill the disk.
    var pageLimit: Int64?

    package static let smallestDiskLimit: Int64 = 4 << 20

    package init(path: String, diskLimit: Int64, now: @escaping @Sendable () -> Timestamp) {
        self.path = path
        self.diskLimit = diskLimit
        inlineLimit = 64 << 10
        maxObject = diskLimit / 8
        readers = 2
        commitInterval = .milliseconds(50)
        commitBytes = 4 << 20
        queueLimit = 64 << 20
        readQueueLimit = 4096
        variantLimit = 64
        coolDown = .seconds(5)
        mappedBytes = 0
        self.now = now
    }

    /// How much room is kept free below the limit, so that it holds between two slices of eviction.
    static func reserve(below limit: Int64) -> Int64 { limit / 32 }
    /// A log of so many octets is written back to the database.
    static func checkpointBytes(below limit: Int64) -> Int64 { min(max(limit / 32, 256 << 10), 64 << 20) }
    /// `commitBytes`, or less where the limit is small.
    var groupBytes: Int { Int(min(Int64(commitBytes), max(diskLimit / 64, 64 << 10))) }
    var longestContent: Int64 { min(maxObject, diskLimit / 8) }
}
