// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderRules
import LarderSettings

/// Removes secrets from shared data: by the names of fields, parameters and members.
package enum SecretText {
    package static let replacement = "REDACTED"

    /// The URL without user information and the values of secret parameters, in its fragment too, and in URLs that
    /// are values of others.
    package static func scrubbed(url: String) -> String { parameters(url, .url) }

    /// The value of a field that is no credential itself, without the secrets of the URLs in it.
    package static func scrubbed(_ value: String, of field: FieldName) -> String {
        parameters(value, urls.contains(field) ? .url : .text)
    }

    /// Forms, parts of forms and JSON without their secrets; all other content unchanged. JSON without secrets keeps
    /// its spelling. Content in the form of JSON is taken for it whatever its type: many clients call it a form, or text.
    package static func scrubbed(_ content: [UInt8], type: String?) -> [UInt8] {
        let media = type.flatMap { MediaType(lenient: $0) }
        guard !content.isEmpty else { return content }
        if media?.essence == "multipart/form-data", let boundary = media?.parameters["boundary"] {
            return SecretParts.scrubbed(content, boundary: Array(boundary.utf8))
        }
        let first = content.first { !(ASCII.isBlank($0) || $0 == 0x0A || $0 == 0x0D) }
        if first == UInt8(ascii: "{") || first == UInt8(ascii: "["), let value = try? JSONValue(parsing: content) {
            let clean = json(value)
            return clean == value ? content : Array(clean.description.utf8)
        }
        let isForm = media?.essence == "application/x-www-form-urlencoded"
        let isText = media == nil || media?.essence == "text/plain"
        guard isForm || isText && !content.contains(where: { $0 <= 0x20 }) else { return content }
        return SecretParameters.scrubbed(content, .form)
    }

    /// Fields whose value is one URL: nothing in it is outside.
    private static let urls: Set<FieldName> = [.location, "Content-Location", "Referer"]

    private static func parameters(_ text: String, _ place: SecretParameters.Place) -> String {
        String(decoding: SecretParameters.scrubbed(Array(text.utf8), place), as: UTF8.self)
    }

    /// - Parameter isSecret: whether it is in a member with a credential's name.
    private static func json(_ value: JSONValue, isSecret: Bool = false) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map { json($0, isSecret: isSecret) })
        case .object(let object):
            var clean = JSONObject()
            for name in object.names {
                guard let member = object[name] else { continue }
                clean[name] = json(member, isSecret: isSecret || SecretName.isOne(name))
            }
            return .object(clean)
        case .string, .number:
            if isSecret { return .string(replacement) }
            guard case .string(let text) = value else { return value }
            return .string(parameters(text, .text))
        default: return value
        }
    }
}
