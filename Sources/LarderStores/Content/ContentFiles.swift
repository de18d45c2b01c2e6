// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO
import Synchronization

/// The files beside the database: content named by its digest in `content/xx/`, and incomplete content in `spool/`.
///
/// A file is *claimed* from before it gets its name until the row that refers to it is committed. Files without a claim
/// or a row may be deleted. Files whose names are not Larder's are never deleted.
final class ContentFiles: Sendable {
    struct Claim: Sendable {
        var count: Int
        var length: Int64
        var blocks: BlockDigests
    }

    static let discardedPrefix = "discarded-spool-"
    private static let contentName = "content"
    private static let spoolName = "spool"

    let directory: StoreDirectory
    /// Held while a file is renamed and while one is deleted, so that neither overtakes the other.
    private let claims = Monitor<[StoredDigest: Claim]>([:])
    /// Bytes in files that no committed row refers to yet.
    private let spooled = Atomic<Int64>(0)
    private let serial = Atomic<UInt64>(0)

    init(directory: StoreDirectory) { self.directory = directory }

    var spooledBytes: Int64 { spooled.load(ordering: .relaxed) }

    func addSpooled(_ count: Int64) { spooled.add(count, ordering: .relaxed) }

    /// Makes sure of the directory, and creates missing subdirectories. Throws a `DiskFailure`, or a `StoreError` where
    /// the directory may not be used.
    func prepare() throws {
        try directory.secure()
        let root = try directory.open()
        for name in [Self.contentName, Self.spoolName, SegmentFiles.folderName] {
            _ = try Directory(name, in: root, isMade: true)
        }
    }

    /// Puts the unfinished files of an earlier run aside; `removeLeftOvers` deletes them.
    func discardSpool() throws(DiskFailure) {
        let root = try directory.open()
        var name = nextName(prefix: Self.discardedPrefix)
        while root.status(of: name) != nil { name = nextName(prefix: Self.discardedPrefix) }
        if root.status(of: Self.spoolName) != nil { try root.rename(Self.spoolName, to: name, in: root) }
        _ = try Directory(Self.spoolName, in: root, isMade: true)
    }

    /// Deletes the files put aside, and returns their number. Takes long.
    func removeLeftOvers() -> Int {
        guard let root = try? directory.open() else { return 0 }
        var removed = 0
        for name in root.names where name.hasPrefix(Self.discardedPrefix) {
            if let folder = try? Directory(name, in: root) {
                for file in folder.names where Self.isSpoolName(file) && folder.remove(file) { removed += 1 }
            }
            root.removeDirectory(name)
        }
        return removed
    }

    func makeSpoolFile() throws(DiskFailure) -> SpoolFile {
        let folder = try Directory(Self.spoolName, in: directory.open())
        while true {
            do {
                return try SpoolFile(creating: nextName(prefix: ""), in: folder)
            } catch  where error.errno != EEXIST {
                throw error
            } catch {
                // Names of an earlier process with the same number.
                continue
            }
        }
    }

    /// Names a complete file after its digest and claims it. An existing file has the same content, or is damaged;
    /// either way it is replaced.
    func adopt(_ file: SpoolFile, digest: StoredDigest, length: Int64, blocks: BlockDigests) throws(DiskFailure) {
        try file.synchronize()
        let folder = try folder(of: digest, isMade: true)
        try claims.withLock { claims throws(DiskFailure) in
            try file.rename(to: digest.hexadecimal, in: folder)
            claims[digest, default: Claim(count: 0, length: length, blocks: blocks)].count += 1
        }
        do {
            try folder.synchronize()
        } catch {
            release(digest)
            throw error
        }
    }

    func claim(on digest: StoredDigest) -> Claim? { claims.withLock { $0[digest] } }

    func release(_ digest: StoredDigest) {
        claims.withLock { claims in
            claims[digest]?.count -= 1
            if claims[digest]?.count == 0 { claims[digest] = nil }
        }
    }

    /// Deletes a file that no row refers to, unless it is claimed. Only from the thread that commits rows.
    func removeUnlessClaimed(_ digest: StoredDigest) {
        claims.withLock { claims in
            if claims[digest] == nil { _ = try? folder(of: digest).remove(digest.hexadecimal) }
        }
    }

    /// Opens content for reading: the descriptor, or nil if there is no such file.
    func open(_ digest: StoredDigest) throws(DiskFailure) -> (descriptor: Int32, length: Int64)? {
        // Without the store's directory, as on a disk that was removed, no file is known to be missing.
        let root = try directory.open()
        let descriptor: Int32
        do {
            descriptor = try folder(of: digest, in: root).open(digest.hexadecimal, O_RDONLY)
        } catch  where [ENOENT, ELOOP, ENOTDIR].contains(error.errno) {
            return nil
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let failure = DiskFailure.last("examine \(path(of: digest))")
            close(descriptor)
            throw failure
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int64(status.st_size))
    }

    /// Calls `body` with the digest of every content file.
    func forEachFile(_ body: (StoredDigest) -> Void) {
        guard let root = try? directory.open(), let content = try? Directory(Self.contentName, in: root) else { return }
        for fan in content.names {
            for name in (try? Directory(fan, in: content))?.names ?? [] {
                if let digest = StoredDigest(hexadecimal: name), name.hasPrefix(fan) { body(digest) }
            }
        }
    }

    private func folder(of digest: StoredDigest, isMade: Bool = false) throws(DiskFailure) -> Directory {
        try folder(of: digest, in: directory.open(), isMade: isMade)
    }

    private func folder(
        of digest: StoredDigest, in root: Directory, isMade: Bool = false
    ) throws(DiskFailure) -> Directory {
        let content = try Directory(Self.contentName, in: root, isMade: isMade)
        return try Directory(String(digest.hexadecimal.prefix(2)), in: content, isMade: isMade)
    }

    /// For messages.
    func path(of digest: StoredDigest) -> String {
        "\(directory.path)/\(Self.contentName)/\(digest.hexadecimal.prefix(2))/\(digest.hexadecimal)"
    }

    private func nextName(prefix: String) -> String {
        "\(prefix)\(getpid())-\(serial.add(1, ordering: .relaxed).newValue)"
    }

    /// True if `nextName` could have made the name for a file.
    private static func isSpoolName(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && parts.allSatisfy { !$0.isEmpty && $0.allSatisfy { ("0"..."9").contains($0) } }
    }
}
