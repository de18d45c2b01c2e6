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
        let code: Int32

        var description: String { "cannot use \(path): \(String(cString: strerror(code)))" }
    }

    private var path: String { directory + "/" + RecordingFiles.folder }
    private func file(_ name: String) -> String { "\(path)/\(name)\(RecordingFiles.ending)" }

    func names() throws -> [String] {
        try entries().compactMap { name in
            guard name.hasSuffix(RecordingFiles.ending) else { return nil }
            let plain = String(name.dropLast(RecordingFiles.ending.count))
            return Recording.isName(plain) ? plain : nil
        }
    }

    private func entries() throws -> [String] {
        guard let stream = opendir(path) else {
            if errno == ENOENT { return [] }
            throw Failure(path: path, code: errno)
        }
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
        let path = file(name)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Failure(path: path, code: errno)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Failure(path: path, code: EINVAL)
        }
        guard status.st_size <= RecordingFiles.sizeLimit else { throw Failure(path: path, code: EFBIG) }
        var octets = [UInt8](repeating: 0, count: Int(status.st_size))
        var filled = 0
        while filled < octets.count {
            let count = octets.withUnsafeMutableBytes { octets in
                let room = UnsafeMutableRawBufferPointer(rebasing: octets[filled...])
                return read(descriptor, room.baseAddress, room.count)
            }
            guard count >= 0 else { throw Failure(path: path, code: errno) }
            if count == 0 { break }
            filled += count
        }
        return try HTTPArchive.recording(name, from: Array(octets[..<filled]))
    }

    func save(_ recording: Recording) throws {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw Failure(path: path, code: errno) }
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
        if unlink(file(name)) == 0 { return true }
        guard errno == ENOENT else { throw Failure(path: file(name), code: errno) }
        return false
    }
}
