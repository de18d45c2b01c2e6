// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO

/// Locks a directory for one store. The system releases the lock when the process ends, however it ends.
///
/// The directory itself is locked: it cannot be deleted without its contents. The file in it names the owner, and is
/// locked as well, for file systems that cannot lock directories, and for versions of Larder that had no other lock.
final class DirectoryLock: Sendable {
    static let fileName = "larder.lock"

    private let directory: Directory
    private let file = Monitor<Int32?>(nil)

    /// Locks a directory; nothing in it is touched before the lock is held.
    init(_ directory: Directory) throws {
        self.directory = directory
        if flock(directory.descriptor, LOCK_EX | LOCK_NB) == 0 { return }
        switch errno {
        case EWOULDBLOCK: throw Self.inUse(directory)
        case EBADF, EINVAL, ENOLCK, ENOTSUP: return
        default: throw DiskFailure.last("lock \(directory.path)")
        }
    }

    deinit { release() }

    /// Creates the file, and locks it; recreates it where it was deleted.
    func keepFile() throws {
        try file.withLock { file in
            if let file, isCurrent(file) { return }
            let opened = try directory.open(Self.fileName, O_RDWR | O_CREAT)
            var isKept = false
            defer { if !isKept { close(opened) } }
            var status = stat()
            guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
                status.st_uid == geteuid()
            else {
                throw StoreError(
                    code: .unusableDirectory,
                    message: "\(directory.path)/\(Self.fileName) is not a file of Larder's own. Delete it.")
            }
            guard flock(opened, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK else { throw Self.inUse(directory) }
            // Only information for people: the lock counts, and a full disk must not prevent a start.
            ftruncate(opened, 0)
            let text = Array(String(getpid()).utf8)
            _ = text.withUnsafeBytes { pwrite(opened, $0.baseAddress, $0.count, 0) }
            isKept = true
            if let file { Self.unlock(file) }
            file = opened
        }
    }

    /// Ends both locks, the directory's last: a process that gets the directory's lock also needs the file's.
    func release() {
        file.withLock { file in
            if let file { Self.unlock(file) }
            file = nil
        }
        flock(directory.descriptor, LOCK_UN)
    }

    /// A child process between its fork and its program also has the descriptor: closing it would not end the lock.
    private static func unlock(_ file: Int32) {
        flock(file, LOCK_UN)
        close(file)
    }

    private func isCurrent(_ file: Int32) -> Bool {
        var status = stat()
        guard fstat(file, &status) == 0, let named = directory.status(of: Self.fileName) else { return false }
        return Directory.Identity(status) == Directory.Identity(named)
    }

    private static func inUse(_ directory: Directory) -> StoreError {
        let owner = (try? directory.octets(of: fileName, limit: 20)).flatMap(\.self) ?? []
        let who = owner.isEmpty ? "another process" : "process \(String(decoding: owner, as: UTF8.self))"
        return StoreError(
            code: .inUse,
            message: "The cache in \(directory.path) is in use by \(who). "
                + "Stop that one, or give this one another directory (cache.path).")
    }
}
