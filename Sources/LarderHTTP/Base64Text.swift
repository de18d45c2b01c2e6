// SPDX-License-Identifier: Apache-2.0

/// Base64 as in credentials and PEM (RFC 4648 §4): whole groups only, and no bits set that nothing uses, so that bytes have one
/// spelling.
package enum Base64Text {
    package static func decoded(_ text: some StringProtocol) -> [UInt8]? { decoded(octets: Array(text.utf8)) }

    package static func decoded(octets: [UInt8]) -> [UInt8]? {
        guard !octets.isEmpty, octets.count % 4 == 0 else { return nil }
        var output: [UInt8] = []
        output.reserveCapacity(octets.count / 4 * 3)
        let padding = octets.suffix(2).count { $0 == UInt8(ascii: "=") }
        var group: UInt32 = 0
        for (index, octet) in octets.enumerated() {
            let isPadding = index >= octets.count - padding
            guard let bits = isPadding ? (octet == UInt8(ascii: "=") ? 0 : nil) : value(of: octet) else { return nil }
            group = group << 6 | bits
            guard index % 4 == 3 else { continue }
            output.append(UInt8(truncatingIfNeeded: group >> 16))
            output.append(UInt8(truncatingIfNeeded: group >> 8))
            output.append(UInt8(truncatingIfNeeded: group))
            group = 0
        }
        guard output.suffix(padding).allSatisfy({ $0 == 0 }) else { return nil }
        return Array(output.dropLast(padding))
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func encoded(_ octets: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((octets.count + 2) / 3 * 4)
        let alphabet = alphabet
        for start in stride(from: 0, to: octets.count, by: 3) {
            let count = min(3, octets.count - start)
            var bits = UInt32(octets[start]) << 16
            if count > 1 { bits |= UInt32(octets[start + 1]) << 8 }
            if count > 2 { bits |= UInt32(octets[start + 2]) }
            for place in 0..<4 {
                text.append(place <= count ? alphabet[Int(bits >> (18 - 6 * UInt32(place)) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static func value(of octet: UInt8) -> UInt32? {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(octet - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(octet - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(octet - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
