// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
package import LarderSettings
import LarderStores
import Synchronization

/// The users of one configuration, and the users whose credentials were right not long ago.
///
/// A reload of a changed file makes a new gate, which remembers the clients that are still users.
package final class UserGate: Sendable {
    package let table: UserTable
    /// Tells gates apart: credentials that are wrong here may be right at the next.
    private let number: Int
    private let remembered: [Lock<RememberedUsers<ContentDigest>>]

    /// Name and password, in a form of no use elsewhere, and the gate where they are shown.
    struct Credentials: Hashable, Sendable {
        let digest: ContentDigest
        fileprivate let gate: Int
    }

    typealias Checks = PasswordChecks<ClientAddress, ContentDigest, Credentials>

    /// How long credentials are remembered: unused, and at most.
    static let idleLifetime: Int64 = 3_600_000_000_000
    static let lifetime: Int64 = 8 * 3_600_000_000_000
    static let limit = 4_096
    /// So that loops seldom wait for each other.
    private static let shards = 16
    /// How long a drain lets passwords be compared.
    static let patience = Duration.seconds(1)
    private static let numbers = Atomic<Int>(0)
    /// Random in every process, so that a digest is of use nowhere else.
    private static let key: [UInt8] = {
        var generator = SystemRandomNumberGenerator()
        return (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }()

    /// - Parameter former: the gate before, whose memory it takes over.
    package init(_ table: UserTable, after former: UserGate? = nil) {
        self.table = table
        number = UserGate.numbers.add(1, ordering: .relaxed).newValue
        remembered = (0..<UserGate.shards).map { shard in
            Lock(
                former.map { $0.remembered[shard].withLock { $0 }.keeping(table) }
                    ?? RememberedUsers(
                        limit: UserGate.limit / UserGate.shards, idleLifetime: UserGate.idleLifetime,
                        lifetime: UserGate.lifetime))
        }
    }

    /// The digest by which credentials are remembered. Related digests cannot be found without the key, so the time of
    /// a look-up reveals nothing. The key is applied twice, so that no digest can be extended to another digest.
    func digest(of credentials: BasicCredentials) -> ContentDigest {
        digest(of: Array("\(credentials.name):\(credentials.password)".utf8))
    }

    /// An attempt with credentials. All spellings of a name that mean the same user count as one.
    func attempt(
        _ credentials: BasicCredentials, _ digest: ContentDigest, of client: ClientAddress
    ) -> Checks.Attempt {
        let name = table.user(named: credentials.name)?.name ?? credentials.name
        return Checks.Attempt(
            client: client, name: self.digest(of: Array(name.utf8)),
            credentials: Credentials(digest: digest, gate: number))
    }

    private func digest(of octets: [UInt8]) -> ContentDigest {
        ContentDigest(of: UserGate.key + ContentDigest(of: UserGate.key + octets).bytes)
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
