// SPDX-License-Identifier: Apache-2.0
import Glibc

/// An open directory. Its entries are accessed by single names through the descriptor, and symbolic links are never
/// followed: a name leads to an entry of this directory or to nothing.
final class Directory: Sendable {
    let descriptor: Int32
    /// For messages, and for SQLite, which opens files by their paths.
    let path: String

    /// The identity of a file.
    struct Identity: Equatable, Sendable {
        let device: dev_t
        let number: ino_t

        init(_ status: stat) {
            device = status.st_dev
            number = status.st_ino
        }

        /// The identity of the file at a path; nil if there is none.
        init?(path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            self.init(status)
        }
    }

    private static let access = O_RDONLY | O_DIRECTORY | O_CLOEXEC

    /// Opens the directory at a path, which may contain symbolic links: the path is the operator's choice.
    init(_ path: String) throws(DiskFailure) {
        descriptor = Glibc.open(path, Self.access)
        guard descriptor >= 0 else { throw .last("open \(path)") }
        self.path = path
    }

    /// Opens a directory in `parent`.
    ///
    /// - Parameter isMade: whether it is created, for its owner alone, if there is nothing of that name.
    init(_ name: String, in parent: Directory, isMade: Bool = false) throws(DiskFailure) {
        path = parent.path + "/" + name
        if isMade, mkdirat(parent.descriptor, name, 0o700) != 0, errno != EEXIST {
            throw .last("make directory \(path)")
        }
        descriptor = openat(parent.descriptor, name, Self.access | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .last("open \(path)") }
    }

    deinit { close(descriptor) }

    /// The system's status of the directory itself.
    func status() throws(DiskFailure) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last("examine \(path)") }
        return status
    }

    /// The system's status of an entry; nil if the entry does not exist.
    func status(of name: String) -> stat? {
        var status = stat()
        return fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// The bytes of a file; 0 if there is none.
    func length(of name: String) -> Int64 { status(of: name).map { Int64($0.st_size) } ?? 0 }

    /// Opens a file. New files are accessible to their owner alone.
    func open(_ name: String, _ access: Int32) throws(DiskFailure) -> Int32 {
        let opened = openat(descriptor, name, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0o600)
        guard opened >= 0 else { throw .last("open \(path)/\(name)") }
        return opened
    }

    /// Deletes a file, or a link; returns whether it did.
    @discardableResult
    func remove(_ name: String) -> Bool { unlinkat(descriptor, name, 0) == 0 }

    /// Deletes an empty directory.
    func removeDirectory(_ name: String) { unlinkat(descriptor, name, AT_REMOVEDIR) }

    func rename(_ name: String, to target: String, in other: Directory) throws(DiskFailure) {
        guard renameat(descriptor, name, other.descriptor, target) == 0 else {
            throw .last("rename \(path)/\(name) to \(other.path)/\(target)")
        }
    }

    /// Makes renamed entries survive a loss of power.
    func synchronize() throws(DiskFailure) {
        guard fsync(descriptor) == 0 else { throw .last("sync \(path)") }
    }

    /// The names in it; none if it cannot be read.
    var names: [String] {
        let own = openat(descriptor, ".", Self.access)
        guard own >= 0 else { return [] }
        guard let stream = fdopendir(own) else {
            close(own)
            return []
        }
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

    // MARK: Small files

    /// The bytes of a file owned by this user and no longer than `limit`; nil if there is no such file.
    ///
    /// - Parameter isPrivate: whether it counts only if no other user may read it.
    func octets(of name: String, limit: Int, isPrivate: Bool = false) throws(DiskFailure) -> [UInt8]? {
        let file = openat(descriptor, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else {
            // A symbolic link is not ours.
            if errno == ENOENT || errno == ELOOP { return nil }
            throw .last("open \(path)/\(name)")
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            !isPrivate || status.st_mode & 0o077 == 0
        else { return nil }
        var octets = [UInt8](repeating: 0, count: limit + 1)
        let count = octets.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        return (0...limit).contains(count) ? Array(octets.prefix(count)) : nil
    }

    /// Writes a file, replacing an existing one: under another name first, so that a crash leaves all or nothing.
    func write(_ octets: [UInt8], to name: String) throws(DiskFailure) {
        let draft = name + ".new"
        remove(draft)
        let file = try open(draft, O_WRONLY | O_CREAT | O_EXCL)
        let isWritten =
            octets.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) } == octets.count && fsync(file) == 0
        let code = errno
        close(file)
        guard isWritten else {
            remove(draft)
            throw DiskFailure(errno: code, operation: "write \(path)/\(draft)")
        }
        try rename(draft, to: name, in: self)
    }
}

/// The bytes of a file; 0 if there is none.
func fileLength(_ path: String) -> Int64 {
    var status = stat()
    return lstat(path, &status) == 0 ? Int64(status.st_size) : 0
}

/// Creates a directory that only its owner may enter; it may exist.
func makeDirectory(_ path: String) throws(DiskFailure) {
    guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last("make directory \(path)") }
}
