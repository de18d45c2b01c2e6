// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// Finds members with a credential's name in text with JSON in it, and replaces all that they contain.
///
/// The text may be a whole value, lines or events with one value each, a script that calls a function with a value, or
/// the rest of a truncated value: so this looks at strings, colons and brackets, and parses no structure around them. A
/// string before a colon is a name in any place, since a quotation mark of the text around may have swapped strings and
/// the text between them. JSON in strings is searched as well, and URLs everywhere. All else keeps its spelling.
struct SecretMembers {
    /// The member with a credential's name that the position is in.
    private struct Secret {
        /// The value of `nesting` outside it.
        let nesting: Int
        /// The value of `nesting` outside the outermost member in it, or itself, whose name hides numbers.
        var nestingOfNumbers: Int?
        let mark: SecretMarks.Mark

        /// Leaves members that do not contain what is nested so.
        func left(at nesting: Int) -> Secret? {
            guard nesting > self.nesting else { return nil }
            var secret = self
            if let outer = nestingOfNumbers, nesting <= outer { secret.nestingOfNumbers = nil }
            return secret
        }
    }

    private struct Name {
        let octets: ArraySlice<UInt8>
        let mark: SecretMarks.Mark
        let valueStart: Int
    }

    /// The longest name that is compared with the names of credentials.
    private static let nameLimit = 256

    private let text: [UInt8]
    private let marks: SecretMarks
    /// How the parameters between strings are found.
    private let place: SecretParameters.Place
    private let layers: SecretLayers
    private var redaction: Redaction
    private var position = 0
    /// The start of the bytes that have not been searched for parameters yet.
    private var plainStart = 0
    /// The number of open brackets.
    private var nesting = 0
    private var secret: Secret?

    static func redaction(of text: [UInt8], _ place: SecretParameters.Place, _ layers: SecretLayers) -> Redaction {
        var scan = SecretMembers(text, place, layers)
        scan.run()
        return scan.redaction
    }

    private init(_ text: [UInt8], _ place: SecretParameters.Place, _ layers: SecretLayers) {
        (self.text, self.place, self.layers) = (text, place, layers)
        marks = SecretMarks(text)
        redaction = Redaction(text)
    }

    private mutating func run() {
        while position < text.count {
            switch text[position] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "&"): scrubString()
            case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "}"), UInt8(ascii: "]"):
                nest(text[position])
                position += 1
            case let octet where secret != nil && SecretMembers.beginsNumber(octet):
                if let secret { scrubNumber(secret.nestingOfNumbers != nil, secret.mark) }
            default: position += 1
            }
        }
        scrubParameters(to: text.count)
    }

    private mutating func nest(_ bracket: UInt8) {
        if SecretMembers.opens(bracket) {
            nesting += 1
        } else {
            nesting -= 1
            secret = secret?.left(at: nesting)
        }
    }

    private static func opens(_ octet: UInt8) -> Bool { octet == UInt8(ascii: "{") || octet == UInt8(ascii: "[") }

    private static func closes(_ octet: UInt8) -> Bool { octet == UInt8(ascii: "}") || octet == UInt8(ascii: "]") }

    /// Searches what has not been for parameters.
    private mutating func scrubParameters(to end: Int) {
        guard plainStart < end else { return }
        SecretParameters.scrub(text, plainStart..<end, place, layers, into: &redaction)
        plainStart = end
    }

    private mutating func replace(_ range: Range<Int>, with octets: [UInt8]) {
        scrubParameters(to: range.lowerBound)
        redaction.replace(range, with: octets)
        plainStart = range.upperBound
    }

    // MARK: Strings

    /// Scrubs the string at the position: the name of a member, with the secret that follows, or a value. There may be a
    /// bracket instead, as scripts and HTML spell them.
    private mutating func scrubString() {
        guard let mark = marks.mark(at: position) else {
            guard let (octet, end) = marks.octet(at: position),
                SecretMembers.opens(octet) || SecretMembers.closes(octet)
            else {
                position = max(position + 1, marks.backslashEnd(position))
                return
            }
            nest(octet)
            position = end
            return
        }
        let isSearched = mark.isPlain && secret == nil
        let content = content(behind: mark, limit: isSearched ? text.count : SecretMembers.nameLimit)
        if let name = name(content, mark) {
            position = name.valueStart
            if position < text.count, SecretName.isOne(parameter: name.octets) { scrubValue(of: name) }
        } else if secret != nil {
            replaceString(behind: mark)
        } else if isSearched, content.isWhole {
            scrub(content)
        } else {
            position = mark.octets.upperBound
        }
    }

    private func content(behind mark: SecretMarks.Mark, limit: Int) -> SecretMarks.Content {
        let start = mark.octets.upperBound
        return marks.content(behind: mark, from: start, limit: min(text.count - start, limit) + start)
    }

    /// The string as the name of a member, if it is one.
    private func name(_ content: SecretMarks.Content, _ mark: SecretMarks.Mark) -> Name? {
        guard content.isWhole, content.octets.count <= SecretMembers.nameLimit,
            let value = marks.valueStart(from: content.end)
        else { return nil }
        let octets = text[content.octets]
        return Name(
            octets: content.hasEscapes ? JSONEscapes.decoded(octets)[...] : octets, mark: mark, valueStart: value)
    }

    /// Scrubs a string that is no name and in no secret: what is in it, if that is text in JSON's or HTML's spelling.
    private mutating func scrub(_ content: SecretMarks.Content) {
        if content.hasEscapes || content.hasEntities {
            scrubParameters(to: content.octets.lowerBound)
            plainStart = content.end
            redaction.replace(content.octets, with: layers.inString.map { scrubbed(content, $0) } ?? SecretText.octets)
        }
        position = content.end
        // If what follows the string is a name, then its mark was the first one of that.
        if let next = marks.mark(at: content.end - 1),
            name(self.content(behind: next, limit: SecretMembers.nameLimit), next) != nil
        {
            position -= 1
        }
    }

    /// The string as it is to be written. Entities are looked for in its own spelling, whose backslashes may be theirs:
    /// a script in an attribute of HTML has no other.
    private func scrubbed(_ content: SecretMarks.Content, _ inside: SecretLayers) -> [UInt8] {
        var octets = Array(text[content.octets])
        if content.hasEntities { octets = SecretText.redaction(of: octets, place, inside).result }
        guard content.hasEscapes else { return octets }
        let clean = SecretText.redaction(of: JSONEscapes.decoded(octets[...]), place, inside)
        return clean.isChanged ? JSONEscapes.encoded(clean.result) : octets
    }

    // MARK: Values

    /// Replaces the value of a member with a credential's name, or notes that what is in it is to be replaced.
    private mutating func scrubValue(of name: Name) {
        let hidesNumbers = SecretName.hidesNumbers(octets: name.octets) || secret?.nestingOfNumbers != nil
        switch text[position] {
        case _ where marks.octet(at: position).map { SecretMembers.opens($0.octet) } ?? false:
            var secret = secret ?? Secret(nesting: nesting, mark: name.mark)
            if hidesNumbers { secret.nestingOfNumbers = secret.nestingOfNumbers ?? nesting }
            self.secret = secret
        case UInt8(ascii: "'"):
            let rest = text[(position + 1)...]
            let end = rest.firstIndex { $0 == UInt8(ascii: "'") || $0 < 0x20 } ?? text.count
            replace(position + 1..<end, with: SecretText.octets)
            position = end
        case let octet where SecretMembers.beginsNumber(octet): scrubNumber(hidesNumbers, name.mark)
        default: if let mark = marks.mark(at: position) { replaceString(behind: mark) }
        }
    }

    private mutating func replaceString(behind mark: SecretMarks.Mark) {
        let end = marks.valueEnd(behind: mark)
        let quotes = Array(text[mark.octets])
        replace(mark.octets.lowerBound..<end, with: quotes + SecretText.octets + quotes)
        position = end
    }

    private mutating func scrubNumber(_ hides: Bool, _ mark: SecretMarks.Mark) {
        let start = position
        while position < text.count, SecretMembers.isInNumber(text[position]) { position += 1 }
        guard hides, position - start >= 4, text[start..<position].allSatisfy(ASCII.isDigit) else { return }
        let quotes = Array(text[mark.octets])
        replace(start..<position, with: quotes + SecretText.octets + quotes)
    }

    private static func beginsNumber(_ octet: UInt8) -> Bool { ASCII.isDigit(octet) || octet == UInt8(ascii: "-") }

    private static func isInNumber(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"), UInt8(ascii: "+"): true
        default: beginsNumber(octet)
        }
    }
}
