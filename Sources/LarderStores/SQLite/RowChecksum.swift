// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// Protects a row against damage: eight bytes of the SHA-256 of its contents, so that neither an altered head nor
/// content of another row is mistaken for the written one.
struct RowChecksum {
    let requestTime: Timestamp
    let responseTime: Timestamp
    let storedAt: Timestamp
    let expires: Timestamp?
    let digest: StoredDigest
    let length: Int64

    func value(
        key: UnsafeRawBufferPointer, variant: UnsafeRawBufferPointer, head: UnsafeRawBufferPointer,
        using hashing: ContentDigest.Hashing
    ) -> Int64 {
        let numbers = (
            requestTime.nanoseconds.littleEndian, responseTime.nanoseconds.littleEndian,
            storedAt.nanoseconds.littleEndian, (expires?.nanoseconds ?? .min).littleEndian,
            length.littleEndian, digest.prefix.littleEndian,
            Int64(key.count).littleEndian, Int64(variant.count).littleEndian
        )
        withUnsafeBytes(of: numbers) { hashing.update($0) }
        hashing.update(key)
        hashing.update(variant)
        hashing.update(head)
        return Int64(bitPattern: hashing.finish().prefix)
    }

    func value(key: [UInt8], variant: [UInt8], head: [UInt8], using hashing: ContentDigest.Hashing) -> Int64 {
        key.withUnsafeBytes { key in
            variant.withUnsafeBytes { variant in
                head.withUnsafeBytes { value(key: key, variant: variant, head: $0, using: hashing) }
            }
        }
    }
}

extension ContentDigest.Hashing {
    func digest(of bytes: [UInt8]) -> ContentDigest { bytes.withUnsafeBytes { digest(of: $0) } }
}
