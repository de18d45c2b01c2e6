// SPDX-License-Identifier: Apache-2.0
import Glibc

/// What the system said when it could not do something with a file.
struct DiskFailure: Error, Hashable, Sendable {
    let errno: Int32
    let operation: String

    /// The last failure of this thread.
    static func last(_ operation: String) -> DiskFailure { DiskFailure(errno: Glibc.errno, operation: operation) }

    /// Whether others would fail as well: the disk is full, gone, or not writable. A single file that may not
    /// grow (EFBIG) says nothing about others.
    var concernsTheDisk: Bool {
        switch errno {
        case ENOSPC, EDQUOT, EROFS, EIO, ENOENT, ENOTDIR, ELOOP, ENODEV, EACCES, EPERM: true
        default: false
        }
    }
}

extension DiskFailure: CustomStringConvertible {
    var description: String { "\(operation): \(String(cString: strerror(errno)))" }
}
