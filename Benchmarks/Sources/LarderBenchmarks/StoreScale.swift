// SPDX-License-Identifier: Apache-2.0
import Foundation
import LarderHTTP
import LarderIO
import LarderStores
import Synchronization

/// How a store fares as it grows: filled through its own code, with lookups measured at several sizes, then opened
/// again, and made to evict while an event loop looks on.
struct StoreScale: Sendable {
    private let sizes: [Int]
    private let contentSize: Int
    private let directory: String

    init(entries: Int, contentSize: Int) {
        sizes = [10_000, 100_000, 1_000_000].filter { $0 < entries } + [entries]
        self.contentSize = contentSize
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("larder-" + UUID().uuidString).path
    }

    func run() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let loading = KeysLoaded()
        var store = try open(loading, limit: 1 << 40)
        var filled = 0
        for size in sizes {
            let start = Self.now()
            await fill(store, from: filled, to: size)
            show("\(size) entries: written, each", (Self.now() - start) / Int64(size - filled))
            filled = size
            try await lookUp(store, among: size)
        }
        show("longest transaction while filling", Self.nanoseconds(store.statistics.longestTransaction))
        show("longest checkpoint while filling", Self.nanoseconds(store.statistics.longestCheckpoint))
        print("on disk: \(store.statistics.bytesOnDisk >> 20) MiB")
        // As a kill leaves it: with what the log has still to give back.
        let left = directory + "-left"
        defer { try? FileManager.default.removeItem(atPath: left) }
        try FileManager.default.copyItem(atPath: directory, toPath: left)
        await store.close()
        try FileManager.default.removeItem(atPath: directory)
        try FileManager.default.moveItem(atPath: left, toPath: directory)
        var bytes: Int64 = 0
        for _ in 0..<3 {
            let start = Self.now()
            store = try open(loading, limit: 1 << 40)
            let opened = Self.now()
            keep(try await store.read(key(filled / 2)).count)
            let first = Self.now()
            await loading.wait()
            show("from start to open", opened - start)
            show("from start to first read", first - start)
            show("from start to all keys known", Self.now() - start)
            await store.flush()
            bytes = store.statistics.bytesOnDisk
            await store.close()
        }
        try await evict(bytes: bytes, loading)
    }

    /// Writes entities and waits until they are committed, a few thousand at a time.
    private func fill(_ store: SQLiteStore, from first: Int, to end: Int) async {
        for start in stride(from: first, to: end, by: 5000) {
            for number in start..<min(start + 5000, end) { put(store, number) }
            await store.flush()
        }
    }

    private func put(_ store: SQLiteStore, _ number: Int) {
        let writer = store.beginWrite(
            key(number), variant: [], head: Samples.response, requestTime: Self.time, responseTime: Self.time,
            storedAt: Self.time, expires: nil, expectedLength: Int64(contentSize), labels: [])
        var content = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: contentSize)
        withUnsafeBytes(of: number) { content.replaceSubrange(0..<8, with: $0) }
        writer.append(ContentChunk(content))
        writer.finish()
    }

    /// The cost of a lookup: of an entity there, read; of one that is not; and of its hash alone, as on an event loop.
    private func lookUp(_ store: SQLiteStore, among count: Int) async throws {
        let rounds = 20_000
        var start = Self.now()
        for step in 0..<rounds { keep(try await store.read(key((step &* 7919 &+ 13) % count)).count) }
        show("\(count) entries: read one", (Self.now() - start) / Int64(rounds))
        let present = (0..<rounds).map { key(($0 &* 7919) % count) }
        let absent = (0..<rounds).map { key($0 + 1 << 40) }
        start = Self.now()
        for key in present { keep(store.mayContain(key)) }
        show("\(count) entries: may contain one that is there", (Self.now() - start) / Int64(rounds))
        start = Self.now()
        for key in absent { keep(store.mayContain(key)) }
        show("\(count) entries: may contain one that is not", (Self.now() - start) / Int64(rounds))
    }

    /// Opens the store with room for nine tenths of what is in it, while a loop uses it and counts how long that
    /// kept it.
    private func evict(bytes: Int64, _ loading: KeysLoaded) async throws {
        let loop = try EventLoop(name: "watched")
        try loop.start()
        defer { loop.stop() }
        show("longest pause of a loop that only looks at its clock", await pauses(loop))
        let store = try open(loading, limit: bytes - bytes / 10)
        await loading.wait()
        let count = sizes.last ?? 0
        let isOver = Flag()
        let start = Self.now()
        await withTaskGroup { group in
            group.addTask {
                let watched = await watch(loop, store, count: count, isOver: isOver)
                show("longest call of a loop meanwhile", watched.longest)
                print("calls of that loop: \(watched.calls)")
            }
            group.addTask {
                // The writer makes room before it takes what is new.
                put(store, -1)
                await store.flush()
                isOver.isRaised.store(true, ordering: .releasing)
            }
        }
        show("evicting took", Self.now() - start)
        print("evicted: \(store.statistics.evictions)")
        show("longest transaction while evicting", Self.nanoseconds(store.statistics.longestTransaction))
        show("longest checkpoint while evicting", Self.nanoseconds(store.statistics.longestCheckpoint))
        await store.close()
    }

    /// The longest pause of a loop by the machine alone, in the same rhythm for five seconds.
    private func pauses(_ loop: isolated EventLoop) async -> Int64 {
        var longest: Int64 = 0
        let end = Self.now() + 5_000_000_000
        while Self.now() < end {
            for _ in 0..<100 {
                let start = Self.now()
                keep(key(1).hash)
                longest = max(longest, Self.now() - start)
            }
            await loop.sleep(for: .milliseconds(1))
        }
        return longest
    }

    private func watch(
        _ loop: isolated EventLoop, _ store: SQLiteStore, count: Int, isOver: Flag
    ) async -> (longest: Int64, calls: Int) {
        var longest: Int64 = 0
        var calls = 0
        while !isOver.isRaised.load(ordering: .acquiring) {
            for step in 0..<100 {
                let key = key(((calls + step) &* 7919) % count)
                let start = Self.now()
                if step == 0 { put(store, count + calls) }
                keep(store.mayContain(key))
                longest = max(longest, Self.now() - start)
            }
            calls += 100
            await loop.sleep(for: .milliseconds(1))
        }
        return (longest, calls)
    }

    private func open(_ loading: KeysLoaded, limit: Int64) throws -> SQLiteStore {
        loading.begin()
        let settings = StoreSettings(path: directory, diskLimit: limit, now: { Self.time })
        return try SQLiteStore.open(settings) { if case .keysLoaded = $0 { loading.end() } }
    }

    private func key(_ number: Int) -> EntityKey {
        EntityKey(
            service: "api", partition: "", stage: "rawData", url: "http://api.example/users/\(number)/repositories")
    }

    private func show(_ what: String, _ nanoseconds: Int64) {
        let padding = String(repeating: " ", count: max(1, 56 - what.utf8.count))
        let text =
            nanoseconds < 1_000_000
            ? "\(nanoseconds / 1000).\(nanoseconds / 100 % 10) µs" : "\(nanoseconds / 1_000_000) ms"
        print(what + padding + text)
    }

    private static let time = Timestamp(seconds: 1_700_000_000)

    private static func now() -> Int64 { SystemTime().monotonic() }

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }
}

private final class Flag: Sendable {
    let isRaised = Atomic<Bool>(false)
}

/// Waits for the store to say that it knows its keys.
private final class KeysLoaded: Sendable {
    private struct State {
        var isLoaded = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Lock(State())

    func begin() { state.withLock { $0.isLoaded = false } }

    func end() {
        let waiting = state.withLock { state in
            state.isLoaded = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
    }

    func wait() async {
        await withCheckedContinuation { continuation in
            let isLoaded = state.withLock { state in
                if !state.isLoaded { state.waiting = continuation }
                return state.isLoaded
            }
            if isLoaded { continuation.resume() }
        }
    }
}
