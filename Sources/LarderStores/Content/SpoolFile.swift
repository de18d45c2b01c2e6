// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import Synchronization

/// A file that is being written, and that becomes content when it is renamed to its digest.
///
/// Readers use it while it grows and after it was renamed; it is deleted if it was never renamed.
final class SpoolFile: Sendable {
    private let descriptor: Int32
    private let folder: Directory
    private let name: String
    private let isKept = Atomic<Bool>(false)

    init(creating name: String, in folder: Directory) throws(DiskFailure) {
        descriptor = try folder.open(name, O_RDWR | O_CREAT | O_EXCL)
        self.folder = folder
        self.name = name
    }

    deinit {
        close(descriptor)
        if !isKept.load(ordering: .acquiring) { folder.remove(name) }
    }

    private var path: String { folder.path + "/" + name }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(DiskFailure) {
        try writeAll(bytes, to: descriptor, at: offset, path: path)
    }

    func synchronize() throws(DiskFailure) {
        guard fdatasync(descriptor) == 0 else { throw .last("sync \(path)") }
    }

    /// Gives the file its final name; it outlives this object from then on.
    func rename(to final: String, in other: Directory) throws(DiskFailure) {
        try folder.rename(name, to: final, in: other)
        isKept.store(true, ordering: .releasing)
    }

    func read(at offset: Int64, count: Int) throws(DiskFailure) -> ContentChunk? {
        try readChunk(descriptor, at: offset, count: count, path: path)
    }
}

func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int64, path: @autoclosure () -> String
) throws(DiskFailure) {
    var done = 0
    while done < bytes.count {
        let count = pwrite(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, Int(offset) + done)
        if count > 0 {
            done += count
        } else if count == 0 || errno != EINTR {
            throw .last("write \(path())")
        }
    }
}

/// Reads exactly `count` bytes; nil if the file ends before them.
///
/// A read that fails says nothing about what is there: another may succeed.
func readChunk(
    _ descriptor: Int32, at offset: Int64, count: Int, path: @autoclosure () -> String
) throws(DiskFailure) -> ContentChunk? {
    var done = 0
    var failure: Int32?
    let chunk = ContentChunk(count: count) { bytes in
        while done < count {
            let result = pread(descriptor, bytes.baseAddress.map { $0 + done }, count - done, Int(offset) + done)
            if result > 0 {
                done += result
            } else if result == 0 || errno != EINTR {
                if result < 0 { failure = errno }
                // Never hand out memory that was not written, not even to be thrown away.
                UnsafeMutableRawBufferPointer(rebasing: bytes[done...]).initializeMemory(as: UInt8.self, repeating: 0)
                return
            }
        }
    }
    if let failure { throw DiskFailure(errno: failure, operation: "read \(path())") }
    return done == count ? chunk : nil
}
