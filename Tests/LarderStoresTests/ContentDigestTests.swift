// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderStores

@Suite("Digests of content")
struct ContentDigestTests {
    @Test func `a digest is the SHA-256 of octets, whichever way it is computed and written`() throws {
        let octets = Array("abc".utf8)
        let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        let digest = ContentDigest(of: octets)
        let hashing = ContentDigest.Hashing()
        octets.withUnsafeBytes { hashing.update($0) }
        #expect(digest.hexadecimal == text)
        #expect(hashing.finish() == digest)
        #expect(digest.bytes.withUnsafeBytes { ContentDigest($0) } == digest)
        #expect(digest.prefix == 0xba78_16bf_8f01_cfea)
        #expect(digest.inverted.inverted == digest && digest.inverted.bytes == digest.bytes.map { ~$0 })
    }

    @Test func `a keyed digest depends on all octets and on both halves of the secret`() throws {
        let secret = try #require(ContentSecret.make())
        let hashing = try #require(KeyedHashing(secret))
        func digest(_ octets: [UInt8], _ hashing: KeyedHashing) -> KeyedDigest {
            octets.withUnsafeBytes { hashing.digest(of: $0) }
        }
        let octets = content("a", 70_000)
        let digest0 = digest(octets, hashing)
        #expect(digest(octets, hashing) == digest0)
        for position in [0, 15, 16, 4095, 69_999] {
            var other = octets
            other[position] ^= 1
            #expect(digest(other, hashing) != digest0)
        }
        #expect(digest(octets + [0], hashing) != digest0)
        #expect(digest([], hashing) != digest([0], hashing))
        // Some bits of a key of Poly1305 are not used.
        for position in [0, 32, 63] {
            var other = secret.octets
            other[position] ^= 1
            let changed = try #require(ContentSecret(other))
            #expect(digest(octets, try #require(KeyedHashing(changed))) != digest0)
        }
        #expect(ContentSecret(secret.octets.dropLast()) == nil)
    }

    /// RFC 8439 §2.5.2, digested with the second half of the secret.
    @Test func `a keyed digest is the SHA-256 of the second key and of Poly1305 with the first`() throws {
        let first: [UInt8] = [
            0x85, 0xd6, 0xbe, 0x78, 0x57, 0x55, 0x6d, 0x33, 0x7f, 0x44, 0x52, 0xfe, 0x42, 0xd5, 0x06, 0xa8,
            0x01, 0x03, 0x80, 0x8a, 0xfb, 0x0d, 0xb2, 0xfd, 0x4a, 0xbf, 0xf6, 0xaf, 0x41, 0x49, 0xf5, 0x1b,
        ]
        let tag: [UInt8] = [
            0xa8, 0x06, 0x1d, 0xc1, 0x30, 0x51, 0x36, 0xc6, 0xc2, 0x2b, 0x8b, 0xaf, 0x0c, 0x01, 0x27, 0xa9,
        ]
        let second = [UInt8](repeating: 7, count: 32)
        let secret = try #require(ContentSecret(first + second))
        let hashing = try #require(KeyedHashing(secret))
        for _ in 0..<2 {
            let digest = Array("Cryptographic Forum Research Group".utf8).withUnsafeBytes { hashing.digest(of: $0) }
            #expect(StoredDigest.keyed(digest).bytes == Array(ContentDigest(of: second + tag).bytes.prefix(16)))
        }
    }

    @Test func `digests of both kinds are written and read, and never equal`() throws {
        let sha256 = ContentDigest(of: [1])
        let keyed = sha256.bytes.prefix(16).withUnsafeBytes { KeyedDigest($0) }
        let kinds: [StoredDigest] = [.sha256(sha256), .keyed(try #require(keyed))]
        for digest in kinds {
            #expect(StoredDigest(hexadecimal: digest.hexadecimal) == digest)
            #expect(StoredDigest(hexadecimal: digest.hexadecimal.dropLast() + "g") == nil)
            #expect(digest.bytes.withUnsafeBytes { StoredDigest($0) } == digest)
            #expect(digest.inverted.bytes == digest.bytes.map { ~$0 } && digest.inverted.inverted == digest)
            #expect(digest.prefix == sha256.prefix)
            for count in [0, 1, 2, 30] {
                #expect(StoredDigest(hexadecimal: digest.hexadecimal.dropLast(count + 1)) == nil)
            }
        }
        #expect(kinds[0] != kinds[1])
    }

    /// The frames of asynchronous functions keep an alignment of 16 octets and no larger one: with a value that wants
    /// more they overwrite what their task keeps beside them.
    @Test func `what asynchronous functions pass around wants no special alignment`() {
        #expect(MemoryLayout<ContentDigest>.alignment <= 16)
        #expect(MemoryLayout<StoredDigest>.alignment <= 16)
        #expect(MemoryLayout<ContentReference>.alignment <= 16)
        #expect(MemoryLayout<EntityRecord>.alignment <= 16)
        #expect(MemoryLayout<EntityListing>.alignment <= 16)
        #expect(MemoryLayout<ContentDigest>.size == ContentDigest.length)
    }
}
