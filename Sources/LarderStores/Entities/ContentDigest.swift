// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import LarderIO

/// A SHA-256.
package struct ContentDigest: Hashable, Sendable {
    /// The bytes, eight at a time, big-endian.
    ///
    /// Not a SIMD type: SIMD types of more than 16 bytes have an alignment that the frames of asynchronous functions do
    /// not keep, which destroys the memory of their task (Swift 6.3, without optimisation).
    private struct Words: Hashable {
        var first: UInt64 = 0, second: UInt64 = 0, third: UInt64 = 0, fourth: UInt64 = 0

        /// Converts numbers to big-endian bytes, or back.
        var asOctets: Words {
            Words(
                first: first.bigEndian, second: second.bigEndian, third: third.bigEndian, fourth: fourth.bigEndian)
        }
    }

    private let words: Words

    /// Takes 32 bytes; nil for any other number.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.length else { return nil }
        func word(_ index: Int) -> UInt64 {
            UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
        words = Words(first: word(0), second: word(1), third: word(2), fourth: word(3))
    }

    /// The bytes of hexadecimal digits in lower case, at most as many as a digest has; nil for any other text.
    static func octets(hexadecimal text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count <= length * 2, digits.count.isMultiple(of: 2) else { return nil }
        var octets: [UInt8] = []
        var high: UInt8?
        for digit in digits {
            let value: UInt8
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): value = digit - UInt8(ascii: "a") + 10
            default: return nil
            }
            if let first = high.take() { octets.append(first << 4 | value) } else { high = value }
        }
        return octets
    }

    package init(of bytes: [UInt8]) {
        var words = Words()
        let isDone = bytes.withUnsafeBytes { octets in
            withUnsafeMutableBytes(of: &words) { target in
                larder_sha256(
                    octets.baseAddress, octets.count, target.baseAddress?.assumingMemoryBound(to: UInt8.self))
            }
        }
        // Holds: without SHA-256 there would be no TLS either; it is asked for at the start.
        precondition(isDone == 1, "OpenSSL offers no SHA-256")
        self.init(octets: words)
    }

    static let length = 32

    /// The first eight bytes, as a number.
    package var prefix: UInt64 { words.first }

    package var bytes: [UInt8] { withBytes { Array($0) } }

    /// Calls `body` with the bytes.
    func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withUnsafeBytes(of: words.asOctets, body)
    }

    /// With every bit turned over.
    var inverted: ContentDigest {
        ContentDigest(
            words: Words(first: ~words.first, second: ~words.second, third: ~words.third, fourth: ~words.fourth))
    }

    /// 64 digits in lower case.
    package var hexadecimal: String { bytes.hexadecimal }

    /// Computes one digest after another. Belongs to one thread at a time.
    package final class Hashing {
        private let context: OpaquePointer

        package init() {
            guard let context = EVP_MD_CTX_new(),
                EVP_DigestInit_ex2(context, ContentDigest.algorithm.pointer, nil) == 1
            else {
                // Unreachable: as above; a context that cannot be allocated ends the process as any memory does.
                preconditionFailure("OpenSSL offers no SHA-256")
            }
            self.context = context
        }

        deinit { EVP_MD_CTX_free(context) }

        package func update(_ bytes: UnsafeRawBufferPointer) {
            if bytes.count > 0 { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }
        }

        /// Returns the digest of what was given and starts over.
        package func finish() -> ContentDigest {
            var words = Words()
            withUnsafeMutableBytes(of: &words) { octets in
                _ = EVP_DigestFinal_ex(context, octets.baseAddress?.assumingMemoryBound(to: UInt8.self), nil)
            }
            EVP_DigestInit_ex2(context, nil, nil)
            return ContentDigest(octets: words)
        }

        /// The digest of `bytes` alone.
        func digest(of bytes: UnsafeRawBufferPointer) -> ContentDigest {
            update(bytes)
            return finish()
        }
    }

    private init(words: Words) { self.words = words }

    /// Reads the bytes in their order in memory.
    private init(octets: Words) { words = octets.asOctets }

    /// Looked up once, as finding an algorithm by name costs more than hashing a kilobyte.
    private static let algorithm = Algorithm()

    /// Holds what `EVP_MD_fetch` returned, for good.
    private struct Algorithm: @unchecked Sendable {  // an EVP_MD is immutable once fetched
        let pointer = EVP_MD_fetch(nil, "SHA256", nil)
    }
}

extension ContentDigest: CustomStringConvertible {
    package var description: String { hexadecimal }
}
