// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Reads a whole file that must not be larger than a limit.
enum BoundedFile {
    enum Failure: Error, Equatable, CustomStringConvertible {
        case missing
        case denied
        case notAFile
        case tooLarge(limit: Int)
        case other(Int32)

        var description: String {
            switch self {
            case .missing: "there is no such file"
            case .denied: "this user may not read it"
            case .notAFile: "it is not a file"
            case .tooLarge(let limit): "it is larger than \(Quantity.bytes(limit))"
            case .other(let code): String(cString: strerror(code))
            }
        }

        init(code: Int32) {
            switch code {
            case ENOENT, ENOTDIR: self = .missing
            case EACCES, EPERM: self = .denied
            case EISDIR: self = .notAFile
            default: self = .other(code)
            }
        }
    }

    /// The octets of the file at `path`, which may also be a pipe (`--config /dev/stdin`).
    static func read(_ path: String, limit: Int) throws(Failure) -> [UInt8] {
        try readWithStatus(path, limit: limit).octets
    }

    /// The octets of the file, and whose it is.
    static func readWithStatus(_ path: String, limit: Int) throws(Failure) -> (octets: [UInt8], status: stat) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(code: errno) }
        return (try read(descriptor, limit: limit), status)
    }

    /// The octets of standard input.
    static func readInput(limit: Int) throws(Failure) -> [UInt8] { try read(STDIN_FILENO, limit: limit) }

    private static func read(_ descriptor: Int32, limit: Int) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw Failure(code: errno)
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw .tooLarge(limit: limit) }
            bytes += chunk[..<count]
        }
    }
}
