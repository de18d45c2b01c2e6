// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Detects changes of a file by its content: a renewed certificate has the name of the old one.
struct FileState: Hashable {
    /// Nil for no file, and for one that cannot be read.
    let hash: Int?
    private static let sizeLimit = 16 << 20

    init(_ path: String?) { hash = path.flatMap { FileState.hash($0) } }

    private static func hash(_ path: String) -> Int? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var hasher = Hasher()
        var octets = [UInt8](repeating: 0, count: 64 << 10)
        var total = 0
        while total < sizeLimit {
            let count = read(descriptor, &octets, octets.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            octets.withUnsafeBytes { hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            total += count
        }
        return hasher.finalize()
    }
}
