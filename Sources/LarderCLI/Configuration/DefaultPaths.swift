// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderProxy

/// The default locations of files: they depend on the user and on how the daemon is run.
struct DefaultPaths: Sendable {
    var environment: [String: String]
    var user: uid_t = getuid()

    static let configuration = "/etc/larder/larder.yaml"
    static let systemSocket = "/run/larder/larder.sock"

    /// The path of the daemon's admin socket.
    var socket: String {
        if let directory = directory("RUNTIME_DIRECTORY") { return directory + "/larder.sock" }
        if let directory = directory("XDG_RUNTIME_DIR") { return directory + "/larder.sock" }
        return user == 0 ? DefaultPaths.systemSocket : temporarySocket
    }

    /// The paths where a client looks for the socket: this user's own, then the system's.
    var socketCandidates: [String] {
        socket == DefaultPaths.systemSocket ? [socket] : [socket, DefaultPaths.systemSocket]
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

    /// Whether the directory of `path` can be trusted to contain a socket of this user or the system: no other user may
    /// create one there. In `/tmp` another user may have created the directory first.
    func isTrusted(socket path: String) -> Bool {
        guard path.hasPrefix("/tmp/") else { return true }
        let parent = path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex)
        var status = stat()
        guard lstat(String(parent), &status) == 0 else { return errno == ENOENT }
        return status.st_mode & S_IFMT == S_IFDIR && (status.st_uid == user || status.st_uid == 0)
            && status.st_mode & (S_IWGRP | S_IWOTH) == 0
    }

    /// Creates the directory of `path`, for this user alone, and its parents.
    static func makeDirectory(for path: String) throws(BoundedFile.Failure) {
        guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
        let directory = String(path[..<slash])
        if mkdir(directory, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT else { throw BoundedFile.Failure(code: errno) }
        try makeDirectory(for: directory)
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw BoundedFile.Failure(code: errno) }
    }
}
