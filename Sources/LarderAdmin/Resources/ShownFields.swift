// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// Field lines as the admin surface shows them: without identities and credentials.
enum ShownFields {
    static let redacted = "[redacted]"

    /// The value of that field, or a placeholder; URLs in it without theirs.
    static func value(_ value: String, of name: FieldName) -> String {
        SecretName.isOne(field: name) ? redacted : SecretText.scrubbed(value, of: name)
    }

    /// Each line as `Name: value`, in order.
    static func lines(_ fields: Fields) -> [String] {
        var lines: [String] = []
        fields.forEachLine { _, spelling, octets in
            let name = FieldName(token: spelling)
            let text = String(latin1: octets)
            lines.append("\(String(decoding: spelling, as: UTF8.self)): \(value(text, of: name))")
        }
        return lines
    }

    /// - Parameter areForOne: whether the response is for one user: its fields that do not concern caches may be secrets.
    static func lines(json fields: Fields, areForOne: Bool) -> JSONValue {
        var shown = fields
        if areForOne {
            shown.removeAll { name, spelling, _ in !harmless.contains(name ?? FieldName(token: spelling)) }
        }
        return .strings(lines(shown))
    }

    private static let harmless: Set<FieldName> = [
        .age, .cacheControl, .contentEncoding, .contentLength, .contentRange, .contentType, .date, .eTag, .expires,
        .lastModified, .pragma, .vary, .via, "Accept-Ranges", "Content-Language", "Server",
    ]
}
