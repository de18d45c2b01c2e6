// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Certificates in the format that every JVM reads (JKS, version 2), as JVMs do not read PEM.
enum JavaTrustStore {
    /// - Parameters:
    ///   - pem: any number of certificates.
    ///   - milliseconds: since 1970; the time of their creation.
    /// - Returns: a store without a password. Its digest, which is only verified with a password, is left out.
    static func octets(of pem: [UInt8], at milliseconds: Int64) -> [UInt8] {
        let all = certificates(in: pem)
        var store: [UInt8] = []
        append(UInt32(0xFEED_FEED), to: &store)
        append(UInt32(2), to: &store)
        append(UInt32(all.count), to: &store)
        for (number, certificate) in all.enumerated() {
            append(UInt32(2), to: &store)
            append(text: "certificate-\(number)", to: &store)
            append(UInt64(bitPattern: milliseconds), to: &store)
            append(text: "X.509", to: &store)
            append(UInt32(certificate.count), to: &store)
            store += certificate
        }
        return store + [UInt8](repeating: 0, count: 20)
    }

    /// The certificates in DER. Malformed ones are left out.
    private static func certificates(in pem: [UInt8]) -> [[UInt8]] {
        let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----")
        var rest = String(decoding: pem, as: UTF8.self)[...]
        var found: [[UInt8]] = []
        while let start = rest.firstRange(of: begin), let stop = rest[start.upperBound...].firstRange(of: end) {
            let text = rest[start.upperBound..<stop.lowerBound].filter { !$0.isWhitespace }
            if let certificate = Base64Text.decoded(text) { found.append(certificate) }
            rest = rest[stop.upperBound...]
        }
        return found
    }

    private static func append(_ number: some FixedWidthInteger, to store: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { store.append(contentsOf: $0) }
    }

    private static func append(text: String, to store: inout [UInt8]) {
        append(UInt16(text.utf8.count), to: &store)
        store += Array(text.utf8)
    }
}
