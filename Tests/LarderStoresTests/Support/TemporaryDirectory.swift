// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A fresh directory that is deleted with all that is in it when the test is done.
final class TemporaryDirectory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/larder-stores-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, let made = mkdtemp(base) else { return "/nonexistent" }
            return String(cString: made)
        }
    }

    deinit { removeTree(path) }

    /// Paths of all files below, relative, in order.
    var files: [String] { listFiles(path, below: "").sorted() }

    /// The octets of all files below, without holes.
    var bytes: Int64 { files.reduce(0) { $0 + min(length(of: $1), room(of: $1)) } }

    /// The octets that a file takes on disk.
    func room(of file: String) -> Int64 {
        var status = stat()
        return lstat(path + "/" + file, &status) == 0 ? Int64(status.st_blocks) * 512 : 0
    }

    func length(of file: String) -> Int64 {
        var status = stat()
        return lstat(path + "/" + file, &status) == 0 ? Int64(status.st_size) : 0
    }

    func mode(of file: String) -> mode_t {
        var status = stat()
        return lstat(path + "/" + file, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    func contents(of file: String) -> [UInt8] {
        guard let stream = fopen(path + "/" + file, "r") else { return [] }
        defer { fclose(stream) }
        var bytes = [UInt8](repeating: 0, count: Int(length(of: file)))
        let count = fread(&bytes, 1, bytes.count, stream)
        return Array(bytes.prefix(count))
    }

    func write(_ bytes: [UInt8], to file: String) {
        guard let stream = fopen(path + "/" + file, "w") else { return }
        fwrite(bytes, 1, bytes.count, stream)
        fclose(stream)
    }

    /// Writes over a part of a file, as a failing disk would.
    func overwrite(_ file: String, at offset: Int64, with bytes: [UInt8]) {
        let descriptor = open(path + "/" + file, O_WRONLY)
        defer { close(descriptor) }
        _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, Int(offset)) }
    }

    /// Makes it a directory that a store may have.
    func tag() { write(Array("Larder keeps this directory, version 1.\n".utf8), to: "larder.tag") }

    func cut(_ file: String, to length: Int64) { truncate(path + "/" + file, Int(length)) }

    func delete(_ file: String) { unlink(path + "/" + file) }

    /// The segments of content, by their relative paths.
    var segments: [String] { files.filter { $0.hasPrefix("segments/") } }

    /// The files of content, by their relative paths.
    var contentFiles: [String] { files.filter { $0.hasPrefix("content/") } }
}

private func names(in path: String) -> [String] {
    guard let stream = opendir(path) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != ".", name != ".." { names.append(name) }
    }
    return names
}

private func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
}

private func listFiles(_ path: String, below prefix: String) -> [String] {
    names(in: path).flatMap { name in
        isDirectory(path + "/" + name)
            ? listFiles(path + "/" + name, below: prefix + name + "/") : [prefix + name]
    }
}

func removeTree(_ path: String) {
    if isDirectory(path) {
        for name in names(in: path) { removeTree(path + "/" + name) }
        rmdir(path)
    } else {
        unlink(path)
    }
}
