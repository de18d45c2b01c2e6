// SPDX-License-Identifier: Apache-2.0
package import Glibc
import Synchronization

/// The new content of a file, written under another name beside it first: a crash leaves the old file or the new one.
///
/// Without `finish` the file stays as it is, and the draft is removed. Calls block on the disk. They may come from any
/// thread, one at a time.
package final class FileDraft: Sendable {
    package let descriptor: Int32
    private let path: String
    private let place: String
    private let isFinished = Atomic(false)

    /// Makes the draft, and replaces a draft that a crash has left.
    ///
    /// - Parameters:
    ///   - path: the draft's path until it is finished, in the folder of `place`.
    ///   - mode: the file's permissions, which the process's umask may reduce.
    package init(at path: String, of place: String, mode: mode_t = 0o600) throws(IOError) {
        (self.path, self.place) = (path, place)
        unlink(path)
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)
        guard descriptor >= 0 else { throw IOError(errno: errno, operation: "make \(path)") }
    }

    deinit {
        close(descriptor)
        if !isFinished.load(ordering: .relaxed) { unlink(path) }
    }

    /// Appends bytes.
    package func write(_ octets: UnsafeRawBufferPointer) throws(IOError) {
        if let code = BlockingWrite.failure(of: octets, to: descriptor) {
            throw IOError(errno: code, operation: "write \(path)")
        }
    }

    /// Replaces a file, or makes it, at once.
    ///
    /// - Parameter isSynced: whether it waits for the disk, as for what cannot be had again.
    package static func write(
        _ octets: [UInt8], to place: String, draft path: String, mode: mode_t = 0o600, isSynced: Bool = true
    ) throws(IOError) {
        let draft = try FileDraft(at: path, of: place, mode: mode)
        try draft.write(octets)
        try draft.finish(isSynced: isSynced)
    }

    /// Appends bytes.
    package func write(_ octets: [UInt8]) throws(IOError) {
        let outcome = octets.withUnsafeBytes { bytes in Result { () throws(IOError) in try write(bytes) } }
        try outcome.get()
    }

    /// Puts it in place, once it is on the disk.
    package func finish(isSynced: Bool = true) throws(IOError) {
        guard !isSynced || fsync(descriptor) == 0, rename(path, place) == 0 else {
            throw IOError(errno: errno, operation: "write \(place)")
        }
        isFinished.store(true, ordering: .relaxed)
    }
}
