// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A number that identifies the running program: different after every build or installation.
///
/// Transformers are code. The output of an older program is transformed again rather than trusted.
enum ProgramIdentity {
    static let number: UInt64 = {
        var status = stat()
        guard stat("/proc/self/exe", &status) == 0 else { return 0 }
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        // The octets of the time, as a static build cannot access its parts.
        let parts = withUnsafeBytes(of: status.st_mtim, Array.init) + withUnsafeBytes(of: status.st_size, Array.init)
        for part in parts {
            hash = (hash ^ UInt64(part)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 29
        }
        return hash
    }()
}
