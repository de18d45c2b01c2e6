// SPDX-License-Identifier: Apache-2.0

import LarderCodings
import LarderHTTP
import LarderRules

extension RecordedExchange {
    /// The exchange as others may have it: without what admits somebody, as far as names tell, and with its content
    /// decoded, since secrets cannot be found in codings. Content that cannot be decoded is left out.
    package var withoutSecrets: RecordedExchange {
        var exchange = self
        exchange.url = SecretText.scrubbed(url: url)
        (exchange.requestFields, exchange.requestContent) = RecordedExchange.scrubbed(requestFields, requestContent)
        (exchange.fields, exchange.content) = RecordedExchange.scrubbed(fields, content)
        return exchange
    }

    private static func scrubbed(_ fields: Fields, _ content: [UInt8]) -> (Fields, [UInt8]) {
        var clean = Fields()
        fields.forEachLine { name, spelling, value in
            let name = name ?? FieldName(token: spelling)
            let text = String(latin1: value)
            let cleanText = SecretName.isOne(field: name) ? SecretText.replacement : SecretText.scrubbed(text, of: name)
            clean.append(name, cleanText)
        }
        guard !content.isEmpty else { return (clean, content) }
        clean.remove(.contentEncoding)
        let cleanContent = SecretText.scrubbed(content, of: fields)
        if cleanContent != content { for digest in digests { clean.remove(digest) } }
        return (clean, cleanContent)
    }

    /// Fields that would tell those who check them that the content is another (RFC 9530).
    private static let digests: [FieldName] = ["Content-Digest", "Repr-Digest", "Digest", "Content-MD5"]
}

extension SecretText {
    /// The content of a message with those fields, decoded and without its secrets. It is replaced if it
    /// cannot be decoded.
    static func scrubbed(_ content: [UInt8], of fields: Fields) -> [UInt8] {
        guard !content.isEmpty else { return content }
        let codings = ContentCodings(fields[.contentEncoding])
        guard let decoded = try? codings.decode(content, limit: Recording.contentLimit) else { return octets }
        return scrubbed(decoded, type: fields[.contentType])
    }
}
