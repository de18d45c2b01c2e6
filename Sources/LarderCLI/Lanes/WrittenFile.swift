// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// Writes a whole file, replacing its content.
enum WrittenFile {
    struct Failure: Error, CustomStringConvertible {
        let code: Int32

        var description: String { String(cString: strerror(code)) }
    }

    static func write(_ octets: [UInt8], to path: String, mode: mode_t = 0o644) throws(WrittenFile.Failure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw WrittenFile.Failure(code: errno) }
        defer { close(descriptor) }
        if let code = BlockingWrite.failure(of: octets, to: descriptor) { throw WrittenFile.Failure(code: code) }
    }

    /// Creates a private directory of this user, under an unpredictable name.
    static func makeDirectory(_ prefix: String, environment: [String: String]) throws(WrittenFile.Failure) -> String {
        let parent = environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var template = Array("\(parent)/\(prefix)-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { buffer in
            buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
        }
        guard let made else { throw WrittenFile.Failure(code: errno) }
        return made
    }
}

extension ExportedFile {
    /// Writes a file whole or not at all. A device, a pipe or a link that is there already stays, and is written to.
    static func write(_ octets: [UInt8], to path: String, isPrivate: Bool) throws {
        var status = stat()
        if lstat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            do {
                return try WrittenFile.write(octets, to: path, mode: isPrivate ? 0o600 : 0o644)
            } catch {
                throw CommandFailure("cannot write \(path): \(error)")
            }
        }
        let file = try ExportedFile(path, isPrivate: isPrivate)
        try file.write(octets[...])
        try file.finish()
    }
}
