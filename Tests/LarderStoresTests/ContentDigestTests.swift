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
        #expect(ContentDigest(hexadecimal: text) == digest)
        #expect(digest.bytes.withUnsafeBytes { ContentDigest($0) } == digest)
        #expect(digest.prefix == 0xba78_16bf_8f01_cfea)
        #expect(digest.inverted.inverted == digest && digest.inverted.bytes == digest.bytes.map { ~$0 })
        #expect(ContentDigest(hexadecimal: text.dropLast()) == nil)
        #expect(ContentDigest(hexadecimal: text.dropLast() + "g") == nil)
    }

    /// The frames of asynchronous functions keep an alignment of 16 octets and no larger one: with a value that wants
    /// more they overwrite what their task keeps beside them.
    @Test func `what asynchronous functions pass around wants no special alignment`() {
        #expect(MemoryLayout<ContentDigest>.alignment <= 16)
        #expect(MemoryLayout<ContentReference>.alignment <= 16)
        #expect(MemoryLayout<EntityRecord>.alignment <= 16)
        #expect(MemoryLayout<EntityListing>.alignment <= 16)
        #expect(MemoryLayout<ContentDigest>.size == ContentDigest.length)
    }
}
