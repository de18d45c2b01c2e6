// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import RawStructuredFieldValues

/// Parsing of structured fields (RFC 9651) whose cost grows linearly with their length.
///
/// The parser compares each key with all keys before it, in a Dictionary as in the parameters of an Item, so a head
/// full of keys would cost a hundred times the usual. RFC 9651 §3.1.2 and §3.2 ask for 64 parameters and 1,024
/// members at least; fields that are parsed here never need that many.
enum BoundedParsing {
    /// The most members of a Dictionary.
    static let memberLimit = 256
    /// The most parameters in the whole field.
    static let parameterLimit = 256

    /// The parser for a value; nil where the value has more keys than the limits.
    static func parser(
        _ value: String, isDictionary: Bool
    ) -> StructuredFieldValueParser<[UInt8]>? {
        let octets = Array(value.utf8)
        let (members, parameters) = separators(in: octets)
        guard parameters <= parameterLimit, !isDictionary || members <= memberLimit else { return nil }
        return StructuredFieldValueParser(octets)
    }

    /// The numbers of commas and semicolons outside of Strings.
    private static func separators(in octets: [UInt8]) -> (commas: Int, semicolons: Int) {
        var (commas, semicolons) = (0, 0)
        var index = 0
        var isInString = false
        while index < octets.count {
            switch octets[index] {
            case 0x22: isInString.toggle()
            case 0x5C where isInString: index += 1
            case 0x2C where !isInString: commas += 1
            case 0x3B where !isInString: semicolons += 1
            default: break
            }
            index += 1
        }
        return (commas, semicolons)
    }
}
