// SPDX-License-Identifier: Apache-2.0
import Glibc

/// A failed system call on a file.
struct DiskFailure: Error, Hashable, Sendable {
    let errno: Int32
    let operation: String

    /// The last failure of this thread.
    static func last(_ operation: String) -> DiskFailure { DiskFailure(errno: Glibc.errno, operation: operation) }

    /// True if other files would fail as well: the disk is full, missing, or not writable. A single file that may not
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
