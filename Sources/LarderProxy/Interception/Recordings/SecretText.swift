// SPDX-License-Identifier: Apache-2.0

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

    /// Forms, parts of forms, and text with JSON or URLs in it, without their secrets; all other content unchanged. JSON
    /// is taken for it whatever its type: many clients call it a form, or text.
    package static func scrubbed(_ content: [UInt8], type: String?) -> [UInt8] {
        let media = type.flatMap { MediaType(lenient: $0) }
        if media?.essence == "multipart/form-data", let boundary = media?.parameters["boundary"] {
            return SecretParts.scrubbed(content, boundary: Array(boundary.utf8))
        }
        guard !isBinary(content, media) else { return content }
        let first = content.first { !(ASCII.isBlank($0) || $0 == 0x0A || $0 == 0x0D) }
        guard first != UInt8(ascii: "{"), first != UInt8(ascii: "[") else { return scrubbed(text: content) }
        if media?.essence == "application/x-www-form-urlencoded" { return SecretParameters.scrubbed(content, .form) }
        let mayBeForm = (media == nil || media?.essence == "text/plain") && !content.contains { $0 <= 0x20 }
        return scrubbed(text: mayBeForm ? SecretParameters.scrubbed(content, .form) : content)
    }

    /// Text of which nothing else is known.
    static func scrubbed(text: [UInt8]) -> [UInt8] { SecretMembers.scrubbed(text) }

    private static func isBinary(_ content: [UInt8], _ media: MediaType?) -> Bool {
        let kind = media?.essence.prefix { $0 != "/" } ?? ""
        return ["image", "audio", "video", "font"].contains(kind) || content.contains(0)
    }

    /// Fields whose value is one URL: nothing in it is outside.
    private static let urls: Set<FieldName> = [.location, "Content-Location", "Referer"]

    private static func parameters(_ text: String, _ place: SecretParameters.Place) -> String {
        String(decoding: SecretParameters.scrubbed(Array(text.utf8), place), as: UTF8.self)
    }
}
