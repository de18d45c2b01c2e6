// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO
import LarderSettings

/// The file of users on disk, for the commands that change it.
///
/// It is replaced as a whole, so that a daemon never reads half of it, and keeps its owner, group and mode. A new one is
/// for its owner alone. Commands that change it at the same time wait for each other.
struct StoredUsers {
    let path: String

    struct Failure: Error, CustomStringConvertible {
        let action: String
        let code: Int32

        var description: String { "cannot \(action): \(String(cString: strerror(code)))" }
    }

    /// The file; nil when there is none.
    func read() throws -> UserFile? {
        let octets: [UInt8]
        do throws(BoundedFile.Failure) {
            octets = try BoundedFile.read(path, limit: ConfiguredUsers.fileLimit, .regular)
        } catch {
            if error == .missing { return nil }
            throw CommandFailure("cannot read \(path): \(error)")
        }
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw CommandFailure("\(path) is not UTF-8", advice: "save it in UTF-8")
        }
        return UserFile(text)
    }

    /// Changes the file, which may be missing. `body` returns whether there is a change.
    ///
    /// - Returns: whether the file was made.
    @discardableResult
    func change(_ body: (inout UserFile) throws -> Bool) throws -> Bool {
        let place = try resolved()
        let directory = open(place.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw Failure(action: "open the directory \(place.directory)", code: errno) }
        defer { close(directory) }
        // Held until the descriptor is closed.
        while flock(directory, LOCK_EX) != 0 {
            guard errno == EINTR else { throw Failure(action: "lock the directory \(place.directory)", code: errno) }
        }
        let old = try read()
        var file = old ?? UserFile("")
        guard try body(&file) else { return false }
        try replace(place.directory + "/" + place.name, by: Array(file.text.utf8), isNew: old == nil)
        _ = fsync(directory)
        return old == nil
    }

    /// The location of the file that `path` links to: the link is kept.
    private func resolved() throws -> (directory: String, name: String) {
        var path = path
        if let real = realpath(path, nil) {
            path = String(cString: real)
            free(real)
        }
        guard let slash = path.lastIndex(of: "/") else { return (".", path) }
        let name = String(path[path.index(after: slash)...])
        guard !name.isEmpty else { throw Failure(action: "write to \(path)", code: EISDIR) }
        return (slash == path.startIndex ? "/" : String(path[..<slash]), name)
    }

    private func replace(_ path: String, by octets: [UInt8], isNew: Bool) throws {
        do {
            let draft = try FileDraft(at: "\(path).\(UInt64.random(in: .min ... .max))", of: path)
            if !isNew { try keepOwner(of: path, draft.descriptor) }
            try draft.write(octets)
            try draft.finish()
        } catch let error as IOError {
            throw Failure(action: error.operation, code: error.errno)
        }
    }

    /// Gives the new file the owner, the group and the mode of the old one.
    private func keepOwner(of path: String, _ descriptor: Int32) throws {
        var (old, new) = (stat(), stat())
        guard stat(path, &old) == 0, fstat(descriptor, &new) == 0 else {
            throw Failure(action: "look at \(path)", code: errno)
        }
        if old.st_uid != new.st_uid || old.st_gid != new.st_gid, fchown(descriptor, old.st_uid, old.st_gid) != 0 {
            throw Failure(action: "keep the owner and group of \(path)", code: errno)
        }
        guard fchmod(descriptor, old.st_mode & 0o777) == 0 else {
            throw Failure(action: "keep the mode of \(path)", code: errno)
        }
    }
}
