// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// A place where entities live longer than memory does: what can be asked of any store.
///
/// Operations on one key take effect in the order in which they were called, for readers at once and on disk soon
/// after. Nothing here throws: what cannot be stored is dropped, what cannot be read is a miss. Calls that are not
/// `async` never block and may be made from any thread.
package protocol EntityStore: Sendable {
    associatedtype Writer: EntityWriting
    associatedtype Reader: ContentReading

    /// Whether something may be stored under `key`. False is certain; true may be an error of caution.
    func mayContain(_ key: EntityKey) -> Bool

    /// All variants stored under `key`, the latest `storedAt` first.
    func read(_ key: EntityKey) async -> [EntityRecord]

    /// Opens content for reading in parts; nil if it is gone or damaged. Opened content stays readable even if its
    /// entity is removed.
    func openContent(_ reference: ContentReference) async -> Reader?

    /// Begins to store an entity, which replaces the one of the same key and variant when it is finished.
    ///
    /// - Parameters:
    ///   - expectedLength: the octets of content there will be, if known; any other number is not stored.
    ///   - labels: by what else it is found.
    func beginWrite(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        storedAt: Timestamp, expires: Timestamp?, expectedLength: Int64?, labels: [EntityLabel]
    ) -> Writer

    /// Replaces the head and times of an entity, as a validation does (RFC 9111 §4.3.4), if it is still the one that
    /// was stored at `ifStoredAt`; otherwise nothing happens.
    ///
    /// - Parameter labels: in place of those it has; nil leaves them.
    func updateHead(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        expires: Timestamp?, ifStoredAt: Timestamp, labels: [EntityLabel]?)

    /// Notes that `key` was useful, so that eviction passes over it.
    func touch(_ key: EntityKey)

    /// Removes all variants.
    func remove(_ key: EntityKey)

    func remove(_ key: EntityKey, variant: [UInt8])

    /// Removes what matches and was stored before the call. Returns how many entities that were.
    @discardableResult
    func removeAll(where match: EntityMatch) async -> Int

    /// Begins to remove what matches and was stored before the call; from now on readers see none of it. With a label
    /// it costs the same however much is stored.
    func beginRemoval(_ match: EntityMatch)

    /// Whether anything may have the label. False is certain; true may be an error of caution.
    func mayContain(_ label: EntityLabel) -> Bool

    /// Removes everything, and whatever traces of it the store can reach.
    func wipe() async

    /// Up to `limit` committed entities that match, in the order of their commits, beginning behind `row`.
    func list(after row: Int64?, limit: Int, where match: EntityMatch) async -> [EntityListing]

    /// Returns when all that was accepted before is committed, or was given up. Retries at once what failed.
    func flush() async

    /// Commits what was accepted, and lets go of all files. Later calls find nothing and store nothing.
    func close() async

    var statistics: StoreStatistics { get }
}

extension EntityStore {
    /// Begins to store an entity without labels.
    package func beginWrite(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        storedAt: Timestamp, expires: Timestamp?, expectedLength: Int64?
    ) -> Writer {
        beginWrite(
            key, variant: variant, head: head, requestTime: requestTime, responseTime: responseTime,
            storedAt: storedAt, expires: expires, expectedLength: expectedLength, labels: [])
    }

    /// Replaces the head and times of an entity and leaves its labels.
    package func updateHead(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        expires: Timestamp?, ifStoredAt: Timestamp
    ) {
        updateHead(
            key, variant: variant, head: head, requestTime: requestTime, responseTime: responseTime, expires: expires,
            ifStoredAt: ifStoredAt, labels: nil)
    }
}

/// An entity on its way into a store. Any thread may call, one at a time for `append` and `finish`.
/// A writer that is let go without `finish` stores nothing.
package protocol EntityWriting: Sendable {
    /// Appends content. Never blocks; keeps the chunk until it is written.
    func append(_ chunk: ContentChunk)

    /// Declares the content complete. The entity can be read from now on. Returns false if it is not stored.
    ///
    /// - Parameters: what is known only at the end, in place of what `beginWrite` was given.
    @discardableResult
    func finish(head: [UInt8]?, expires: Timestamp??) -> Bool

    /// Gives up; what was stored before stays.
    func abort()

    /// Reads what was appended, while it is written and as long as the writer is kept: at least one and up to
    /// `count` octets beginning at `offset`; nil if there are none yet, or the content was given up.
    func readBack(at offset: Int64, count: Int) async -> ContentChunk?

    var state: EntityWriterState { get }
}

extension EntityWriting {
    @discardableResult
    package func finish() -> Bool { finish(head: nil, expires: nil) }
}

package enum EntityWriterState: Hashable, Sendable {
    case open
    case finished
    case abandoned(AbandonReason)

    package enum AbandonReason: Hashable, Sendable {
        /// Its owner called `abort`.
        case aborted
        /// Longer than the store takes.
        case tooLarge
        /// Not as long as was said at the beginning.
        case wrongLength
        /// Too much waits to be written.
        case queueFull
        /// The store is degraded or closed.
        case unavailable
        case diskFailed(String)
    }
}

/// Stored content, open for reading.
package protocol ContentReading: Sendable {
    /// In octets.
    var length: Int64 { get }

    /// At least one and up to `count` octets beginning at `offset`, checked against their digest; nil at the end,
    /// or if they cannot be had, in which case the content must not be passed off as complete.
    func read(at offset: Int64, count: Int) async -> ContentChunk?
}
