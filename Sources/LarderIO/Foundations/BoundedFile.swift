// SPDX-License-Identifier: Apache-2.0

package import Glibc

/// Reads a whole file that must not be larger than a limit.
package enum BoundedFile {
    package enum Failure: Error, Equatable, CustomStringConvertible {
        case missing
        case denied
        case notAFile
        /// A pipe that no process writes to.
        case silent
        case tooLarge(limit: Int)
        case other(Int32)

        package var description: String {
            switch self {
            case .missing: "there is no such file"
            case .denied: "this user may not read it"
            case .notAFile: "it is not a file"
            case .silent: "nobody writes to it"
            case .tooLarge(let limit):
                "it is larger than \(limit < 1 << 20 ? "\(limit >> 10) KiB" : "\(limit >> 20) MiB")"
            case .other(let code): String(cString: strerror(code))
            }
        }

        package init(code: Int32) {
            switch code {
            case ENOENT, ENOTDIR: self = .missing
            case EACCES, EPERM: self = .denied
            case EISDIR: self = .notAFile
            default: self = .other(code)
            }
        }
    }

    /// The kinds of file that a path may lead to.
    package enum Kind {
        /// A file alone. Anything else could make the reader wait, for ever.
        case regular
        /// A file that Larder has made, and no link to another.
        case own
        /// A pipe too (`--config /dev/stdin`), whose writer has a few seconds.
        case promptPipe
        /// Any file that the user of a command names, however long it takes.
        case any
    }

    /// The bytes of the file at `path`.
    package static func read(_ path: String, limit: Int, _ kind: Kind = .any) throws(Failure) -> [UInt8] {
        try readWithStatus(path, limit: limit, kind).octets
    }

    /// The bytes of the file, and whose it is.
    package static func readWithStatus(
        _ path: String, limit: Int, _ kind: Kind
    ) throws(Failure) -> (octets: [UInt8], status: stat) {
        // `O_NONBLOCK` opens a pipe at once, even if the pipe has no writer.
        let way =
            switch kind {
            case .any: Int32(0)
            case .regular, .promptPipe: O_NONBLOCK
            case .own: O_NONBLOCK | O_NOFOLLOW
            }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | way)
        guard descriptor >= 0 else { throw Failure(code: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Failure(code: errno) }
        let type = status.st_mode & S_IFMT
        guard type != S_IFDIR else { throw Failure(code: EISDIR) }
        switch kind {
        case .regular where type != S_IFREG, .own where type != S_IFREG: throw .notAFile
        case .promptPipe where type == S_IFIFO || type == S_IFSOCK || type == S_IFCHR:
            return (try read(descriptor, limit: limit, patience: patience), status)
        default: return (try read(descriptor, limit: limit), status)
        }
    }

    /// True if there is something else than a file at the path.
    package static func isNoFile(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }

    /// How long a pipe may be silent, in milliseconds.
    private static let patience: Int32 = 5_000

    /// The bytes of standard input.
    package static func readInput(limit: Int) throws(Failure) -> [UInt8] { try read(STDIN_FILENO, limit: limit) }

    /// - Parameter patience: how long it may be silent, in milliseconds; for ever without one.
    private static func read(
        _ descriptor: Int32, limit: Int, patience: Int32? = nil
    ) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        // A read from a pipe returns 0 before the first writer, as at the end. Only after a write does 0 mean the end.
        var isWrittenTo = patience == nil
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0, isWrittenTo { return bytes }
            if count < 0, errno == EINTR { continue }
            if count < 0, patience == nil || errno != EAGAIN { throw Failure(code: errno) }
            guard count > 0 else {
                var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let ready = poll(&wanted, 1, patience ?? -1)
                guard ready != 0 else { throw .silent }
                isWrittenTo = isWrittenTo || ready > 0
                continue
            }
            isWrittenTo = true
            guard bytes.count + count <= limit else { throw .tooLarge(limit: limit) }
            bytes += chunk[..<count]
        }
    }
}
