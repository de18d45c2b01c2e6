// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// The settings of a store.
package struct StoreSettings: Sendable {
    /// The directory of the store. It is created if it is missing, and belongs to one process at a time.
    package var path: String
    /// The most bytes that the whole directory may occupy. At least `smallestDiskLimit`.
    package var diskLimit: Int64
    /// Content up to this length is stored in the database or in segments, longer content in a separate file.
    package var inlineLimit: Int
    /// Longer content is not stored. At most an eighth of `diskLimit`.
    package var maxObject: Int64
    /// The number of reading threads.
    package var readers: Int
    /// How long the first of a group of writes waits for others.
    package var commitInterval: Duration
    /// A group of this many bytes is committed without waiting.
    package var commitBytes: Int
    /// The most bytes of content that may wait in memory to be written; content beyond is not stored.
    package var queueLimit: Int
    /// How many reads may wait; reads beyond are misses.
    package var readQueueLimit: Int
    /// The most variants of one key that a read returns; older ones are removed.
    package var variantLimit: Int
    /// How long to wait after a disk failure before writing is retried. Doubles with each failure, up to 64 times.
    package var coolDown: Duration
    /// How much of the database is memory-mapped for reading. None by default: a failing disk, or a file that is
    /// truncated while it is mapped, then kills the process, which is a high price for two microseconds a read.
    package var mappedBytes: Int64
    /// The time, for expiry and for naming databases set aside.
    package var now: @Sendable () -> Timestamp
    /// How long an idle writer waits before it checks its directory and its database again.
    var idleInterval = Duration.seconds(5)
    /// The most pages the database may have; lets tests fill the disk.
    var pageLimit: Int64?

    /// Content up to this length is stored in its row, longer content in a segment.
    var rowLimit = 8 << 10
    /// Content up to this length that is in no file is stored once per entity. Other content is stored once for all
    /// entities that have it.
    static let ownLimit: Int64 = 8 << 10
    /// True if the file system's holes are used; lets tests do without.
    var punchesHoles = true

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

    /// How much room is kept free below the limit, so that it is not exceeded between two slices of eviction.
    static func reserve(below limit: Int64) -> Int64 { limit / 32 }
    /// The length in bytes at which the log is checkpointed.
    static func checkpointBytes(below limit: Int64) -> Int64 { min(max(limit / 32, 256 << 10), 64 << 20) }
    /// The length in bytes at which another segment is begun.
    static func segmentBytes(below limit: Int64) -> Int64 { min(max(limit / 64, 256 << 10), 64 << 20) }
    /// `commitBytes`, or less where the limit is small.
    var groupBytes: Int { Int(min(Int64(commitBytes), max(diskLimit / 64, 64 << 10))) }
    var longestContent: Int64 { min(maxObject, diskLimit / 8) }
}
