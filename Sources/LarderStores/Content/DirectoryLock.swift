// SPDX-License-Identifier: Apache-2.0
import Glibc

/// Keeps a directory for one store. The system lets go of it when the process ends, however it ends.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    init(directory: String) throws(StoreError) {
        let path = directory + "/larder.lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw StoreError(code: .unusableDirectory, message: DiskFailure.last("open \(path)").description)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let code = errno
            let owner = Self.read(descriptor)
            // The descriptor is closed with this object, which goes although it is never handed out.
            guard code == EWOULDBLOCK else {
                throw StoreError(
                    code: .unusableDirectory,
                    message: DiskFailure(errno: code, operation: "lock \(path)").description)
            }
            let who = owner.isEmpty ? "another process" : "process \(owner)"
            throw StoreError(
                code: .inUse,
                message: "The cache in \(directory) is in use by \(who). "
                    + "Stop that one, or give this one another directory (cache.path).")
        }
        // Only information for people: the lock counts, and a full disk must not keep us from starting.
        ftruncate(descriptor, 0)
        let text = Array(String(getpid()).utf8)
        _ = text.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    deinit { close(descriptor) }

    func release() { flock(descriptor, LOCK_UN) }

    private static func read(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 20)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
    }
}
