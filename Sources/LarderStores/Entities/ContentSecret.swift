// SPDX-License-Identifier: Apache-2.0
import COpenSSL

/// The bytes that only this store knows and that its digests of content depend on.
///
/// Content with equal digests is treated as equal without a comparison, so a sender must not be able to make two
/// contents with one digest. Poly1305 is a universal hash: without its key, any two contents of up to 256 KiB, even
/// chosen ones, have a chance of less than 2⁻⁸⁸ (RFC 8439 §4), and it takes a seventh of SHA-256's time. Its result
/// alone is not safe to show, because the key can be computed from it. So the result is digested once more, with
/// another key, into bytes that reveal nothing and may be shown.
struct ContentSecret: Hashable, Sendable {
    /// 32 for Poly1305, 32 for what conceals its result.
    static let length = 64

    let octets: [UInt8]

    /// Nil for any other number of bytes.
    init?(_ octets: [UInt8]) {
        guard octets.count == Self.length else { return nil }
        self.octets = octets
    }

    /// A new one; nil where the system has no random bytes, or OpenSSL no Poly1305: digests are SHA-256 then.
    static func make() -> ContentSecret? {
        var octets = [UInt8](repeating: 0, count: length)
        guard KeyedHashing.isPossible, RAND_bytes(&octets, Int32(octets.count)) == 1 else { return nil }
        return ContentSecret(octets)
    }
}

/// The secret of a database, and since when it has it.
struct ContentKey: Hashable, Sendable {
    let secret: ContentSecret
    /// Content in rows up to this one was stored under another secret, which was lost.
    let since: Int64

    /// True if the digest of content in a row can no longer be checked.
    func hasLost(_ digest: StoredDigest, row: Int64) -> Bool {
        // Rows with impossible numbers were stored under neither.
        if case .keyed = digest { row > 0 && row <= since } else { false }
    }
}

/// Computes one keyed digest after another. Belongs to one thread at a time.
final class KeyedHashing {
    let secret: ContentSecret
    private let context: OpaquePointer

    static var isPossible: Bool { algorithm.pointer != nil }

    /// Nil without Poly1305, which a restricted OpenSSL may lack.
    init?(_ secret: ContentSecret) {
        guard let algorithm = Self.algorithm.pointer, let context = EVP_MAC_CTX_new(algorithm) else { return nil }
        self.secret = secret
        self.context = context
        begin()
    }

    deinit { EVP_MAC_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0 else { return }
        // Holds: fails for no bytes, and for nothing else.
        precondition(
            EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count) == 1,
            "OpenSSL's Poly1305 fails")
    }

    /// Returns the digest of what was given and starts over.
    func finish() -> KeyedDigest {
        var words = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
        // The second key and the tag.
        let length = ContentSecret.length - Self.keyLength + Self.tagLength
        let isDone = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { octets in
            let end = octets.update(fromContentsOf: secret.octets[Self.keyLength...])
            var count = 0
            guard let start = octets.baseAddress, EVP_MAC_final(context, start + end, &count, Self.tagLength) == 1,
                count == Self.tagLength
            else { return false }
            return withUnsafeMutableBytes(of: &words) {
                larder_sha256(start, length, $0.baseAddress?.assumingMemoryBound(to: UInt8.self))
            } == 1
        }
        // Holds: as above. Digests that were not computed would be equal for all content.
        precondition(isDone, "OpenSSL's Poly1305 or its SHA-256 fails")
        begin()
        return KeyedDigest(first: UInt64(bigEndian: words.0), second: UInt64(bigEndian: words.1))
    }

    /// The digest of `bytes` alone.
    func digest(of bytes: UnsafeRawBufferPointer) -> KeyedDigest {
        update(bytes)
        return finish()
    }

    private func begin() {
        // Holds: the key has the length that Poly1305 takes.
        precondition(
            EVP_MAC_init(context, secret.octets, Self.keyLength, nil) == 1, "OpenSSL's Poly1305 takes no key")
    }

    private static let keyLength = 32
    private static let tagLength = 16

    /// Looked up once, as finding an algorithm by name costs more than digesting a kilobyte.
    private static let algorithm = Algorithm()

    /// Holds what `EVP_MAC_fetch` returned, for good.
    private struct Algorithm: @unchecked Sendable {  // an EVP_MAC is immutable once fetched
        let pointer = EVP_MAC_fetch(nil, "POLY1305", nil)
    }
}

/// Computes the digests of content that is stored now, one after another. Belongs to one thread at a time.
enum StoredHashing {
    case keyed(KeyedHashing)
    case sha256(ContentDigest.Hashing)

    init(_ secret: ContentSecret?) {
        self = secret.flatMap(KeyedHashing.init).map { .keyed($0) } ?? .sha256(ContentDigest.Hashing())
    }

    func update(_ bytes: UnsafeRawBufferPointer) {
        switch self {
        case .keyed(let hashing): hashing.update(bytes)
        case .sha256(let hashing): hashing.update(bytes)
        }
    }

    /// Returns the digest of what was given and starts over.
    func finish() -> StoredDigest {
        switch self {
        case .keyed(let hashing): .keyed(hashing.finish())
        case .sha256(let hashing): .sha256(hashing.finish())
        }
    }

    /// The digest of `bytes` alone.
    func digest(of bytes: UnsafeRawBufferPointer) -> StoredDigest {
        update(bytes)
        return finish()
    }
}
