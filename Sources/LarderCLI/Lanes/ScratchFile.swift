// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// A temporary file without a name, which programs that are started may read and write.
final class ScratchFile {
    let descriptor: Int32

    init(_ octets: [UInt8]) throws {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array((folder + "/larder-XXXXXX").utf8CString)
        descriptor = template.withUnsafeMutableBufferPointer { $0.baseAddress.map { mkstemp($0) } ?? -1 }
        guard descriptor >= 0 else { throw ScratchFile.failure(errno) }
        unlink(template)
        if let code = BlockingWrite.failure(of: octets, to: descriptor) { throw ScratchFile.failure(code) }
    }

    deinit { close(descriptor) }

    var path: String { "/dev/fd/\(descriptor)" }

    /// Its content.
    func octets() throws -> [UInt8] {
        var octets: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = pread(descriptor, &piece, piece.count, octets.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw ScratchFile.failure(errno) }
            if count == 0 { return octets }
            octets += piece[..<count]
        }
    }

    private static func failure(_ code: Int32) -> CommandFailure {
        CommandFailure("cannot use a temporary file: \(String(cString: strerror(code)))")
    }
}
