// SPDX-License-Identifier: Apache-2.0

/// Percent-encoding of query parameters, as forms write them. Forms write a space as `+`.
package enum PercentText {
    /// Names and values of a query or a form as they are written; a value is empty where no equals sign is.
    package static func pairs(in query: Substring) -> [(name: Substring, value: Substring)] {
        query.split(separator: "&").map { (name: $0.prefix { $0 != "=" }, value: $0.drop { $0 != "=" }.dropFirst()) }
    }

    package static func decoded(_ text: some StringProtocol) -> String {
        String(decoding: octets(of: text.utf8), as: UTF8.self)
    }

    /// Decodes `text`. A percent sign without two digits is kept.
    ///
    /// - Parameter isForm: `+` is a space.
    package static func octets(of text: some Sequence<UInt8>, isForm: Bool = true) -> [UInt8] {
        let text = Array(text)
        var octets: [UInt8] = []
        octets.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            let octet = text[position]
            position += 1
            if octet == UInt8(ascii: "+"), isForm {
                octets.append(0x20)
            } else if octet == UInt8(ascii: "%"), position + 2 <= text.count, let high = ASCII.hexValue(text[position]),
                let low = ASCII.hexValue(text[position + 1])
            {
                octets.append(high << 4 | low)
                position += 2
            } else {
                octets.append(octet)
            }
        }
        return octets
    }

    /// Percent-encodes all bytes of `text` except literal bytes, which by default are the unreserved ones (RFC 3986
    /// §2.3).
    package static func encoded(
        _ text: some StringProtocol, unless isLiteral: (UInt8) -> Bool = URICharacter.isUnreserved
    ) -> String {
        var octets: [UInt8] = []
        for octet in text.utf8 { if isLiteral(octet) { octets.append(octet) } else { octets += triplet(octet) } }
        return String(decoding: octets, as: UTF8.self)
    }

    /// A reference as it stands in a field, in the same form.
    package static func reference(inField value: String) -> String { reference(value.asFieldText) }

    /// Percent-encodes the invalid bytes of a reference, and percent signs without a triplet. Keeps escapes.
    package static func reference(_ text: some StringProtocol) -> String {
        let octets = Array(text.utf8)
        var result: [UInt8] = []
        for (index, octet) in octets.enumerated() {
            let beginsTriplet =
                index + 2 < octets.count && ASCII.hexValue(octets[index + 1]) != nil
                && ASCII.hexValue(octets[index + 2]) != nil
            let isPlain =
                octet == UInt8(ascii: "%")
                ? beginsTriplet : URICharacter.kind(of: octet) != .refused || octet == UInt8(ascii: "#")
            if isPlain { result.append(octet) } else { result += triplet(octet) }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// A byte percent-encoded (RFC 3986 §2.1).
    package static func triplet(_ octet: UInt8) -> [UInt8] {
        [UInt8(ascii: "%"), URICharacter.hexDigit(octet >> 4), URICharacter.hexDigit(octet & 15)]
    }
}
