// SPDX-License-Identifier: Apache-2.0

import LarderProxy
import LarderStores

/// The secret that makes the names of partitions meaningless to readers of the store (T-03). It is a file beside the
/// store with the same lifetime: without it, responses stored for one user are never found again.
enum InstallationKey {
    static let fileName = "identity.key"
    private static let length = 32

    /// The key of a store's directory, created at the first start, and again if its file is deleted meanwhile.
    ///
    /// An invalid file, or one that others can read, is replaced: its partitions become unreachable, and are never
    /// mixed.
    static func digest(in store: SQLiteStore) throws(StoreError) -> IdentityDigest {
        let key = try store.keepFile(fileName, count: length) { (0..<length).map { _ in .random(in: .min ... .max) } }
        return IdentityDigest(key: key)
    }
}
