// SPDX-License-Identifier: Apache-2.0
import Glibc
import Synchronization

/// The files beside the database: content named by its digest in `content/xx/`, and in `spool/` what is not
/// complete yet.
///
/// A file is *claimed* from before it gets its name until the row that refers to it is committed. What is neither
/// claimed nor referred to may be deleted.
final class ContentFiles: Sendable {
    struct Claim: Sendable {
        var count: Int
        var length: Int64
        var blocks: BlockDigests
    }

    let directory: String
    /// Held while a file gets its name and while one is deleted, so that neither overtakes the other.
    private let claims = Monitor<[ContentDigest: Claim]>([:])
    /// Octets in files that no committed row refers to yet.
    private let spooled = Atomic<Int64>(0)
    private let serial = Atomic<UInt64>(0)

    init(directory: String) { self.directory = directory }

    private var contentDirectory: String { directory + "/content" }
    private var spoolDirectory: String { directory + "/spool" }

    var spooledBytes: Int64 { spooled.load(ordering: .relaxed) }

    func addSpooled(_ count: Int64) { spooled.add(count, ordering: .relaxed) }

    /// Makes the directories that are missing.
    func prepare() throws(DiskFailure) {
        for path in [directory, contentDirectory, spoolDirectory] { try makeDirectory(path) }
    }

    /// Puts aside what an earlier run was writing; `removeLeftOvers` deletes it.
    func discardSpool() throws(DiskFailure) {
        let discarded = nextPath(in: directory, prefix: "discarded-spool-")
        guard rename(spoolDirectory, discarded) == 0 || errno == ENOENT else {
            throw .last("rename \(spoolDirectory)")
        }
        try makeDirectory(spoolDirectory)
    }

    /// Deletes what was put aside. Takes long.
    func removeLeftOvers() -> Int {
        entries(of: directory).filter { $0.hasPrefix("discarded-") }.reduce(0) { $0 + removeTree(directory + "/" + $1) }
    }

    func makeSpoolFile() throws(DiskFailure) -> SpoolFile {
        try SpoolFile(creating: nextPath(in: spoolDirectory, prefix: ""))
    }

    /// Names a complete file after its digest and claims it. A file that is there already has the same content, or
    /// is damaged; either way it is replaced.
    func adopt(_ file: SpoolFile, digest: ContentDigest, length: Int64, blocks: BlockDigests) throws(DiskFailure) {
        try file.synchronize()
        let parent = parentPath(of: digest)
        try makeDirectory(parent)
        try claims.withLock { claims throws(DiskFailure) in
            try file.rename(to: path(of: digest))
            claims[digest, default: Claim(count: 0, length: length, blocks: blocks)].count += 1
        }
        do {
            try synchronizeDirectory(parent)
        } catch {
            release(digest)
            throw error
        }
    }

    func claim(on digest: ContentDigest) -> Claim? { claims.withLock { $0[digest] } }

    func release(_ digest: ContentDigest) {
        claims.withLock { claims in
            claims[digest]?.count -= 1
            if claims[digest]?.count == 0 { claims[digest] = nil }
        }
    }

    /// Deletes a file that no row refers to, unless it is claimed. Only from the thread that commits rows.
    func removeUnlessClaimed(_ digest: ContentDigest) {
        claims.withLock { claims in
            if claims[digest] == nil { unlink(path(of: digest)) }
        }
    }

    /// Opens content for reading: the descriptor, or nil if there is no such file.
    func open(_ digest: ContentDigest) throws(DiskFailure) -> (descriptor: Int32, length: Int64)? {
        let path = path(of: digest)
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .last("open \(path)")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let failure = DiskFailure.last("examine \(path)")
            close(descriptor)
            throw failure
        }
        return (descriptor, Int64(status.st_size))
    }

    /// Calls `body` with the digest of every file of content. Files with other names are deleted and counted.
    func forEachFile(_ body: (ContentDigest) -> Void) -> Int {
        var strangers = 0
        for fan in entries(of: contentDirectory) {
            for name in entries(of: contentDirectory + "/" + fan) {
                if let digest = ContentDigest(hexadecimal: name), name.hasPrefix(fan) {
                    body(digest)
                } else if unlink(contentDirectory + "/" + fan + "/" + name) == 0 {
                    strangers += 1
                }
            }
        }
        return strangers
    }

    private func parentPath(of digest: ContentDigest) -> String {
        contentDirectory + "/" + digest.hexadecimal.prefix(2)
    }

    func path(of digest: ContentDigest) -> String { parentPath(of: digest) + "/" + digest.hexadecimal }

    /// A path that does not exist: names of an earlier process have another number in front.
    private func nextPath(in parent: String, prefix: String) -> String {
        while true {
            let number = serial.add(1, ordering: .relaxed).newValue
            let path = "\(parent)/\(prefix)\(getpid())-\(number)"
            if access(path, F_OK) != 0 { return path }
        }
    }
}

/// Makes a directory only its owner may enter; it may exist.
func makeDirectory(_ path: String) throws(DiskFailure) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("make directory \(path)") }
}

/// Makes what was renamed in a directory survive a loss of power.
private func synchronizeDirectory(_ path: String) throws(DiskFailure) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .last("open \(path)") }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw .last("sync \(path)") }
}

/// The names in a directory; none if it cannot be read.
func entries(of path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

/// Deletes a file or a directory with all that is in it; returns how many files that were.
private func removeTree(_ path: String) -> Int {
    var status = stat()
    guard lstat(path, &status) == 0 else { return 0 }
    guard status.st_mode & S_IFMT == S_IFDIR else { return unlink(path) == 0 ? 1 : 0 }
    let removed = entries(of: path).reduce(0) { $0 + removeTree(path + "/" + $1) }
    rmdir(path)
    return removed
}

/// The octets of a file; 0 if there is none.
func fileLength(_ path: String) -> Int64 {
    var status = stat()
    return lstat(path, &status) == 0 ? Int64(status.st_size) : 0
}
