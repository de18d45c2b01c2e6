// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderHTTP
import LarderIO

/// Threads for reading and writing files, which may block on the disk.
enum TransferFiles {
    static let threads = WorkerPool(name: "larder-file", threads: 2, queueLimit: 1 << 20)

    /// Runs `body` on one of the threads. Its errors are rethrown unchanged.
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await threads.run(body)
    }

    static func failure(_ path: String, _ operation: String) -> TransportError {
        .file(path, operation, IOError(errno: errno, operation: operation))
    }
}

/// A file to send.
final class FileReader: Sendable {
    private let path: String
    private let descriptor: Int32
    /// The length when it was opened, in bytes.
    let count: Int

    /// Opens a file. To be called where blocking on the disk is allowed.
    init(path: String) throws {
        descriptor = open(path, O_RDONLY | O_CLOEXEC)
        self.path = path
        guard descriptor >= 0 else { throw TransferFiles.failure(path, "opened") }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(descriptor)
            throw TransportError(.file, "\(path) is not a file that can be sent.")
        }
        count = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// At least one byte from `offset` on, at most `count`.
    func read(from offset: Int, count: Int) async throws -> ContentChunk {
        let wanted = min(count, self.count - offset)
        return try await TransferFiles.run { [self] in
            var got = 0
            let chunk = ContentChunk(count: wanted) { buffer in
                got = pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            }
            guard got >= 0 else { throw TransferFiles.failure(path, "read") }
            guard got == wanted else {
                throw TransportError(.file, "\(path) became shorter while it was sent.")
            }
            return chunk
        }
    }
}

/// A file being received: under a temporary name until it is complete.
final class FileWriter: Sendable {
    let path: String
    private let draft: FileDraft

    /// Makes a file beside `path`. To be called where blocking on the disk is allowed.
    init(path: String) throws {
        self.path = path
        draft = try FileWriter.tellingPath(path) { () throws(IOError) in
            try FileDraft(at: "\(path).\(getpid())-\(UInt64.random(in: .min ... .max)).part", of: path, mode: 0o666)
        }
    }

    func write(_ chunk: ContentChunk) async throws {
        try await TransferFiles.run { [self] in
            try chunk.withBytes { bytes in
                try FileWriter.tellingPath(path) { () throws(IOError) in try draft.write(bytes) }
            }
        }
    }

    /// Renames the file to its final name, replacing an existing one. Afterwards it is on the disk.
    func finish() async throws {
        try await TransferFiles.run { [self] in
            try FileWriter.tellingPath(path) { () throws(IOError) in try draft.finish() }
        }
    }

    private static func tellingPath<T>(_ path: String, _ body: () throws(IOError) -> T) throws(TransportError) -> T {
        do throws(IOError) { return try body() } catch { throw .file(path, "written", error) }
    }
}
