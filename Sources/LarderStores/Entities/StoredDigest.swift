// SPDX-License-Identifier: Apache-2.0
import LarderIO

/// The digest that content, or a block of it, is stored and found under. Digests of the two kinds are never equal.
package enum StoredDigest: Hashable, Sendable {
    /// By the secret of the store.
    case keyed(KeyedDigest)
    /// The digest of all content in earlier versions; of new content only where OpenSSL offers nothing faster.
    case sha256(ContentDigest)

    /// Reads a digest of either kind, which the number of bytes determines; nil for any other number.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        if let digest = KeyedDigest(bytes) {
            self = .keyed(digest)
        } else if let digest = ContentDigest(bytes) {
            self = .sha256(digest)
        } else {
            return nil
        }
    }

    /// Takes hexadecimal digits in lower case, two for each byte; nil for anything else.
    init?(hexadecimal text: some StringProtocol) {
        guard let octets = ContentDigest.octets(hexadecimal: text) else { return nil }
        guard let digest = octets.withUnsafeBytes({ StoredDigest($0) }) else { return nil }
        self = digest
    }

    /// The first eight bytes, as a number.
    package var prefix: UInt64 {
        switch self {
        case .keyed(let digest): digest.first
        case .sha256(let digest): digest.prefix
        }
    }

    package var bytes: [UInt8] { withBytes { Array($0) } }

    /// Calls `body` with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        switch self {
        case .keyed(let digest): digest.withBytes(body)
        case .sha256(let digest): digest.withBytes(body)
        }
    }

    /// With every bit turned over.
    var inverted: StoredDigest {
        switch self {
        case .keyed(let digest): .keyed(KeyedDigest(first: ~digest.first, second: ~digest.second))
        case .sha256(let digest): .sha256(digest.inverted)
        }
    }

    /// Two digits in lower case for each byte.
    package var hexadecimal: String { bytes.hexadecimal }
}

extension StoredDigest: CustomStringConvertible {
    package var description: String { hexadecimal }
}

/// A digest of the store's own kind, made with its `ContentSecret`.
package struct KeyedDigest: Hashable, Sendable {
    static let length = 16

    /// The bytes, eight at a time, big-endian.
    let first, second: UInt64

    init(first: UInt64, second: UInt64) {
        self.first = first
        self.second = second
    }

    /// Takes 16 bytes; nil for any other number.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.length else { return nil }
        first = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        second = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: (first.bigEndian, second.bigEndian), body)
    }
}
