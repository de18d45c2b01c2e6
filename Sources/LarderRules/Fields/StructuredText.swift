// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The few structured-field values that Larder writes (RFC 9651 §4.1), appended to a buffer.
enum StructuredText {
    /// Writes `text` as a Token if it is one, else as a String.
    static func append(tokenOrString text: String, to octets: inout [UInt8]) {
        var text = text
        let isToken = text.withUTF8 { octets in
            (octets.first.map { ASCII.isAlpha($0) || $0 == 0x2A } ?? false)
                && octets.allSatisfy { Token.isTokenCharacter($0) || $0 == 0x3A || $0 == 0x2F }
        }
        if isToken { octets.append(text) } else { append(string: text, to: &octets) }
    }

    /// Writes `text` as a String. It allows printable ASCII only, so anything else becomes a question mark.
    static func append(string text: String, to octets: inout [UInt8]) {
        octets.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                octets.append(UInt8(ascii: "\\"))
                octets.append(UInt8(ascii: scalar))
            case " "..."~": octets.append(UInt8(ascii: scalar))
            default: octets.append(UInt8(ascii: "?"))
            }
        }
        octets.append(UInt8(ascii: "\""))
    }
}
