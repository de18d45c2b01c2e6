// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderProxy

/// The secret that makes the names of partitions meaningless to whoever reads the store (T-03). It lies beside the
/// store and lives as long: without it, what was stored for one user is never found again.
enum InstallationKey {
    static let fileName = "identity.key"
    private static let length = 32

    enum Failure: Error, CustomStringConvertible {
        case unusable(path: String, code: Int32)

        var description: String {
            switch self {
            case .unusable(let path, let code):
                "cannot use \(path): \(String(cString: strerror(code))); the directory of `cache.path` must be the daemon's own"
            }
        }
    }

    /// The key of a store's directory, made at the first start. To be called by whoever holds the store's lock.
    ///
    /// A file that is no key, or that others can read, is replaced: its partitions are forgotten, nobody's are mixed.
    static func digest(in directory: String) throws(Failure) -> IdentityDigest {
        let path = directory + "/" + fileName
        if let key = try read(path) { return IdentityDigest(key: key) }
        let key = (0..<length).map { _ in UInt8.random(in: .min ... .max) }
        try write(key, to: path)
        return IdentityDigest(key: key)
    }

    private static func read(_ path: String) throws(Failure) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            // A symbolic link is none of ours.
            if errno == ENOENT || errno == ELOOP { return nil }
            throw .unusable(path: path, code: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mode & 0o077 == 0 else {
            return nil
        }
        var key = [UInt8](repeating: 0, count: length + 1)
        let count = Glibc.read(descriptor, &key, key.count)
        return count == length ? Array(key.prefix(length)) : nil
    }

    /// Writes the whole file under another name first, so that a crash leaves a key or none.
    private static func write(_ key: [UInt8], to path: String) throws(Failure) {
        let draft = path + ".new"
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .unusable(path: draft, code: errno) }
        let isWritten = Glibc.write(descriptor, key, key.count) == key.count && fsync(descriptor) == 0
        let code = errno
        close(descriptor)
        guard isWritten else { throw .unusable(path: draft, code: code) }
        guard rename(draft, path) == 0 else { throw .unusable(path: path, code: errno) }
    }
}
