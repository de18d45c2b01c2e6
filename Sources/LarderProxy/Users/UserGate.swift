// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
package import LarderSettings
import LarderStores

/// The users of one configuration, and those of them whose credentials were right not long ago.
///
/// A reload makes a new one: nothing is remembered of those who were users before.
package final class UserGate: Sendable {
    package let table: UserTable
    /// Random in every gate, so that a digest is of use nowhere else.
    private let key: [UInt8]
    private let remembered: [Lock<RememberedUsers<ContentDigest>>]

    /// How long credentials are remembered, and how many.
    static let lifetime: Int64 = 300_000_000_000
    static let limit = 4_096
    /// So that loops seldom wait for each other.
    private static let shards = 16

    package init(_ table: UserTable) {
        self.table = table
        var generator = SystemRandomNumberGenerator()
        key = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        remembered = (0..<UserGate.shards).map { _ in
            Lock(RememberedUsers(limit: UserGate.limit / UserGate.shards, lifetime: UserGate.lifetime))
        }
    }

    /// What stands for credentials in memory. Nobody without the key can find two with related digests, so looking one
    /// up reveals nothing by its time; made twice, so that none can be made from another's.
    func digest(of credentials: BasicCredentials) -> ContentDigest {
        digest(of: Array("\(credentials.name):\(credentials.password)".utf8))
    }

    private func digest(of octets: [UInt8]) -> ContentDigest {
        ContentDigest(of: key + ContentDigest(of: key + octets).bytes)
    }

    /// The user of credentials that are remembered as right.
    func user(of digest: ContentDigest, at now: Int64) -> UserTable.User? {
        shard(digest).withLock { $0.user(of: digest, at: now) }
    }

    func remember(_ user: UserTable.User, by digest: ContentDigest, at now: Int64) {
        shard(digest).withLock { $0.remember(user, by: digest, at: now) }
    }

    private func shard(_ digest: ContentDigest) -> Lock<RememberedUsers<ContentDigest>> {
        remembered[Int(digest.bytes[0]) % UserGate.shards]
    }

    /// Compares a password with its user's hash, or in vain with one of another's. For `PasswordChecks`.
    func comparison(of credentials: BasicCredentials) -> @Sendable () -> Bool {
        let password = credentials.password
        if let user = table.user(named: credentials.name) { return { Crypt.matches(password, user.hash) } }
        let name = digest(of: Array(credentials.name.utf8)).bytes
        let decoy = table.decoy(for: name.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        return {
            if let decoy { _ = Crypt.matches(password, decoy) }
            return false
        }
    }
}
