// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderIO
import LarderProxy

/// Recordings as files beside the store, one for each, readable by the daemon's user only: responses may contain
/// secrets.
struct RecordingFiles: RecordingKeeping {
    static let folder = "recordings"
    private static let ending = ".har"
    private static let draftPrefix = ".new-"
    private static let sizeLimit = 1 << 30

    /// The directory of the files.
    let directory: String

    struct Failure: Error, CustomStringConvertible {
        let path: String
        let reason: String

        init(path: String, reason: String) { (self.path, self.reason) = (path, reason) }
        init(path: String, code: Int32) { self.init(path: path, reason: String(cString: strerror(code))) }

        var description: String { "cannot use \(path): \(reason)" }
    }

    private var path: String { directory + "/" + RecordingFiles.folder }
    private func file(_ name: String) -> String { "\(path)/\(name)\(RecordingFiles.ending)" }

    /// False if there is no folder yet. A symbolic link could lead to files of others; only the daemon's user can put one
    /// in the place of the folder, as the store's directory belongs to that user.
    private func hasFolder() throws -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw Failure(path: path, code: errno)
        }
        guard status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
            throw Failure(
                path: path, reason: "it is not a directory of Larder's own, to which other users cannot write")
        }
        return true
    }

    func names() throws -> [String] {
        try entries().compactMap { name in
            guard name.hasSuffix(RecordingFiles.ending) else { return nil }
            let plain = String(name.dropLast(RecordingFiles.ending.count))
            return Recording.isName(plain) ? plain : nil
        }
    }

    private func entries() throws -> [String] {
        guard try hasFolder() else { return [] }
        guard let stream = opendir(path) else { throw Failure(path: path, code: errno) }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                })
        }
        return names
    }

    /// Removes what a daemon left that was killed while it wrote. The directory belongs to this one.
    func removeDrafts() {
        for name in (try? entries()) ?? [] where name.hasPrefix(RecordingFiles.draftPrefix) {
            unlink("\(path)/\(name)")
        }
    }

    func load(_ name: String) throws -> Recording? {
        guard try hasFolder() else { return nil }
        let path = file(name)
        let octets: [UInt8]
        do throws(BoundedFile.Failure) {
            octets = try BoundedFile.read(path, limit: RecordingFiles.sizeLimit, .own)
        } catch {
            if error == .missing { return nil }
            throw Failure(path: path, reason: "\(error)")
        }
        return try HTTPArchive.recording(name, from: octets)
    }

    func save(_ recording: Recording) throws {
        guard try hasFolder() || mkdir(path, 0o700) == 0 else { throw Failure(path: path, code: errno) }
        let place = file(recording.name)
        let text = HTTPArchive.json(recording).description
        // A longer file would not be read again.
        guard text.utf8.count <= RecordingFiles.sizeLimit else { throw Failure(path: place, code: EFBIG) }
        do throws(IOError) {
            let draft = "\(path)/\(RecordingFiles.draftPrefix)\(getpid())-\(UInt32.random(in: .min ... .max))"
            try FileDraft.write(Array(text.utf8), to: place, draft: draft)
        } catch {
            throw Failure(path: place, code: error.errno)
        }
    }

    func remove(_ name: String) throws -> Bool {
        guard try hasFolder() else { return false }
        if unlink(file(name)) == 0 { return true }
        guard errno == ENOENT else { throw Failure(path: file(name), code: errno) }
        return false
    }
}
