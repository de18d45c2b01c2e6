// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import Testing

@testable import LarderStores

/// Collects what a store reports.
final class EventLog: Sendable {
    private struct State {
        var events: [StoreEvent] = []
        var waiting: [(matches: @Sendable (StoreEvent) -> Bool, continuation: CheckedContinuation<StoreEvent, Never>)] =
            []
    }

    private let state = Lock(State())

    var events: [StoreEvent] { state.withLock { $0.events } }

    func record(_ event: StoreEvent) {
        let ready = state.withLock { state in
            state.events.append(event)
            let ready = state.waiting.filter { $0.matches(event) }
            state.waiting.removeAll { $0.matches(event) }
            return ready.map(\.continuation)
        }
        for continuation in ready { continuation.resume(returning: event) }
    }

    /// The first event that matches, waiting for it if need be.
    @discardableResult
    func first(where matches: @escaping @Sendable (StoreEvent) -> Bool) async -> StoreEvent {
        await withCheckedContinuation { continuation in
            let found = state.withLock { state in
                let found = state.events.first(where: matches)
                if found == nil { state.waiting.append((matches, continuation)) }
                return found
            }
            if let found { continuation.resume(returning: found) }
        }
    }
}

extension StoreEvent {
    var isKeysLoaded: Bool { if case .keysLoaded = self { true } else { false } }
    var isOrphansRemoved: Bool { if case .orphansRemoved = self { true } else { false } }
    var isSetAside: Bool { if case .setAside = self { true } else { false } }
    var isDegraded: Bool { if case .degraded = self { true } else { false } }
}

func key(_ url: String, service: String = "api", partition: String = "", stage: String = "rawData") -> EntityKey {
    EntityKey(service: service, partition: partition, stage: stage, url: "http://origin.example/" + url)
}

/// The right content for a name: anyone can compute it again.
func content(_ name: String, _ count: Int) -> [UInt8] {
    let unit = Array("[\(name) \(ContentDigest(of: Array(name.utf8)).hexadecimal.prefix(12))]".utf8)
    return [UInt8](unsafeUninitializedCapacity: count) { bytes, filled in
        for start in stride(from: 0, to: count, by: unit.count) {
            let part = unit.prefix(count - start)
            _ = UnsafeMutableBufferPointer(rebasing: bytes[start..<start + part.count]).initialize(fromContentsOf: part)
        }
        filled = count
    }
}

/// Under which digest a store has content.
func address(of bytes: [UInt8], in store: SQLiteStore) -> StoredDigest {
    address(of: bytes, StoredHashing(store.core.key?.secret))
}

func address(of bytes: [UInt8], _ hashing: StoredHashing) -> StoredDigest {
    let blocks = stride(from: 0, to: bytes.count, by: 256 << 10).map { start in
        bytes[start..<min(start + 256 << 10, bytes.count)].withUnsafeBytes { hashing.digest(of: $0) }
    }
    if blocks.count == 1 { return blocks[0] }
    return blocks.flatMap(\.bytes).withUnsafeBytes { hashing.digest(of: $0) }.inverted
}

func settings(
    _ directory: TemporaryDirectory, limit: Int64 = 256 << 20, _ change: (inout StoreSettings) -> Void = { _ in }
) -> StoreSettings {
    var settings = StoreSettings(path: directory.path, diskLimit: limit, now: { Timestamp(seconds: 1_000_000) })
    settings.coolDown = .milliseconds(1)
    change(&settings)
    return settings
}

func openStore(
    _ directory: TemporaryDirectory, limit: Int64 = 256 << 20, log: EventLog = EventLog(),
    _ change: (inout StoreSettings) -> Void = { _ in }
) throws -> SQLiteStore {
    try SQLiteStore.open(settings(directory, limit: limit, change)) { log.record($0) }
}

extension SQLiteStore {
    /// Stores an entity, its content in pieces of 16 KiB.
    @discardableResult
    func put(
        _ key: EntityKey, variant: String = "", head: String = "head", at seconds: Int64 = 1000,
        expires: Int64? = nil, _ bytes: [UInt8], expectedLength: Int64? = nil
    ) -> Bool {
        let writer = beginWrite(
            key, variant: Array(variant.utf8), head: Array(head.utf8), requestTime: Timestamp(seconds: seconds - 1),
            responseTime: Timestamp(seconds: seconds), storedAt: Timestamp(seconds: seconds),
            expires: expires.map(Timestamp.init(seconds:)), expectedLength: expectedLength)
        for start in stride(from: 0, to: bytes.count, by: 16 << 10) {
            writer.append(ContentChunk(bytes[start..<min(start + 16 << 10, bytes.count)]))
        }
        return writer.finish()
    }

    /// The content a client would get for each variant under a key; nil for content that cannot be read to the end.
    func contents(_ key: EntityKey) async -> [[UInt8]?] {
        var contents: [[UInt8]?] = []
        for record in (try? await read(key)) ?? [] { contents.append(await octets(of: record.content)) }
        return contents
    }

    func octets(of reference: ContentReference) async -> [UInt8]? {
        guard let reader = try? await openContent(reference) else { return nil }
        var bytes: [UInt8] = []
        while Int64(bytes.count) < reader.length {
            guard let chunk = try? await reader.read(at: Int64(bytes.count), count: 100_000) else { return nil }
            bytes += chunk.withBytes { Array($0) }
        }
        return bytes
    }

    func heads(_ key: EntityKey) async -> [String] {
        ((try? await read(key)) ?? []).map { String(decoding: $0.head, as: UTF8.self) }
    }
}
