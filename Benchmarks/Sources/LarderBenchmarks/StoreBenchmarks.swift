// SPDX-License-Identifier: Apache-2.0
import Foundation
import LarderHTTP
import LarderStores

extension Benchmark {
    /// The store, on whatever disk is below the directory for temporary files.
    static var store: [Benchmark] {
        [
            Benchmark("store/write-1KiB", operations: 5_000) { count in
                try await withStore { store in
                    for index in 0..<count { put(store, index, 1024) }
                    await store.flush()
                }
            },
            Benchmark("store/write-256KiB", operations: 50) { count in
                try await withStore { store in
                    for index in 0..<count { put(store, index, 256 << 10) }
                    await store.flush()
                }
            },
            Benchmark("store/write-and-read-1KiB", operations: 5_000) { count in
                try await withStore { store in
                    for index in 0..<count { put(store, index, 1024) }
                    await store.flush()
                    for index in 0..<count { keep(try await store.read(key((index &* 7919) % count)).count) }
                }
            },
            Benchmark("store/miss", operations: 100_000) { count in
                try await withStore { store in
                    for index in 0..<count { keep(store.mayContain(key(index))) }
                }
            },
        ]
    }

    private static func key(_ number: Int) -> EntityKey {
        EntityKey(
            service: "api", partition: "", stage: "rawData", url: "http://api.example/users/\(number)/repositories")
    }

    private static func put(_ store: SQLiteStore, _ number: Int, _ size: Int) {
        let time = Timestamp(seconds: 1_700_000_000)
        let writer = store.beginWrite(
            key(number), variant: [], head: Samples.response, requestTime: time, responseTime: time, storedAt: time,
            expires: nil, expectedLength: Int64(size))
        // No two alike, as those would be stored once.
        var content = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size)
        withUnsafeBytes(of: number) { content.replaceSubrange(0..<8, with: $0) }
        writer.append(ContentChunk(content))
        writer.finish()
    }

    /// Opens a store in a directory of its own that goes afterwards.
    private static func withStore(_ body: (SQLiteStore) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("larder-" + UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var settings = StoreSettings(path: path, diskLimit: 1 << 30, now: { Timestamp(seconds: 1_700_000_000) })
        settings.queueLimit = 64 << 20
        let store = try SQLiteStore.open(settings) { _ in }
        try await body(store)
        await store.close()
    }
}
