// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("kill -9")
struct CrashTests {
    private static func size(_ number: Int) -> Int { [100, 5000, 30_000, 90_000, 300_000][number % 5] }

    /// A process that stores entities, notes in a file which are committed, and is killed amid its writing.
    @Test(arguments: [37, 211, 402])
    func `a process that is killed loses at most what was not committed, and nothing is torn`(
        survives: Int
    ) async throws {
        let directory = TemporaryDirectory()
        let path = directory.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, survives = survives as Int] in
            let settings = StoreSettings(path: path + "/cache", diskLimit: 1 << 30, now: { Timestamp(seconds: 0) })
            let store = try SQLiteStore.open(settings) { _ in }
            let notes = open(path + "/notes", O_WRONLY | O_CREAT | O_APPEND, 0o600)
            for number in 0..<survives + 200 {
                store.put(key("\(number)"), content("\(number)", CrashTests.size(number)))
                if number % 100 == 99 {
                    await store.flush()
                    _ = write(notes, [UInt8](repeating: 1, count: 100), 100)
                }
                if number == survives { kill(getpid(), SIGKILL) }
            }
        }
        let committed = directory.contents(of: "notes").count
        #expect(committed == survives / 100 * 100)
        let log = EventLog()
        var settings = StoreSettings(path: path + "/cache", diskLimit: 1 << 30, now: { Timestamp(seconds: 0) })
        settings.coolDown = .milliseconds(1)
        let store = try SQLiteStore.open(settings) { log.record($0) }
        for number in 0...survives {
            let contents = await store.contents(key("\(number)"))
            if number < committed {
                #expect(contents == [content("\(number)", Self.size(number))])
            } else {
                #expect(contents == [] || contents == [content("\(number)", Self.size(number))])
            }
        }
        let damage = log.events.filter {
            switch $0 {
            case .damagedContent, .damagedEntity, .setAside, .degraded, .readFailed: true
            default: false
            }
        }
        #expect(damage == [])
        // Content whose row was not committed is given back, as far as it takes more than a little.
        for _ in 0..<3 { await store.flush() }
        let segments = directory.files.filter { $0.hasPrefix("cache/segments/") }
        let room = segments.reduce(0) { $0 + directory.room(of: $1) }
        #expect(room <= store.core.currentCounts.segmentBytes + Int64(segments.count) * (300 << 10))
        await store.close()
        let database = try Connection(path: path + "/cache/larder.db", isWriter: true)
        #expect(try database.text("PRAGMA integrity_check") == "ok")
        let names = Set(directory.contentFiles.map { String($0.split(separator: "/").last ?? "") })
        #expect(names.count == directory.contentFiles.count)
        #expect(!directory.files.contains { $0.hasPrefix("cache/spool/") || $0.hasPrefix("cache/discarded") })
    }

    @Test func `files that no row refers to are swept away after a start`() async throws {
        let directory = TemporaryDirectory()
        let log = EventLog()
        let first = try openStore(directory)
        first.put(key("a"), content("a", 100_000))
        await first.close()
        let kept = directory.contentFiles
        let orphan = ContentDigest(of: [1, 2, 3]).hexadecimal
        mkdir("\(directory.path)/content/\(orphan.prefix(2))", 0o700)
        directory.write([1, 2, 3], to: "content/\(orphan.prefix(2))/\(orphan)")
        directory.write([1, 2, 3], to: "content/\(kept[0].split(separator: "/")[1])/stranger")
        directory.write([1, 2, 3], to: "spool/1-1")
        let second = try openStore(directory, log: log)
        #expect(await log.first(where: \.isOrphansRemoved) == .orphansRemoved(files: 2))
        await second.close()
        // A file with a name that Larder does not give is not deleted.
        let stranger = try #require(directory.contentFiles.first { $0.hasSuffix("stranger") })
        directory.delete(stranger)
        #expect(directory.contentFiles == kept)
        let third = try openStore(directory)
        #expect(await third.contents(key("a")) == [content("a", 100_000)])
        await third.close()
    }

    @Test func `a directory belongs to one store at a time`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let error = #expect(throws: StoreError.self) { try openStore(directory) }
        #expect(error?.code == .inUse)
        #expect(error?.message.contains("process \(getpid())") == true)
        await store.close()
        await (try openStore(directory)).close()
    }

    @Test func `only the owner can read what is stored`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        store.put(key("a"), content("a", 100_000))
        store.put(key("b"), [1])
        await store.flush()
        for file in directory.files { #expect(directory.mode(of: file) == 0o600, "\(file)") }
        for folder in ["content", "spool", "content/\(directory.contentFiles[0].split(separator: "/")[1])"] {
            #expect(directory.mode(of: folder) == 0o700)
        }
        await store.close()
    }

    @Test(arguments: [false, true]) func `a process that is killed amid a removal goes on with it`(
        isWide: Bool
    ) async throws {
        let directory = TemporaryDirectory()
        let path = directory.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, isWide = isWide as Bool] in
            let settings = StoreSettings(path: path + "/cache", diskLimit: 1 << 30, now: { Timestamp(seconds: 0) })
            let store = try SQLiteStore.open(settings) { _ in }
            for number in 0..<20_000 {
                let writer = store.beginWrite(
                    key("\(number)"), variant: [], head: [1], requestTime: Timestamp(seconds: 1),
                    responseTime: Timestamp(seconds: 1), storedAt: Timestamp(seconds: 1), expires: nil,
                    expectedLength: nil, labels: [.group("red")])
                writer.finish()
            }
            await store.flush()
            let before = store.core.currentCounts.transactions
            if isWide {
                store.beginRemoval(EntityMatch(urlPrefix: "http://origin.example/"), because: .superseded)
            } else {
                store.beginRemoval(EntityMatch(label: .group("red")), because: .superseded)
            }
            while store.core.currentCounts.transactions == before { sched_yield() }
            kill(getpid(), SIGKILL)
        }
        let settings = StoreSettings(path: path + "/cache", diskLimit: 1 << 30, now: { Timestamp(seconds: 0) })
        let store = try SQLiteStore.open(settings) { _ in }
        #expect(try await store.read(key("19999")).isEmpty)
        store.put(key("19999"), [1])
        #expect(await store.removalsEnd())
        await store.flush()
        #expect(store.statistics.entries == 1)
        #expect(try await !store.read(key("19999")).isEmpty)
        await store.close()
        let database = try Connection(path: path + "/cache/larder.db", isWriter: true)
        #expect(try database.integer("SELECT count(*) FROM state WHERE name LIKE 'removal%'") == 0)
    }
}
