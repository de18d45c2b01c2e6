// SPDX-License-Identifier: Apache-2.0

import LarderProxy
import LarderStores

/// The secret that makes the names of partitions meaningless to whoever reads the store (T-03). It lies beside the
/// store and lives as long: without it, what was stored for one user is never found again.
enum InstallationKey {
    static let fileName = "identity.key"
    private static let length = 32

    /// The key of a store's directory, made at the first start, and made again if its file is deleted meanwhile.
    ///
    /// A file that is no key, or that others can read, is replaced: its partitions are forgotten, nobody's are mixed.
    static func digest(in store: SQLiteStore) throws(StoreError) -> IdentityDigest {
        let key = try store.keepFile(fileName, count: length) { (0..<length).map { _ in .random(in: .min ... .max) } }
        return IdentityDigest(key: key)
    }
}
