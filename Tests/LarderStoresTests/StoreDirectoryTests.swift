// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("The directory of a store")
struct StoreDirectoryTests {
    private func refusal(_ directory: TemporaryDirectory) -> String? {
        let error = #expect(throws: StoreError.self) { try openStore(directory) }
        #expect(error?.code == .unusableDirectory)
        return error?.message
    }

    @Test(arguments: ["content/ab/mine", "spool/mine", "discarded-spool-1/mine", "larder.db", "identity.key"])
    func `nothing is touched in a directory where files of others have names that Larder uses`(
        file: String
    ) async throws {
        let directory = TemporaryDirectory()
        directory.make(file, with: "mine")
        let before = directory.files
        #expect(refusal(directory)?.contains("no larder.tag") == true)
        #expect(directory.files == before)
        #expect(directory.contents(of: file) == Array("mine".utf8))
    }

    @Test func `files of others under names that Larder does not use stay, for good`() async throws {
        let directory = TemporaryDirectory()
        directory.make("larder.yaml", with: "listen: []")
        for _ in 0..<2 {
            let store = try openStore(directory)
            store.put(key("a"), content("a", 100_000))
            await store.flush()
            directory.make("content/ab/notes.txt", with: "mine")
            directory.make("spool/deep/notes.txt", with: "mine")
            await store.wipe()
            await store.close()
        }
        let log = EventLog()
        let store = try openStore(directory, log: log)
        await log.first(where: \.isKeysLoaded)
        await store.close()
        #expect(directory.files.contains("larder.yaml"))
        #expect(directory.files.contains("content/ab/notes.txt"))
        #expect(directory.files.count { $0.hasSuffix("deep/notes.txt") } >= 1)
    }

    /// Copies of this process's descriptors of a directory and what is in it, as a child has them between its fork and
    /// its program.
    private func copies(of directory: TemporaryDirectory) throws -> [Int32] {
        let list = try #require(opendir("/proc/self/fd"))
        defer { closedir(list) }
        var found: [Int32] = []
        while let entry = readdir(list) {
            // Not by value: entries are shorter than the room that their type has for a name.
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/self/fd/\(name)", &target, target.count)
            guard count > 0, let descriptor = Int32(name) else { continue }
            let path = String(decoding: target[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
            if path.hasPrefix(directory.path) { found.append(dup(descriptor)) }
        }
        return found
    }

    @Test func `a store that was closed can be opened while a child still has its descriptors`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        let copies = try copies(of: directory)
        defer { copies.forEach { close($0) } }
        #expect(copies.count > 2)
        await store.close()
        await (try openStore(directory)).close()
    }

    @Test(arguments: ["content", "spool", "discarded-spool-1-1", "larder.lock", "larder.db", "content/ab"])
    func `symbolic links are not followed`(name: String) async throws {
        let elsewhere = TemporaryDirectory()
        elsewhere.make("ab/file", with: "mine")
        elsewhere.make("1-1", with: "mine")
        let directory = TemporaryDirectory()
        await (try openStore(directory)).close()
        if name == "content/ab" { mkdir(directory.path + "/content", 0o700) }
        #expect(rename("\(directory.path)/\(name)", "\(directory.path)/away") == 0 || errno == ENOENT)
        #expect(symlink(elsewhere.path + (name.contains("lock") ? "/1-1" : ""), "\(directory.path)/\(name)") == 0)
        let log = EventLog()
        if let store = try? openStore(directory, log: log) {
            store.put(key("a"), content("a", 100_000))
            await store.flush()
            await store.wipe()
            await store.close()
        }
        #expect(elsewhere.files == ["1-1", "ab/file"])
        for file in elsewhere.files { #expect(elsewhere.contents(of: file) == Array("mine".utf8)) }
    }

    @Test func `a lock file that is another name of somebody's file is left alone`() async throws {
        let directory = TemporaryDirectory()
        await (try openStore(directory)).close()
        directory.make("mine", with: "a long text that must stay as it is")
        directory.delete("larder.lock")
        #expect(link(directory.path + "/mine", directory.path + "/larder.lock") == 0)
        #expect(refusal(directory)?.contains("larder.lock is not a file of Larder's own") == true)
        #expect(directory.contents(of: "mine") == Array("a long text that must stay as it is".utf8))
    }

    @Test(arguments: ["", "Larder", "\0\0"])
    func `a damaged tag is written anew, before the database is damaged as well`(rest: String) async throws {
        let directory = TemporaryDirectory()
        await (try openStore(directory)).close()
        let tag = directory.contents(of: StoreDirectory.tagName)
        directory.make(StoreDirectory.tagName, with: rest)
        await (try openStore(directory)).close()
        #expect(directory.contents(of: StoreDirectory.tagName) == tag)
        directory.make(StoreDirectory.databaseName, with: "damaged")
        await (try openStore(directory)).close()
    }

    @Test func `a directory of a version without tags is known by its database`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory)
        first.put(key("a"), content("a", 100_000))
        await first.close()
        directory.delete(StoreDirectory.tagName)
        let second = try openStore(directory)
        #expect(await second.contents(key("a")) == [content("a", 100_000)])
        #expect(directory.files.contains(StoreDirectory.tagName))
        await second.close()
    }

    @Test func `a directory of a newer version is refused`() async throws {
        let directory = TemporaryDirectory()
        directory.make(StoreDirectory.tagName, with: "Larder keeps this directory, version 2.\n")
        #expect(refusal(directory)?.contains("newer version") == true)
    }

    @Test(arguments: [mode_t(0o720), 0o702, 0o777, 0o1777])
    func `a directory that others can write to is refused`(mode: mode_t) async throws {
        let directory = TemporaryDirectory()
        #expect(chmod(directory.path, mode) == 0)
        #expect(refusal(directory)?.contains("chmod go-w") == true)
        #expect(directory.files == [])
        #expect(chmod(directory.path, 0o755) == 0)
        await (try openStore(directory)).close()
    }

    @Test(.enabled(if: getuid() == 0, "only root can give a directory away"))
    func `a directory of another user is refused`() async throws {
        let directory = TemporaryDirectory()
        #expect(chown(directory.path, 12_345, 12_345) == 0)
        #expect(refusal(directory)?.contains("another user (12345)") == true)
        #expect(directory.files == [])
    }

    @Test func `who names a directory may do so by a link`() async throws {
        let directory = TemporaryDirectory()
        mkdir(directory.path + "/place", 0o700)
        #expect(symlink("place", directory.path + "/name") == 0)
        let store = try SQLiteStore.open(
            StoreSettings(path: directory.path + "/name", diskLimit: 256 << 20, now: { .init(seconds: 0) })
        ) { _ in }
        store.put(key("a"), content("a", 100_000))
        await store.flush()
        #expect(await store.contents(key("a")) == [content("a", 100_000)])
        #expect(directory.files.contains("place/larder.db"))
        await store.close()
    }

    // MARK: The lock

    @Test func `a lock file that is deleted lets nobody else in, and comes back`() async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory) { $0.idleInterval = .milliseconds(1) }
        directory.delete("larder.lock")
        let error = #expect(throws: StoreError.self) { try openStore(directory) }
        #expect(error?.code == .inUse)
        await lookAfter(store) { directory.files.contains("larder.lock") }
        let again = #expect(throws: StoreError.self) { try openStore(directory) }
        #expect(again?.message.contains("process \(getpid())") == true)
        await store.close()
        await (try openStore(directory)).close()
    }

    @Test func `a lock of a version that locked the file alone counts`() async throws {
        let directory = TemporaryDirectory()
        await (try openStore(directory)).close()
        let old = open(directory.path + "/larder.lock", O_RDWR)
        #expect(flock(old, LOCK_EX | LOCK_NB) == 0)
        #expect(throws: StoreError.self) { try openStore(directory) }
        close(old)
        await (try openStore(directory)).close()
    }

    @Test func `a directory that was deleted and locked by somebody else meanwhile is not used`() async throws {
        let directory = TemporaryDirectory()
        let (parent, others) = (directory.path + "/parent", directory.path + "/others")
        for path in [parent, parent + "/store", others, others + "/store"] { mkdir(path, 0o700) }
        let log = EventLog()
        let settings = StoreSettings(path: parent + "/store", diskLimit: 256 << 20, now: { .init(seconds: 0) })
        let store = try SQLiteStore.open(settings) { log.record($0) }
        // A store makes its directory again, but not the one above: nothing comes between these two steps.
        let lock = try DirectoryLock(Directory(others + "/store"))
        #expect(rename(parent, directory.path + "/gone") == 0)
        #expect(rename(others, parent) == 0)
        store.put(key("a"), content("b", 100))
        await store.flush()
        await log.first { if case .degraded(let reason) = $0 { reason.contains("in use") } else { false } }
        #expect(!directory.files.contains { $0.hasPrefix("parent/store/") })
        await store.close()
        lock.release()
    }

    // MARK: Files that are kept

    @Test func `a file that is kept is made once, and comes back`() async throws {
        let directory = TemporaryDirectory()
        let first = try openStore(directory) { $0.idleInterval = .milliseconds(1) }
        #expect(try first.keepFile("secret", count: 3) { [1, 2, 3] } == [1, 2, 3])
        #expect(directory.mode(of: "secret") == 0o600)
        directory.delete("secret")
        await lookAfter(first) { directory.contents(of: "secret") == [1, 2, 3] }
        await first.close()
        let second = try openStore(directory)
        #expect(try second.keepFile("secret", count: 3) { [4, 5, 6] } == [1, 2, 3])
        await second.close()
    }

    @Test(arguments: ["short", "long", "open to others", "a link"])
    func `what is no such file is replaced`(kind: String) async throws {
        let directory = TemporaryDirectory()
        let store = try openStore(directory)
        directory.make("secret", with: kind == "short" ? "ab" : kind == "long" ? "abcd" : "abc")
        switch kind {
        case "open to others": #expect(chmod(directory.path + "/secret", 0o644) == 0)
        case "a link":
            #expect(rename(directory.path + "/secret", directory.path + "/elsewhere") == 0)
            #expect(symlink("elsewhere", directory.path + "/secret") == 0)
        default: break
        }
        #expect(try store.keepFile("secret", count: 3) { [4, 5, 6] } == [4, 5, 6])
        #expect(directory.contents(of: "secret") == [4, 5, 6])
        if kind == "a link" { #expect(directory.contents(of: "elsewhere") == Array("abc".utf8)) }
        await store.close()
    }

    /// Has the store look after its house until something is so.
    private func lookAfter(_ store: SQLiteStore, until isDone: () -> Bool) async {
        for _ in 0..<1000 where !isDone() {
            store.put(key("anything"), [1])
            await store.flush()
        }
        #expect(isDone())
    }
}

extension TemporaryDirectory {
    /// Writes a file, and makes the directories it lies in.
    func make(_ file: String, with text: String) { make(file, with: Array(text.utf8)) }

    func make(_ file: String, with octets: [UInt8]) {
        var folder = path
        for part in file.split(separator: "/").dropLast() {
            folder += "/" + part
            mkdir(folder, 0o700)
        }
        write(octets, to: file)
        chmod(path + "/" + file, 0o600)
    }
}
