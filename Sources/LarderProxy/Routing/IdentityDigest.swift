// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderStores

/// Converts identities, which contain credentials, to the names of partitions (T-03).
///
/// The digest is keyed with a secret of this installation, so that stored data reveal no identities.
package struct IdentityDigest: Sendable {
    private let key: [UInt8]

    /// - Parameter key: 32 random bytes that live as long as stored partitions.
    package init(key: [UInt8]) { self.key = key }

    /// For caches that end with the process.
    package static func ephemeral() -> IdentityDigest {
        IdentityDigest(key: (0..<32).map { _ in UInt8.random(in: .min ... .max) })
    }

    /// Applied twice, so that a longer identity cannot be made from the digest of a shorter one.
    package func partition(of identity: [UInt8]) -> Larder.Partition {
        let inner = ContentDigest(of: key + identity).bytes
        return Larder.Partition(ContentDigest(of: key + inner).hexadecimal)
    }

    /// The same for an identity together with credentials of the service.
    func partition(of identity: [UInt8], with credentials: [UInt8]) -> Larder.Partition {
        var octets = Array("10:configured\(credentials.count):".utf8)
        octets += credentials
        return partition(of: octets + identity)
    }
}
