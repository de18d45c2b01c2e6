// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderIO

/// A file that an export goes to. It has another name until it is whole, so that a half one never passes for an export;
/// `-` is standard output.
final class ExportedFile {
    private let path: String
    private let part: String
    private let descriptor: Int32
    /// True if the unfinished file is this one's.
    private var isBegun = false

    var isStandardOutput: Bool { descriptor == STDOUT_FILENO }

    /// - Parameter isPrivate: whether only this user may read the file.
    init(_ path: String, isPrivate: Bool) throws {
        self.path = path
        part = path + ".part"
        guard path != "-" else {
            guard isatty(STDOUT_FILENO) == 0 else {
                throw CommandFailure("an archive is nothing to read on a terminal", advice: "name a file, or a pipe")
            }
            descriptor = STDOUT_FILENO
            return
        }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
            throw CommandFailure("cannot write \(path): it is not a file")
        }
        try ExportedFile.removeLeftover(part)
        // In a directory that others can write to, this process must create the file.
        descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isPrivate ? 0o600 : 0o644)
        guard descriptor >= 0 else {
            throw CommandFailure("cannot write \(part): \(String(cString: strerror(errno)))")
        }
        try ExportedFile.lock(descriptor, part)
        isBegun = true
    }

    /// Removes the rest of an interrupted export.
    private static func removeLeftover(_ part: String) throws {
        let descriptor = open(part, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
        if descriptor < 0, errno == ENOENT { return }
        guard descriptor >= 0 else {
            throw CommandFailure(
                "cannot write \(part): \(String(cString: strerror(errno)))", advice: "remove it, or name another file")
        }
        defer { close(descriptor) }
        try lock(descriptor, part)
        guard unlink(part) == 0 else {
            throw CommandFailure("cannot replace \(part): \(String(cString: strerror(errno)))")
        }
    }

    /// Has the file at `part` to itself until the descriptor is closed.
    private static func lock(_ descriptor: Int32, _ part: String) throws {
        var (locked, there) = (stat(), stat())
        // Another export may have taken it for a leftover just before.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &locked) == 0, lstat(part, &there) == 0,
            locked.st_dev == there.st_dev, locked.st_ino == there.st_ino
        else { throw CommandFailure("another export writes \(part)", advice: "wait for it, or name another file") }
    }

    deinit {
        guard !isStandardOutput else { return }
        if isBegun { unlink(part) }
        close(descriptor)
    }

    func write(_ octets: ArraySlice<UInt8>) throws {
        if let code = BlockingWrite.failure(of: octets, to: descriptor) {
            let place = isStandardOutput ? "to standard output" : part
            throw CommandFailure("cannot write \(place): \(String(cString: strerror(code)))")
        }
    }

    /// Gives the file its name.
    func finish() throws {
        guard !isStandardOutput else { return }
        guard fsync(descriptor) == 0, rename(part, path) == 0 else {
            throw CommandFailure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        isBegun = false
    }
}

/// A file, or a pipe, that an import comes from; `-` is standard input.
final class ImportedFile {
    private let path: String
    private let descriptor: Int32
    /// In bytes; nil where only its end tells.
    let length: Int?

    init(_ path: String) throws {
        self.path = path
        descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY)
        var status = stat()
        guard descriptor >= 0, fstat(descriptor, &status) == 0 else {
            throw CommandFailure("cannot read \(path): \(BoundedFile.Failure(code: errno))")
        }
        guard status.st_mode & S_IFMT != S_IFDIR else {
            throw CommandFailure("cannot read \(path): it is a directory")
        }
        // Another process may have read a part of standard input, even if it is a file.
        let isWhole = path != "-" && status.st_mode & S_IFMT == S_IFREG
        length = isWhole ? Int(status.st_size) : nil
    }

    deinit { if descriptor > STDIN_FILENO { close(descriptor) } }

    /// The next bytes; none at the end.
    func read(atMost limit: Int) throws -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: limit)
        while true {
            let count = Glibc.read(descriptor, &octets, limit)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                throw CommandFailure("cannot read \(path): \(BoundedFile.Failure(code: errno))")
            }
            return Array(octets[..<count])
        }
    }
}

/// How far a transfer is, on a terminal.
final class TransferProgress {
    private let total: Int?
    private var count = 0
    private var shown = 0
    private let start = TransferProgress.now
    private let isShown = isatty(STDERR_FILENO) == 1

    init(total: Int?) { self.total = total }

    func add(_ octets: Int) {
        count += octets
        // Every few mebibytes; a terminal is slow.
        guard isShown, count - shown > 4 << 20 else { return }
        shown = count
        let seconds = max(TransferProgress.now - start, 0.001)
        let rate = Double(count) / seconds
        var line = "\(Quantity.bytes(count)), \(Quantity.bytes(Int(rate)))/s"
        if let total, total > count { line += ", \(Quantity.seconds(Double(total - count) / rate)) left" }
        Terminal.writeProgress(line)
    }

    func end() {
        if isShown, shown > 0 { Terminal.writeProgress(nil) }
    }

    private static var now: Double {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
