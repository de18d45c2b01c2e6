// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderStores

/// Detects changes of a file by its content: a renewed certificate has the name of the old one.
struct FileState: Hashable {
    /// The digest of its content, as text; nil for no file, and for one that cannot be read.
    let digest: String?
    private static let sizeLimit = 16 << 20

    init(_ path: String?) { digest = path.flatMap { FileState.digest(of: $0) } }

    private static func digest(of path: String) -> String? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let hashing = ContentDigest.Hashing()
        var octets = [UInt8](repeating: 0, count: 64 << 10)
        var total = 0
        while total < sizeLimit {
            let count = read(descriptor, &octets, octets.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            octets.withUnsafeBytes { hashing.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            total += count
        }
        return hashing.finish().hexadecimal
    }
}
