// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderProxy

/// The default locations of files: they depend on the user and on how the daemon is run.
struct DefaultPaths: Sendable {
    var environment: [String: String]
    var user: uid_t = getuid()

    /// The paths at which the configuration is looked for when none is named; the first that exists is used. They are
    /// this user's own, then the system's. A daemon of root reads only the system's: the file can name programs to run.
    var configurations: [String] {
        let folder = directory("XDG_CONFIG_HOME") ?? directory("HOME").map { $0 + "/.config" }
        return (user == 0 ? [] : [folder].compactMap(\.self).map { $0 + "/larder/larder.yaml" })
            + ["/etc/larder/larder.yaml"]
    }

    static let systemSocket = "/run/larder/larder.sock"

    /// The path of the daemon's admin socket.
    var socket: String {
        if let directory = directory("RUNTIME_DIRECTORY") { return directory + "/larder.sock" }
        if let directory = directory("XDG_RUNTIME_DIR") { return directory + "/larder.sock" }
        return user == 0 ? DefaultPaths.systemSocket : temporarySocket
    }

    /// The socket beside `socket` on which every user may open lanes.
    static func lanes(beside socket: String) -> String {
        (socket.hasSuffix(".sock") ? String(socket.dropLast(5)) : socket) + "-lanes.sock"
    }

    /// The paths where a client looks for the socket: this user's own, then the system's.
    var socketCandidates: [String] {
        if socket == DefaultPaths.systemSocket { return [socket] }
        // A daemon of this user's session, asked from outside of it, as by cron.
        let isOutside = directory("XDG_RUNTIME_DIR") == nil && directory("RUNTIME_DIRECTORY") == nil
        return [socket] + (isOutside ? ["/run/user/\(user)/larder.sock"] : []) + [DefaultPaths.systemSocket]
    }

    /// The database; nil when this user has no location for one.
    var database: String? {
        if let directory = directory("STATE_DIRECTORY") { return directory + "/larder.db" }
        if user == 0 { return "/var/lib/larder/larder.db" }
        if let directory = directory("XDG_STATE_HOME") { return directory + "/larder/larder.db" }
        return directory("HOME").map { $0 + "/.local/state/larder/larder.db" }
    }

    private var temporarySocket: String { "/tmp/larder-\(user)/larder.sock" }

    /// An absolute directory in a variable. systemd lists several separated by colons; the first is used.
    private func directory(_ name: String) -> String? {
        guard let first = environment[name]?.split(separator: ":").first, first.hasPrefix("/") else { return nil }
        return String(first.count > 1 && first.hasSuffix("/") ? first.dropLast() : first)
    }

    /// True if the directory of `path` can be trusted to contain a socket of this user or the system: no other user may
    /// create one there. In `/tmp` another user may have created the directory first.
    func isTrusted(socket path: String) -> Bool {
        guard path.hasPrefix("/tmp/") else { return true }
        let parent = path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)
        var status = stat()
        guard lstat(String(parent), &status) == 0 else { return errno == ENOENT }
        return status.st_mode & S_IFMT == S_IFDIR && (status.st_uid == user || status.st_uid == 0)
            && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }

    /// Throws where another user has made the directory of the socket in `/tmp` before: commands would not use it.
    func checkTemporary(socket path: String) throws(CommandFailure) {
        guard path == temporarySocket, !isTrusted(socket: path) else { return }
        throw CommandFailure(
            "the directory of the socket \(path) belongs to somebody else or is open to them",
            advice: "remove it, or name another place in `admin.socket`")
    }

    /// Creates the directory of `path`, for this user alone, and its parents.
    ///
    /// - Parameter isForAll: whether other users may get to what is in the directory.
    static func makeDirectory(for path: String, isForAll: Bool = false) throws(DirectoryFailure) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let directory = String(path[..<slash])
        let mode: mode_t = isForAll ? 0o755 : 0o700
        if mkdir(directory, mode) == 0 || errno == EEXIST { return }
        guard errno == ENOENT else { throw DirectoryFailure(path: directory, code: errno) }
        try makeDirectory(for: directory, isForAll: isForAll)
        guard mkdir(directory, mode) == 0 || errno == EEXIST else {
            throw DirectoryFailure(path: directory, code: errno)
        }
    }

    /// A directory that could not be made.
    struct DirectoryFailure: Error, CustomStringConvertible {
        let path: String
        let code: Int32

        var description: String { "cannot make the directory \(path): \(String(cString: strerror(code)))" }
    }

    /// Why a file or a socket cannot be made at `path`, its directories included; nil if it can, as far as this user can
    /// see.
    static func obstacle(to path: String) -> DirectoryFailure? {
        var directory = path[...]
        while let slash = directory.lastIndex(of: "/") {
            directory = directory[..<slash]
            let name = directory.isEmpty ? "/" : String(directory)
            var status = stat()
            if stat(name, &status) != 0 {
                if errno == ENOENT, !directory.isEmpty { continue }
                return DirectoryFailure(path: name, code: errno)
            }
            guard status.st_mode & S_IFMT == S_IFDIR else { return DirectoryFailure(path: name, code: ENOTDIR) }
            return access(name, W_OK | X_OK) == 0 ? nil : DirectoryFailure(path: name, code: errno)
        }
        return nil
    }
}
