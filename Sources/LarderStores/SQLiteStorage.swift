// SPDX-License-Identifier: Apache-2.0

public import Larder
import LarderHTTP
import LarderIO

/// A directory in which caches of a service keep what has to outlive the process: the daemon's own store, for programs
/// that use the library without it.
///
/// The directory belongs to one process at a time. What is written can be read at once and is on disk some fifty
/// milliseconds later; a process that is killed loses no more than that. Damaged entries are misses.
public final class SQLiteStorage: Sendable {
    let store: SQLiteStore
    let clock: any ModelClock

    /// Opens a directory, which is made if it is missing.
    ///
    /// - Parameters:
    ///   - directory: a path; what is there belongs to this alone.
    ///   - limit: the most octets that the directory may take, at least 4 MiB; what is used least goes first.
    ///   - clock: what tells when something was stored.
    /// - Throws: `StoreError` when the directory is in use, or of no use.
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

    /// Returns when all that was written before is on disk.
    public func flush() async { await store.flush() }

    /// Writes what is still to be written, and gives the directory up. From then on nothing is found or kept.
    public func close() async { await store.close() }
}

/// A cache in the directory of a `SQLiteStorage`.
public struct SQLiteCache<Content: StorableContent>: EntityCache {
    private let storage: SQLiteStorage

    init(_ storage: SQLiteStorage) { self.storage = storage }

    /// Everything that tells subjects apart tells entries apart. Names with NUL in them are not kept.
    public func key(for subject: CacheSubject) -> CacheSubject? {
        let names = [subject.service, subject.partition.name, subject.stage.name]
        return names.contains { $0.utf8.contains(0) } ? nil : subject
    }

    /// What was last written, or nil; nil as well when it was damaged.
    public func readEntity(for key: CacheSubject) async throws -> Entity<Content>? {
        let variant = key.storedVariant
        guard let record = await storage.store.read(key.entityKey).first(where: { $0.variant == variant }),
            let octets = await octets(of: record.content)
        else { return nil }
        guard let head = StoredHead(record.head) else { throw StoredOctetsError() }
        return head.entity(of: try Content(storedOctets: octets))
    }

    /// Keeps an entity in the place of what was there.
    ///
    /// - Throws: when the store cannot take it: it is too long, or the disk refuses.
    public func writeEntity(_ entity: Entity<Content>, for key: CacheSubject) async throws {
        let octets = try entity.content.storedOctets()
        let writer = storage.store.beginWrite(
            key.entityKey, variant: key.storedVariant, head: StoredHead(entity).octets,
            requestTime: entity.requestTime ?? entity.timestamp, responseTime: entity.responseTime ?? entity.timestamp,
            storedAt: storage.clock.now, expires: nil, expectedLength: Int64(octets.count))
        writer.append(ContentChunk(octets))
        guard writer.finish() else { throw NotStoredError(state: writer.state) }
    }

    /// Afterwards nothing is there until the next write.
    public func removeEntity(for key: CacheSubject) {
        storage.store.remove(key.entityKey, variant: key.storedVariant)
    }

    private func octets(of reference: ContentReference) async -> [UInt8]? {
        switch reference.location {
        case .empty: return []
        case .inline(let chunk): return Array(chunk.bytes)
        case .file:
            guard let reader = await storage.store.openContent(reference) else { return nil }
            var octets: [UInt8] = []
            octets.reserveCapacity(Int(reader.length))
            while octets.count < Int(reader.length) {
                guard let piece = await reader.read(at: Int64(octets.count), count: 1 << 20) else { return nil }
                octets.append(contentsOf: piece.bytes)
            }
            return octets
        }
    }
}

/// The store did not take an entity.
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

/// What is known of an entity beside its content, as octets and back.
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

    /// Nil when the octets are not exactly what `octets` makes.
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
