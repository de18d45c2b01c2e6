// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Decodes and encodes the content of JSON's strings. Unlike a parser, this accepts any bytes between two quotation
/// marks: escapes of scripts, and escapes that JSON does not know, which represent their second byte.
enum JSONEscapes {
    static func decoded(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(octets.count)
        var place = octets.startIndex
        while place < octets.endIndex {
            let octet = octets[place]
            place += 1
            guard octet == UInt8(ascii: "\\"), place < octets.endIndex else {
                decoded.append(octet)
                continue
            }
            let escaped = octets[place]
            if escaped == UInt8(ascii: "u") || escaped == UInt8(ascii: "x"),
                let spelled = SpelledOctet(escape: octets[place...])
            {
                decoded.append(spelled.octet)
                place = spelled.end
                continue
            }
            place += 1
            switch escaped {
            case UInt8(ascii: "n"): decoded.append(0x0A)
            case UInt8(ascii: "r"): decoded.append(0x0D)
            case UInt8(ascii: "t"): decoded.append(0x09)
            case UInt8(ascii: "b"): decoded.append(0x08)
            case UInt8(ascii: "f"): decoded.append(0x0C)
            case UInt8(ascii: "u"):
                guard let unit = unit(octets, at: place) else {
                    decoded.append(escaped)
                    continue
                }
                place += 4
                var scalar = UInt32(unit)
                if UTF16.isLeadSurrogate(unit), octets.endIndex - place >= 6, octets[place] == UInt8(ascii: "\\"),
                    octets[place + 1] == UInt8(ascii: "u"), let second = self.unit(octets, at: place + 2),
                    UTF16.isTrailSurrogate(second)
                {
                    scalar = 0x10000 + (UInt32(unit & 0x3FF) << 10 | UInt32(second & 0x3FF))
                    place += 6
                }
                decoded += String(Character(Unicode.Scalar(scalar) ?? "\u{FFFD}")).utf8
            default: decoded.append(escaped)
            }
        }
        return decoded
    }

    private static func unit(_ octets: ArraySlice<UInt8>, at place: Int) -> UInt16? {
        guard octets.endIndex - place >= 4 else { return nil }
        var unit: UInt16 = 0
        for octet in octets[place..<place + 4] {
            guard let digit = ASCII.hexValue(octet) else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    static func encoded(_ octets: [UInt8]) -> [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(octets.count + octets.count / 8)
        encoded.append(jsonEscaping: octets)
        return encoded
    }
}
