// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderSettings

/// Removes secrets from shared data: by the names of fields, parameters and members.
package enum SecretText {
    package static let replacement = "REDACTED"

    /// The URL without user information and the values of secret parameters.
    package static func scrubbed(url: String) -> String {
        var url = url
        if let scheme = url.firstRange(of: "://") {
            let end = url[scheme.upperBound...].firstIndex { "/?#".contains($0) } ?? url.endIndex
            if let at = url[scheme.upperBound..<end].lastIndex(of: "@") {
                url.replaceSubrange(scheme.upperBound...at, with: "")
            }
        }
        guard let mark = url.firstIndex(of: "?") else { return url }
        let query = url[url.index(after: mark)...]
        return String(url[...mark]) + form(String(query))
    }

    /// Forms and JSON without their secrets; all other content unchanged. JSON without secrets keeps its spelling.
    package static func scrubbed(_ content: [UInt8], type: String?) -> [UInt8] {
        guard let media = type.flatMap({ MediaType($0) }), !content.isEmpty else { return content }
        if media.essence == "application/x-www-form-urlencoded" {
            guard let text = String(validating: content, as: UTF8.self) else { return content }
            return Array(form(text).utf8)
        }
        guard media.essence == "application/json" || media.subtype.hasSuffix("+json"),
            let value = try? JSONValue(parsing: content)
        else { return content }
        let clean = json(value)
        return clean == value ? content : Array(clean.description.utf8)
    }

    private static func form(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            guard let equals = item.firstIndex(of: "="), SecretName.isOne(PercentText.decoded(item[..<equals])) else {
                return String(item)
            }
            return String(item[...equals]) + replacement
        }.joined(separator: "&")
    }

    private static func json(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(json))
        case .object(let object):
            var clean = JSONObject()
            for name in object.names {
                guard let member = object[name] else { continue }
                switch member {
                case .string where SecretName.isOne(name), .number where SecretName.isOne(name):
                    clean[name] = .string(replacement)
                default: clean[name] = json(member)
                }
            }
            return .object(clean)
        default: return value
        }
    }
}
