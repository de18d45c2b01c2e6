// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderStores

/// Detects changes of a file by its content: a renewed certificate has the name of the old one.
struct FileState: Hashable {
    /// Nil for no file, and for one that cannot be read.
    let digest: [UInt8]?
    private static let sizeLimit = 16 << 20

    init(_ path: String?) { digest = path.flatMap { FileState.digest(of: $0) } }

    /// The digest of its content, as text.
    static func digest(of path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var octets = [UInt8](repeating: 0, count: 64 << 10)
        while content.count < sizeLimit {
            let count = read(descriptor, &octets, octets.count)
            guard count >= 0 else { return nil }
            if count == 0 { break }
            content += octets[..<count]
        }
        return Array(ContentDigest(of: content).hexadecimal.utf8)
    }
}
