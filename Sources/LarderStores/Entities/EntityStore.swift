// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// Storage of entities beyond memory: the operations of any store.
///
/// Operations on one key take effect in the order in which they were called, for readers at once and on disk soon
/// after. Nothing here throws: an entity that cannot be stored is dropped, one that cannot be read is a miss. Calls
/// that are not `async` never block and may be made from any thread.
package protocol EntityStore: Sendable {
    associatedtype Writer: EntityWriting
    associatedtype Reader: ContentReading

    /// Whether something may be stored under `key`. False is certain; true may be a false positive.
    func mayContain(_ key: EntityKey) -> Bool

    /// All variants stored under `key`, the latest `storedAt` first.
    func read(_ key: EntityKey) async -> [EntityRecord]

    /// Opens content for reading in parts; nil if it is missing or damaged. Opened content stays readable even if its
    /// entity is removed.
    func openContent(_ reference: ContentReference) async -> Reader?

    /// Begins to store an entity, which replaces the one of the same key and variant when it is finished.
    ///
    /// - Parameters:
    ///   - expectedLength: the length of the content in octets, if known; content of any other length is not stored.
    ///   - labels: the labels by which it is found.
    ///   - history: whether it and those that it supersedes are kept as versions.
    func beginWrite(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        storedAt: Timestamp, expires: Timestamp?, expectedLength: Int64?, labels: [EntityLabel], history: EntityHistory
    ) -> Writer

    /// Replaces the head and times of an entity, as a validation does (RFC 9111 §4.3.4), if it is still the one that
    /// was stored at `ifStoredAt`; otherwise nothing happens.
    ///
    /// - Parameter labels: replace the existing ones; nil keeps those.
    func updateHead(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        expires: Timestamp?, ifStoredAt: Timestamp, labels: [EntityLabel]?)

    /// Records that `key` was used, so that eviction skips it once.
    func touch(_ key: EntityKey)

    /// The entities under a key and those that they superseded, the latest first, as far as they are committed.
    ///
    /// - Parameter number: the one whose content can be opened.
    func versions(_ key: EntityKey, openable number: Int64?) async -> [EntityVersion]

    /// Removes all variants.
    func remove(_ key: EntityKey, because reason: RemovalReason)

    func remove(_ key: EntityKey, variant: [UInt8], because reason: RemovalReason)

    /// Removes entities that match and were stored before the call. Returns their number.
    @discardableResult
    func removeAll(where match: EntityMatch, because reason: RemovalReason) async -> Int

    /// Begins to remove entities that match and were stored before the call; from now on readers see none of them. With
    /// a label the cost does not depend on the size of the store.
    func beginRemoval(_ match: EntityMatch, because reason: RemovalReason)

    /// Whether anything may have the label. False is certain; true may be a false positive.
    func mayContain(_ label: EntityLabel) -> Bool

    /// Removes everything, including all traces of it that the store can reach.
    func wipe() async

    /// Up to `limit` committed entities that match, in the order of their commits, starting after `row`.
    func list(after row: Int64?, limit: Int, where match: EntityMatch) async -> [EntityListing]

    /// Returns when all earlier operations are committed, or were dropped. Retries failed ones at once.
    func flush() async

    /// Commits the accepted operations, and closes all files. Later calls find nothing and store nothing.
    func close() async

    var statistics: StoreStatistics { get }
}

extension EntityStore {
    /// Removes all variants, and their versions.
    package func remove(_ key: EntityKey) { remove(key, because: .wiped) }

    package func remove(_ key: EntityKey, variant: [UInt8]) { remove(key, variant: variant, because: .wiped) }

    /// Removes entities that match and were stored before the call, and their versions. Returns their number.
    @discardableResult
    package func removeAll(where match: EntityMatch) async -> Int { await removeAll(where: match, because: .wiped) }

    /// Begins to store an entity without versions.
    package func beginWrite(
        _ key: EntityKey, variant: [UInt8], head: [UInt8], requestTime: Timestamp, responseTime: Timestamp,
        storedAt: Timestamp, expires: Timestamp?, expectedLength: Int64?, labels: [EntityLabel]
    ) -> Writer {
        beginWrite(
            key, variant: variant, head: head, requestTime: requestTime, responseTime: responseTime,
            storedAt: storedAt, expires: expires, expectedLength: expectedLength, labels: labels,
            history: EntityHistory())
    }

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

/// An entity being written to a store. Any thread may call, one at a time for `append` and
/// `finish`. A writer that is released without `finish` stores nothing.
package protocol EntityWriting: Sendable {
    /// Appends content. Never blocks; keeps the chunk until it is written.
    func append(_ chunk: ContentChunk)

    /// Declares the content complete. The entity can be read from now on. Returns false if it is not stored.
    ///
    /// - Parameters: values known only at the end, which replace those of `beginWrite`.
    @discardableResult
    func finish(head: [UInt8]?, expires: Timestamp??) -> Bool

    /// Cancels the write; the previously stored entity stays.
    func abort()

    /// Reads appended content, while it is written and as long as the writer is retained: at least one and up to
    /// `count` octets beginning at `offset`; nil if there are none yet, or the write was cancelled.
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
        /// Longer than the store allows.
        case tooLarge
        /// Not of the length announced at the beginning.
        case wrongLength
        /// Too many octets wait to be written.
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

    /// At least one and up to `count` octets beginning at `offset`, verified against their digest; nil at the end, or
    /// if they are unavailable, in which case the content must not be passed off as complete.
    func read(at offset: Int64, count: Int) async -> ContentChunk?
}
