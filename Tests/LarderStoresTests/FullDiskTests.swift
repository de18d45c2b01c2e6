// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("A disk that is full or fails")
struct FullDiskTests {
    /// Stores until the disk refuses, checks what a client would notice, makes room, and checks that it recovers.
    private static func exhaust(
        _ store: SQLiteStore, _ log: EventLog, size: (Int) -> Int, makeRoom: () -> Void
    ) async throws {
        var stored = 0
        while !log.events.contains(where: { $0.isDegraded }), stored < 4000 {
            store.put(key("\(stored)"), content("\(stored)", size(stored)))
            stored += 1
            if stored % 20 == 0 { await store.flush() }
        }
        #expect(log.events.contains { $0.isDegraded }, "the disk took everything")
        // Reading goes on, and nothing is wrong.
        var whole = 0
        for number in 0..<stored {
            for octets in await store.contents(key("\(number)")) {
                #expect(octets == content("\(number)", size(number)))
                whole += 1
            }
        }
        #expect(whole > 0)
        // An entity removed now is gone now, and stays so.
        store.remove(key("0"))
        #expect(try await store.read(key("0")).isEmpty)
        makeRoom()
        while store.statistics.state != .open { await store.flush() }
        #expect(log.events.contains(.recovered))
        #expect(try await store.read(key("0")).isEmpty)
        #expect(store.put(key("later"), content("later", 5000)))
        await store.flush()
        #expect(await store.contents(key("later")) == [content("later", 5000)])
    }

    @Test func `EC-16 a database that may not grow keeps what it has, and goes on when it may`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let store = try openStore(directory, log: log) { $0.pageLimit = 60 }
        try await Self.exhaust(store, log, size: { _ in 5000 }) {
            // Room comes from what is removed.
            for number in 0..<100 { store.remove(key("\(number)")) }
        }
        await store.close()
    }

    @Test(arguments: [5000, 40_000, 300_000])
    func `files that may not grow are survived`(size: Int) async throws {
        let directory = TemporaryDirectory()
        // In a process of its own, as the limit is one of the process.
        await #expect(processExitsWith: .success) { [path = directory.path as String, size = size as Int] in
            signal(SIGXFSZ, SIG_IGN)
            let log = EventLog()
            var settings = StoreSettings(path: path, diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
            settings.coolDown = .milliseconds(1)
            let store = try SQLiteStore.open(settings) { log.record($0) }
            var limit = rlimit(rlim_cur: 3 << 20, rlim_max: .max)
            setrlimit(__rlimit_resource_t(UInt32(RLIMIT_FSIZE.rawValue)), &limit)
            try await FullDiskTests.exhaust(store, log, size: { $0 % 2 == 0 ? size : 4000 }) {
                limit.rlim_cur = .max
                setrlimit(__rlimit_resource_t(UInt32(RLIMIT_FSIZE.rawValue)), &limit)
            }
            await store.close()
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount a small disk"), arguments: [3000, 30_000, 90_000])
    func `EC-16 a full disk is survived, also over a restart`(size: Int) async throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/disk"
        mkdir(path, 0o700)
        try #require(mount("tmpfs", path, "tmpfs", 0, "size=8m") == 0, "errno \(errno)")
        defer { umount2(path, Int32(MNT_DETACH)) }
        let ballast = path + "/ballast"
        let log = EventLog()
        var settings = StoreSettings(path: path + "/cache", diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
        settings.coolDown = .milliseconds(1)
        let store = try SQLiteStore.open(settings) { log.record($0) }
        for number in 0..<30 { store.put(key("early/\(number)"), content("early/\(number)", size)) }
        await store.flush()
        // Someone else takes all the room there is.
        let other = open(ballast, O_WRONLY | O_CREAT, 0o600)
        let block = [UInt8](repeating: 0, count: 4096)
        while write(other, block, block.count) > 0 {}
        close(other)
        for number in 0..<300 { store.put(key("\(number)"), content("\(number)", size)) }
        await store.flush()
        #expect(log.events.contains { $0.isDegraded })
        func check(_ store: SQLiteStore) async {
            for name in (0..<30).map({ "early/\($0)" }) + (0..<300).map(String.init) {
                for octets in await store.contents(key(name)) { #expect(octets == content(name, size)) }
            }
        }
        await check(store)
        await store.close()
        let second = try SQLiteStore.open(settings) { log.record($0) }
        await check(second)
        second.put(key("x"), content("x", size))
        await second.flush()
        unlink(ballast)
        await second.flush()
        await second.flush()
        #expect(second.statistics.state == .open)
        #expect(second.put(key("later"), content("later", size)))
        await second.flush()
        #expect(await second.contents(key("later")) == [content("later", size)])
        await check(second)
        await second.close()
    }

    /// A disk of `size` under `path`, which `body` may hide and show again.
    private func onDisk(_ size: String, _ body: (String) async throws -> Void) async throws {
        let directory = TemporaryDirectory()
        let path = directory.path + "/disk"
        mkdir(path, 0o700)
        try #require(mount("tmpfs", path, "tmpfs", 0, "size=\(size)") == 0, "errno \(errno)")
        defer { umount2(path, Int32(MNT_DETACH)) }
        try await body(path)
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount a disk"), arguments: [3000, 30_000, 90_000])
    func `EC-16 a disk that turns read-only is read from, and written to when it may be`(size: Int) async throws {
        try await onDisk("32m") { path in
            let log = EventLog()
            var settings = StoreSettings(path: path + "/cache", diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
            settings.coolDown = .milliseconds(1)
            let store = try SQLiteStore.open(settings) { log.record($0) }
            for number in 0..<20 { store.put(key("\(number)"), content("\(number)", size)) }
            await store.flush()
            // Files opened by name from now on lie on a disk that may only be read.
            try #require(mount(path, path, nil, UInt(MS_BIND), nil) == 0)
            let readOnly = UInt(MS_REMOUNT | MS_BIND | MS_RDONLY)
            try #require(mount(nil, path, nil, readOnly, nil) == 0)
            store.put(key("large"), content("large", 90_000))
            await store.flush()
            await log.first { $0.isDegraded }
            guard case .degraded(let reason) = store.statistics.state else {
                Issue.record("the store works: \(store.statistics.state)")
                return
            }
            #expect(reason.contains("Read-only file system"))
            for number in 0..<20 {
                #expect(await store.contents(key("\(number)")) == [content("\(number)", size)])
            }
            #expect(try await store.read(key("large")).isEmpty)
            #expect(await !store.reachDisk())
            umount2(path, Int32(MNT_DETACH))
            await log.first { $0 == .recovered }
            store.put(key("later"), content("later", size))
            await store.flush()
            #expect(await store.contents(key("later")) == [content("later", size)])
            #expect(await store.contents(key("1")) == [content("1", size)])
            #expect(await store.reachDisk())
            await store.close()
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount a disk"))
    func `EC-16 a database that may only be read at the start is read, and written to when it may be`() async throws {
        try await onDisk("32m") { path in
            let log = EventLog()
            var settings = StoreSettings(path: path + "/cache", diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
            settings.coolDown = .milliseconds(1)
            let sizes = [3000, 30_000, 90_000]
            var store = try SQLiteStore.open(settings) { _ in }
            for size in sizes { store.put(key("\(size)"), content("\(size)", size)) }
            await store.close()
            let database = path + "/cache/larder.db"
            try #require(mount(database, database, nil, UInt(MS_BIND), nil) == 0)
            try #require(mount(nil, database, nil, UInt(MS_REMOUNT | MS_BIND | MS_RDONLY), nil) == 0)
            store = try SQLiteStore.open(settings) { log.record($0) }
            await log.first { $0.isDegraded }
            for size in sizes { #expect(await store.contents(key("\(size)")) == [content("\(size)", size)]) }
            #expect(store.statistics.damaged == 0)
            umount2(database, Int32(MNT_DETACH))
            await log.first { $0 == .recovered }
            for size in sizes { #expect(await store.contents(key("\(size)")) == [content("\(size)", size)]) }
            await store.close()
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount a disk"))
    func `EC-16 a disk that is taken away is done without, and what takes its place is used`() async throws {
        try await onDisk("32m") { path in
            let log = EventLog()
            var settings = StoreSettings(path: path + "/cache", diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
            settings.coolDown = .milliseconds(1)
            let store = try SQLiteStore.open(settings) { log.record($0) }
            store.put(key("a"), content("a", 90_000))
            await store.flush()
            umount2(path, Int32(MNT_DETACH))
            store.put(key("b"), content("b", 3000))
            await log.first { $0 == .databaseLost }
            while store.statistics.state != .open { await store.flush() }
            for name in ["b", "c"] {
                store.put(key(name), content(name, 90_000))
                await store.flush()
                #expect(await store.contents(key(name)) == [content(name, 90_000)])
            }
            #expect(try await store.read(key("a")).isEmpty)
            await store.close()
        }
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount a file"))
    func `a wipe takes the rows where it cannot take the file`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        for number in 0..<3 { first.put(key("\(number)"), [1]) }
        await first.flush()
        let database = directory.path + "/larder.db"
        try #require(mount(database, database, nil, UInt(MS_BIND), nil) == 0)
        await first.wipe()
        #expect(try await first.read(key("1")).isEmpty)
        first.put(key("later"), [2])
        #expect(await first.removalsEnd())
        await first.close()
        umount2(database, Int32(MNT_DETACH))
        let second = try openStore(directory)
        #expect(try await second.list(after: nil, limit: 10, where: EntityMatch()).map(\.key) == [key("later")])
        await second.close()
    }

    @Test func `what was removed while the disk was full is gone when the store is closed and it is not`() async throws
    {
        let directory = TemporaryDirectory()
        let first = try openStore(directory) { $0.coolDown = .seconds(3600) }
        for name in ["a", "b"] { first.put(key(name), [1]) }
        await first.flush()
        first.core.degrade("for the test")
        first.remove(key("a"))
        await first.close()
        let second = try openStore(directory)
        #expect(try await second.list(after: nil, limit: 10, where: EntityMatch()).map(\.key) == [key("b")])
        await second.close()
    }

    @Test func `a directory that cannot be made is an error that says so`() throws {
        let settings = StoreSettings(path: "/proc/larder", diskLimit: 256 << 20, now: { Timestamp(seconds: 0) })
        let error = #expect(throws: StoreError.self) { try SQLiteStore.open(settings) { _ in } }
        #expect(error?.code == .unusableDirectory)
        #expect(error?.message.contains("/proc/larder") == true)
    }

    @Test func `a limit that leaves no room is refused`() throws {
        let directory = TemporaryDirectory()
        let error = #expect(throws: StoreError.self) { try openStore(directory, limit: 1000) }
        #expect(error?.code == .invalidSettings)
    }
}
