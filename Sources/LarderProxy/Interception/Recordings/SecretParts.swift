// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// The parts of a form (`multipart/form-data`, RFC 7578) without the content of those with a credential's name.
enum SecretParts {
    static func scrubbed(_ content: [UInt8], boundary: [UInt8]) -> [UInt8] {
        let delimiter = Array("--".utf8) + boundary
        var clean: [UInt8] = []
        var rest = content[...]
        while let end = rest.firstRange(of: delimiter) {
            clean += part(rest[..<end.lowerBound]) + delimiter
            rest = rest[end.upperBound...]
        }
        return clean + part(rest)
    }

    /// The octets between two delimiters: fields, an empty line, content, and the line's end before the delimiter.
    private static func part(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        guard let line = octets.firstRange(of: Array("\r\n\r\n".utf8)) else { return Array(octets) }
        let content = octets[line.upperBound...]
        let end = content.suffix(2).elementsEqual(Array("\r\n".utf8)) ? content.endIndex - 2 : content.endIndex
        var name: String?
        var type: String?
        for line in String(decoding: octets[..<line.lowerBound], as: UTF8.self).split(separator: "\r\n") {
            guard let colon = line.firstIndex(of: ":") else { continue }
            // Parameters of fields are written alike, and a disposition has the form of a type's second half.
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            switch line[..<colon].lowercased() {
            case "content-disposition": name = MediaType(lenient: "multipart/" + value)?.parameters["name"]
            case "content-type": type = String(value)
            default: break
            }
        }
        // Parts of parts are deprecated (RFC 7578 §4.3), and could be nested without end.
        let isNested = type?.lowercased().hasPrefix("multipart/") ?? false
        let isSecret = isNested || name.map { SecretName.isOne(parameter: Array($0.utf8)) } ?? false
        let clean =
            isSecret ? Array(SecretText.replacement.utf8) : SecretText.scrubbed(Array(content[..<end]), type: type)
        return octets[..<line.upperBound] + clean + content[end...]
    }
}
