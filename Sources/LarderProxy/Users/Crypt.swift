// SPDX-License-Identifier: Apache-2.0

import CCrypt
package import LarderSettings

/// crypt(3): takes tens of milliseconds and megabytes by design, so never on a loop.
package enum Crypt {
    /// The longest password, in bytes (`CRYPT_MAX_PASSPHRASE_SIZE`).
    package static let passwordLimit = 511

    /// True if the hash was made of `password`.
    static func matches(_ password: String, _ hash: PasswordHash) -> Bool {
        password.utf8.count <= passwordLimit && larder_crypt_matches(password, hash.text) == 1
    }

    /// True if this system's library knows the method of a hash.
    package static func knows(_ hash: PasswordHash) -> Bool { larder_crypt_knows(hash.text) == 1 }

    /// A yescrypt hash of `password`, with a new salt; nil if the system has no memory or randomness for it.
    package static func hash(_ password: String) -> PasswordHash? {
        guard password.utf8.count <= passwordLimit else { return nil }
        var made = [CChar](repeating: 0, count: 384)
        guard larder_crypt_make(password, "$y$", &made, made.count) == 1 else { return nil }
        return made.withUnsafeBufferPointer { hash in
            hash.baseAddress.flatMap { try? PasswordHash(String(cString: $0)) }
        }
    }
}
