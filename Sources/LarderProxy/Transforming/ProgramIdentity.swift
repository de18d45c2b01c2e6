// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A number for the program that runs: another after it was built or installed anew.
///
/// Transformers are code. What an older program made is made again rather than trusted to be what this one makes.
enum ProgramIdentity {
    static let number: UInt64 = {
        var status = stat()
        guard stat("/proc/self/exe", &status) == 0 else { return 0 }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        // The time's octets, as a static build does not see the parts it is made of.
        let parts = withUnsafeBytes(of: status.st_mtim, Array.init) + withUnsafeBytes(of: status.st_size, Array.init)
        for part in parts {
            hash = (hash ^ UInt64(part)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 29
        }
        return hash
    }()
}
