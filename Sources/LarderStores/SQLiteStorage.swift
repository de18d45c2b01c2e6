// SPDX-License-Identifier: Apache-2.0

public import Larder
import LarderHTTP
import LarderIO

/// A directory for caches of a service that outlive the process: the daemon's own store, for programs that use the
/// library without it.
///
/// The directory belongs to one process at a time. Written entities can be read at once and are on disk some fifty
/// milliseconds later; a process that is killed loses no more than that. Damaged entries are misses.
public final class SQLiteStorage: Sendable {
    let store: SQLiteStore
    let clock: any ModelClock

    /// Opens a directory, which is created if it is missing.
    ///
    /// - Parameters:
    ///   - directory: a path; this storage owns all files in it.
    ///   - limit: the most bytes that the directory may occupy, at least 4 MiB; least used entries are evicted first.
    ///   - clock: the clock for the times of writing.
    /// - Throws: `StoreError` when the directory is in use, or unusable.
    public init(
        directory: String, limit: Int64 = 1 << 30, clock: any ModelClock = SystemModelClock()
    ) throws(StoreError) {
        store = try SQLiteStore.open(
            StoreSettings(path: directory, diskLimit: limit, now: { clock.now }), events: { _ in })
        self.clock = clock
    }

    /// A cache for one stage or several, whose content is of one type.
    public func cache<Content: StorableContent>(of type: Content.Type = Content.self) -> SQLiteCache<Content> {
        SQLiteCache(self)
    }

    /// Removes everything.
    public func removeAll() async { await store.wipe() }

    /// Returns when all earlier writes are on disk.
    public func flush() async { await store.flush() }

    /// Completes the pending writes, and releases the directory. Afterwards the storage finds and stores no entity.
    public func close() async { await store.close() }
}

/// A cache in the directory of a `SQLiteStorage`.
public struct SQLiteCache<Content: StorableContent>: EntityCache {
    private let storage: SQLiteStorage

    init(_ storage: SQLiteStorage) { self.storage = storage }

    /// The key is the subject itself. Subjects with NUL in their names are not stored.
    public func key(for subject: CacheSubject) -> CacheSubject? {
        let names = [subject.service, subject.partition.name, subject.stage.name]
        return names.contains { $0.utf8.contains(0) } ? nil : subject
    }

    /// The entity last written, or nil; nil as well when it was damaged.
    ///
    /// - Throws: if the entity cannot be read at the moment, or its bytes are not content.
    public func readEntity(for key: CacheSubject) async throws -> Entity<Content>? {
        let variant = key.storedVariant
        guard let record = try await storage.store.read(key.entityKey).first(where: { $0.variant == variant }),
            let octets = try await octets(of: record.content)
        else { return nil }
        guard let head = StoredHead(record.head) else { throw StoredOctetsError() }
        return head.entity(of: try Content(storedOctets: octets))
    }

    /// Stores an entity, replacing the previous one.
    ///
    /// - Throws: when it cannot be stored: it is too long, or the disk fails.
    public func writeEntity(_ entity: Entity<Content>, for key: CacheSubject) async throws {
        let octets = try entity.content.storedOctets()
        let writer = storage.store.beginWrite(
            key.entityKey, variant: key.storedVariant, head: StoredHead(entity).octets,
            requestTime: entity.requestTime ?? entity.timestamp, responseTime: entity.responseTime ?? entity.timestamp,
            storedAt: storage.clock.now, expires: nil, expectedLength: Int64(octets.count))
        writer.append(ContentChunk(octets))
        guard writer.finish() else { throw NotStoredError(state: writer.state) }
    }

    /// Removes the entity; reads return nil until the next write.
    public func removeEntity(for key: CacheSubject) {
        storage.store.remove(key.entityKey, variant: key.storedVariant)
    }

    private func octets(of reference: ContentReference) async throws(StoreUnavailable) -> [UInt8]? {
        switch reference.location {
        case .empty: return []
        case .inline(let chunk): return Array(chunk.bytes)
        case .file:
            guard let reader = try await storage.store.openContent(reference) else { return nil }
            var octets: [UInt8] = []
            octets.reserveCapacity(Int(reader.length))
            while octets.count < Int(reader.length) {
                guard let piece = try await reader.read(at: Int64(octets.count), count: 1 << 20) else { return nil }
                octets.append(contentsOf: piece.bytes)
            }
            return octets
        }
    }
}

/// An entity that could not be stored.
struct NotStoredError: Error, CustomStringConvertible {
    let state: EntityWriterState
    var description: String { "the store did not take it: \(state)" }
}

extension CacheSubject {
    fileprivate var entityKey: EntityKey {
        EntityKey(service: service, partition: partition.name, stage: stage.name, url: url.description)
    }

    fileprivate var storedVariant: [UInt8] { Array(variant.utf8) }
}

/// The metadata of an entity as bytes, and back.
private struct StoredHead {
    private static let version: UInt8 = 1

    private let status: Status
    private let charset: String?
    private let times: [Timestamp?]
    private let fields: Fields

    init<Content>(_ entity: Entity<Content>) {
        status = entity.status
        charset = entity.charset
        times = [entity.timestamp, entity.requestTime, entity.responseTime]
        fields = entity.fields
    }

    /// Nil unless the bytes are exactly the output of `octets`.
    init?(_ octets: [UInt8]) {
        var reader = OctetReader(octets)
        guard reader.byte() == Self.version, let status = reader.number(), case .some(let charset) = reader.optional()
        else { return nil }
        self.status = Status(rawValue: status)
        self.charset = charset.map { String(decoding: $0, as: UTF8.self) }
        var times: [Timestamp?] = []
        for _ in 0..<3 {
            guard let isThere = reader.byte(), isThere <= 1 else { return nil }
            guard isThere == 1 else {
                times.append(nil)
                continue
            }
            guard let nanoseconds = reader.place() else { return nil }
            times.append(Timestamp(nanoseconds: nanoseconds))
        }
        guard times[0] != nil, let fields = reader.fields(), reader.isAtEnd else { return nil }
        self.times = times
        self.fields = fields
    }

    var octets: [UInt8] {
        var out = OctetWriter(room: OctetWriter.room(for: fields) + 64)
        out.append(Self.version)
        out.append(status.rawValue)
        out.append(optional: charset.map { Array($0.utf8) })
        for time in times {
            out.append(UInt8(time == nil ? 0 : 1))
            // Nothing was received before 1970.
            if let time { out.append(place: max(0, time.nanoseconds)) }
        }
        out.append(fields)
        return out.octets
    }

    func entity<Content>(of content: Content) -> Entity<Content> {
        Entity(
            content: content, fields: fields, status: status, charset: charset,
            timestamp: times[0] ?? Timestamp(nanoseconds: 0), requestTime: times[1], responseTime: times[2])
    }
}
