// SPDX-License-Identifier: Apache-2.0

/// Reads just enough of a GraphQL document for a cache: whether it may change something.
package enum GraphQLDocument {
    /// True if one of the definitions may be a mutation or a subscription. In doubt it may: a definition whose name is
    /// one of these words, or a document that does not end properly.
    package static func mayChange(_ document: [UInt8]) -> Bool {
        var depth = 0
        var index = 0
        while index < document.count {
            switch document[index] {
            case UInt8(ascii: "#"):
                while index < document.count, document[index] != 0x0A, document[index] != 0x0D { index += 1 }
            case UInt8(ascii: "\""):
                guard let end = endOfString(document, at: index) else { return true }
                index = end
            case UInt8(ascii: "{"), UInt8(ascii: "("), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: ")"), UInt8(ascii: "]"):
                depth -= 1
                index += 1
                guard depth >= 0 else { return true }
            case let octet where isName(octet):
                let start = index
                while index < document.count, isName(document[index]) { index += 1 }
                let name = document[start..<index]
                if depth == 0, name.elementsEqual("mutation".utf8) || name.elementsEqual("subscription".utf8) {
                    return true
                }
            default: index += 1
            }
        }
        return depth != 0
    }

    private static func isName(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// The position behind the string, or the block string, that begins at `start`; nil when it does not end.
    private static func endOfString(_ document: [UInt8], at start: Int) -> Int? {
        let quotes = Array(repeating: UInt8(ascii: "\""), count: 3)
        let isBlock = document[start...].starts(with: quotes)
        var index = start + (isBlock ? 3 : 1)
        while index < document.count {
            if isBlock, document[index...].starts(with: quotes) { return index + 3 }
            if isBlock, document[index] == UInt8(ascii: "\\"), document[(index + 1)...].starts(with: quotes) {
                index += 4
                continue
            }
            if !isBlock {
                if document[index] == UInt8(ascii: "\"") { return index + 1 }
                if document[index] == 0x0A || document[index] == 0x0D { return nil }
                if document[index] == UInt8(ascii: "\\") { index += 1 }
            }
            index += 1
        }
        return nil
    }
}
