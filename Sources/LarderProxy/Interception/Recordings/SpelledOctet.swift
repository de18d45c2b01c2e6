// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// A visible character of ASCII as scripts and HTML spell it: `\u0026`, `\x26`, `&amp;`, `&#038;`, `&#X26;`.
struct SpelledOctet {
    let octet: UInt8
    /// The place behind it.
    let end: Int

    /// The spelled character at the beginning of the text.
    init?(_ text: ArraySlice<UInt8>) {
        guard text.count > 2 else { return nil }
        switch text[text.startIndex] {
        case UInt8(ascii: "\\"): self.init(escape: text.dropFirst())
        case UInt8(ascii: "&"): self.init(entity: text.dropFirst())
        default: return nil
        }
    }

    /// The spelled character whose backslash precedes the text.
    init?(escape text: ArraySlice<UInt8>) {
        let digits = text.dropFirst()
        switch text.first {
        case UInt8(ascii: "x"): self.init(digits.prefix(2), isHex: true, least: 2)
        case UInt8(ascii: "u"):
            guard digits.first == UInt8(ascii: "{") else {
                self.init(digits.prefix(4), isHex: true, least: 4)
                return
            }
            self.init(digits.dropFirst(), isHex: true, last: UInt8(ascii: "}"))
        default: return nil
        }
    }

    /// The same for what is behind an ampersand. HTML reads numbers without a semicolon too.
    private init?(entity text: ArraySlice<UInt8>) {
        guard text.first == UInt8(ascii: "#") else {
            guard let first = text.first, let names = SpelledOctet.names[ASCII.lowercased(first)],
                let found = names.first(where: { SpelledOctet.begins(text, with: $0.name) })
            else { return nil }
            self.init(octet: found.octet, end: text.startIndex + found.name.count)
            return
        }
        let number = text.dropFirst()
        let isHex = number.first == UInt8(ascii: "x") || number.first == UInt8(ascii: "X")
        self.init(isHex ? number.dropFirst() : number, isHex: isHex, last: UInt8(ascii: ";"), isLastNeeded: false)
    }

    /// The byte with that number: of leading zeros, no more are read than anybody writes.
    private init?(_ text: ArraySlice<UInt8>, isHex: Bool, least: Int = 1, last: UInt8? = nil, isLastNeeded: Bool = true)
    {
        var number = 0
        var place = text.startIndex
        for octet in text.prefix(16) {
            guard let digit = ASCII.hexValue(octet), isHex || digit < 10 else { break }
            number = number * (isHex ? 16 : 10) + Int(digit)
            guard number < 0x7F else { return nil }
            place += 1
        }
        guard place - text.startIndex >= least, number > 0x20 else { return nil }
        if let last {
            if place < text.endIndex, text[place] == last { place += 1 } else if isLastNeeded { return nil }
        }
        self.init(octet: UInt8(number), end: place)
    }

    private init(octet: UInt8, end: Int) { (self.octet, self.end) = (octet, end) }

    /// Names of entities, by the first of their letters.
    private static let names: [UInt8: [(name: [UInt8], octet: UInt8)]] = Dictionary(
        grouping: [
            ("amp;", "&"), ("quot;", "\""), ("equals;", "="), ("quest;", "?"), ("num;", "#"), ("sol;", "/"),
            ("colon;", ":"), ("lbrace;", "{"), ("lcub;", "{"), ("rbrace;", "}"), ("rcub;", "}"), ("lbrack;", "["),
            ("lsqb;", "["), ("rbrack;", "]"), ("rsqb;", "]"), ("lowbar;", "_"),
        ].map { (Array($0.0.utf8), Array($0.1.utf8)[0]) }, by: { $0.0[0] })

    private static func begins(_ text: ArraySlice<UInt8>, with name: [UInt8]) -> Bool {
        guard text.count >= name.count else { return false }
        for index in name.indices where ASCII.lowercased(text[text.startIndex + index]) != name[index] { return false }
        return true
    }
}
