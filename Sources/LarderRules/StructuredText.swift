// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The few structured-field values that Larder writes (RFC 9651 §4.1).
enum StructuredText {
    /// `text` as a Token if it is one, else as a String.
    static func tokenOrString(_ text: String) -> String {
        guard let first = text.utf8.first, ASCII.isAlpha(first) || first == 0x2A else { return string(text) }
        let isToken = text.utf8.allSatisfy { Token.isTokenCharacter($0) || $0 == 0x3A || $0 == 0x2F }
        return isToken ? text : string(text)
    }

    /// `text` as a String. It holds printable ASCII only, so anything else becomes a question mark.
    static func string(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case " "..."~": quoted.unicodeScalars.append(scalar)
            default: quoted += "?"
            }
        }
        return quoted + "\""
    }
}
