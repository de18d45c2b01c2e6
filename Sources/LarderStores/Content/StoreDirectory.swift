// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO

/// The directory of a store: its ownership, its identity over time, and the files that it must contain.
///
/// A store deletes unreferenced files. So it uses a directory only where no other user may write, and which contained
/// nothing but Larder's files: its *tag* says so, a file that is created before anything else. A directory of an
/// earlier version has no tag, and is known by its database.
final class StoreDirectory: Sendable {
    static let tagName = "larder.tag"
    static let databaseName = "larder.db"
    /// "Lrdr", so that `file` and others can tell what the database is.
    static let applicationID: Int64 = 0x4c72_6472
    private static let tagBeginning = "Larder keeps this directory, version "
    private static let version = 1
    private static let tag = """
        \(tagBeginning)\(version).
        It deletes what it finds here and nothing refers to. Keep nothing of your own in this directory.

        """

    /// A file that must exist as long as the store is open.
    private struct KeptFile {
        let name: String
        let octets: [UInt8]
    }

    private struct State {
        /// The directory that is ours and locked.
        var identity: Directory.Identity?
        var lock: DirectoryLock?
        var kept: [KeptFile] = []
    }

    /// Absolute, and without symbolic links, so that it always leads to the same directory while the store is open.
    let path: String
    private let state = Monitor(State())

    /// - Parameter path: of a directory that exists.
    init(_ path: String) throws(DiskFailure) {
        guard let resolved = realpath(path, nil) else { throw .last("open \(path)") }
        defer { free(resolved) }
        self.path = String(cString: resolved)
    }

    var databasePath: String { path + "/" + Self.databaseName }

    /// Opens the directory by its path, which leads elsewhere if another disk was mounted there or removed.
    func open() throws(DiskFailure) -> Directory {
        let directory = try Directory(path)
        let identity = Directory.Identity(try directory.status())
        guard state.withLock({ $0.identity }) == identity else {
            throw DiskFailure(errno: ENOENT, operation: "open \(path), which is another directory now")
        }
        return directory
    }

    /// Makes sure of the directory: that it is the locked one, or may be used instead, and that the required files
    /// exist. Throws a `DiskFailure`, or a `StoreError` where it may not be used.
    func secure() throws {
        try state.withLock { state in
            if access(path, F_OK) != 0, errno == ENOENT { try makeDirectory(path) }
            let directory = try Directory(path)
            let status = try directory.status()
            var isTagged = directory.status(of: Self.tagName) != nil
            if state.identity != Directory.Identity(status) {
                try Self.checkOwner(directory, status)
                let lock = try DirectoryLock(directory)
                // A damaged tag is written anew: it would be missed if the database were damaged as well.
                isTagged = try Self.isTagged(directory)
                state.lock = lock
                state.identity = Directory.Identity(status)
            }
            if !isTagged { try directory.write(Array(Self.tag.utf8), to: Self.tagName) }
            try state.lock?.keepFile()
            for file in state.kept where directory.status(of: file.name) == nil {
                try directory.write(file.octets, to: file.name)
            }
        }
    }

    /// The bytes of a file of `count` bytes that only this user may read; created by `make` if it is missing, and
    /// again if it is deleted while the store is open.
    func keep(_ name: String, count: Int, _ make: () -> [UInt8]) throws(DiskFailure) -> [UInt8] {
        let directory = try open()
        var octets = try directory.octets(of: name, limit: count, isPrivate: true) ?? []
        if octets.count != count {
            octets = make()
            do {
                try directory.write(octets, to: name)
            } catch  where error.errno == ENOSPC || error.errno == EDQUOT {
                // It is written when there is room.
                directory.remove(name)
            }
        }
        state.withLock { $0.kept.append(KeptFile(name: name, octets: octets)) }
        return octets
    }

    /// Releases the directory.
    func release() {
        state.withLock { state in
            state.lock?.release()
            state.lock = nil
            state.identity = nil
        }
    }

    // MARK: Owner

    /// A user who may write to a directory can put links, logs and journals into it, sticky or not.
    private static func checkOwner(_ directory: Directory, _ status: stat) throws(StoreError) {
        guard status.st_uid == geteuid() else {
            throw refusal("\(directory.path) belongs to another user (\(status.st_uid)).", "Start Larder as that user")
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw refusal("Others may write to \(directory.path).", "Run `chmod go-w` on it")
        }
    }

    /// True if the directory has its tag. Refuses one with files that Larder would mistake for its own.
    private static func isTagged(_ directory: Directory) throws -> Bool {
        if let tag = try directory.octets(of: tagName, limit: 1024) {
            let text = String(decoding: tag, as: UTF8.self)
            if text.hasPrefix(tagBeginning) {
                let number = Int(text.dropFirst(tagBeginning.count).prefix { ("0"..."9").contains($0) }) ?? 0
                guard number > version else { return true }
                throw refusal(
                    "\(directory.path) was made by a newer version of Larder (\(tagName) says \(number)).", "Use that")
            }
        }
        if try schemaVersion(directory) != nil { return false }
        let strangers = directory.names.filter { name in
            ["content", "spool", SegmentFiles.folderName, "identity.key", DirectoryLock.fileName].contains(name)
                || name.hasPrefix(databaseName)
                || name.hasPrefix(ContentFiles.discardedPrefix)
        }
        guard let stranger = strangers.min() else { return false }
        throw refusal(
            "\(directory.path) is not a directory of Larder's: it has no \(tagName), and \(stranger) is in it, which "
                + "Larder would use and clear.", "Move that away")
    }

    /// A number that the schema will not reach; this one and larger ones are damage, as flipped high bits are.
    private static let impossibleSchema = 100

    /// Refuses a database with a schema after `known`, as a newer version of Larder writes it: to set it aside would lose
    /// what is stored.
    func refuseSchema(after known: Int) throws {
        let directory = try open()
        guard let found = try Self.schemaVersion(directory), found > known, found < Self.impossibleSchema else {
            return
        }
        throw Self.refusal(
            "\(path) was last used by a newer version of Larder (schema \(found); this one knows \(known)).",
            "Install that version again")
    }

    /// The version of the schema of Larder's database; nil if there is no such database. From the header of the file
    /// (https://www.sqlite.org/fileformat.html §1.3).
    private static func schemaVersion(_ directory: Directory) throws(DiskFailure) -> Int? {
        guard let status = directory.status(of: databaseName), status.st_mode & S_IFMT == S_IFREG,
            status.st_uid == geteuid()
        else { return nil }
        let file = try directory.open(databaseName, O_RDONLY)
        defer { close(file) }
        var header = [UInt8](repeating: 0, count: 72)
        guard header.withUnsafeMutableBytes({ pread(file, $0.baseAddress, $0.count, 0) }) == header.count,
            header.starts(with: Array("SQLite format 3\0".utf8)), number(header[68..<72]) == applicationID
        else { return nil }
        return Int(number(header[60..<64]))
    }

    /// A number of up to four bytes, the most significant first.
    private static func number(_ octets: ArraySlice<UInt8>) -> Int64 { octets.reduce(0) { $0 << 8 | Int64($1) } }

    private static func refusal(_ found: String, _ advice: String) -> StoreError {
        StoreError(
            code: .unusableDirectory,
            message: "\(found) \(advice), or give the cache a directory of its own (cache.path).")
    }
}
