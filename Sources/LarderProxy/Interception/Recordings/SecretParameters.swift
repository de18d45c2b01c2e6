// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// Finds parameters with a credential's name in queries, in forms, and in texts with URLs, and replaces their values.
///
/// Each byte is examined only a few times in any text.
struct SecretParameters {
    /// The kind of text, which determines the places of parameters and the ends of their values.
    enum Place {
        /// The whole text is one form.
        case form
        /// Each line is a form, or one parameter with blanks in its value (`text/plain`), or neither.
        case lines
        /// The text is one URL: parameters are in its path, in its query and in its fragment.
        case url
        /// The text may have URLs among other words, in quotes or in angle brackets.
        case text

        var isOfForms: Bool { self == .form || self == .lines }
    }

    private let text: [UInt8]
    private let place: Place
    private let layers: SecretLayers
    private let end: Int
    private var position: Int
    /// True if a parameter may begin behind an ampersand.
    private var isInside = false
    /// True if the position is in the path of a URL, where a parameter may begin behind a semicolon.
    private var isInPath = false

    /// Replaces the values of secret parameters in that range of the text, and leaves out user information in URLs.
    static func scrub(
        _ text: [UInt8], _ range: Range<Int>, _ place: Place, _ layers: SecretLayers, into redaction: inout Redaction
    ) {
        var scan = SecretParameters(
            text: text, place: place, layers: layers, end: range.upperBound, position: range.lowerBound)
        scan.run(&redaction)
    }

    static func scrubbed(_ text: [UInt8], _ place: Place, _ layers: SecretLayers = SecretLayers()) -> [UInt8] {
        var redaction = Redaction(text)
        scrub(text, 0..<text.count, place, layers, into: &redaction)
        return redaction.result
    }

    private init(text: [UInt8], place: Place, layers: SecretLayers, end: Int, position: Int) {
        (self.text, self.place, self.layers, self.end, self.position) = (text, place, layers, end, position)
    }

    private mutating func run(_ redaction: inout Redaction) {
        isInside = place.isOfForms
        isInPath = place == .url
        if isInside { scrubParameter(&redaction) }
        while position < end {
            let start = position
            let octet: UInt8
            (octet, position) = self.octet(at: start)
            switch octet {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"):
                guard !place.isOfForms else { continue }
                if octet == UInt8(ascii: "/"), !isInside, !isInPath { isInPath = place == .text && beginsPath(start) }
                skipUserInformation(from: start, &redaction)
            case UInt8(ascii: "?"), UInt8(ascii: "#"):
                guard !place.isOfForms, !isOfScript(octet, at: start) else { continue }
                isInside = true
                isInPath = false
                scrubParameter(&redaction)
            case UInt8(ascii: "&"):
                guard isInside else { continue }
                isInPath = false
                scrubParameter(&redaction)
            case UInt8(ascii: ";"): scrubParameter(behindSemicolon: start, &redaction)
            case 0x0A, 0x0D:
                if place == .lines { isInside = true } else if place == .text { leave() }
                if place == .lines { scrubParameter(&redaction) }
            // Spelled, they are in queries too.
            case ...0x20, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"):
                if place == .text || place == .lines, position == start + 1 { leave() }
            case UInt8(ascii: "'"): if place == .text { isInPath = false }
            default: break
            }
        }
    }

    /// The byte at that place as it is meant, and the place behind it: scripts and HTML spell queries in their own way.
    private func octet(at start: Int) -> (octet: UInt8, end: Int) {
        let octet = text[start]
        guard octet == UInt8(ascii: "&") || octet == UInt8(ascii: "\\"), place == .text,
            let spelled = SpelledOctet(text[start..<end])
        else { return (octet, start + 1) }
        return (spelled.octet, spelled.end)
    }

    /// True if the slash at that place in a text begins a path: in quotes, in brackets, or among words.
    private func beginsPath(_ start: Int) -> Bool {
        guard start > 0 else { return true }
        switch text[start - 1] {
        case ...0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "("), UInt8(ascii: "="):
            return true
        default: return false
        }
    }

    /// Scrubs the parameter at the position, if the semicolon at that place separates it. In texts, more of them end
    /// statements of scripts: there it has to be in a path, or to be a session's.
    private mutating func scrubParameter(behindSemicolon start: Int, _ redaction: inout Redaction) {
        if isInPath {
            if position < end, text[position] > 0x20 { scrubParameter(&redaction) }
        } else if place == .url {
            if isInside { scrubParameter(&redaction) }
        } else if place == .text, namesSession(behindSemicolon: start) {
            isInPath = true
            scrubParameter(&redaction)
            isInPath = false
        }
    }

    /// True if the parameter at the position is a session's, and the semicolon ends what may be a path:
    /// `login.do;jsessionid=`.
    private func namesSession(behindSemicolon start: Int) -> Bool {
        guard start > 0, SecretParameters.isOfName(text[start - 1]) else { return false }
        let name = run(from: position) { !SecretParameters.isOfName($0) }
        return SecretName.isSession(octets: text[name].suffix(32))
    }

    private static func isOfName(_ octet: UInt8) -> Bool {
        ASCII.isAlpha(octet) || ASCII.isDigit(octet) || octet == UInt8(ascii: "-") || octet == UInt8(ascii: "_")
    }

    /// True if the number sign at that place begins the name of a private member in a script, not a fragment.
    private func isOfScript(_ octet: UInt8, at start: Int) -> Bool {
        guard place == .text, octet == UInt8(ascii: "#"), start > 0 else { return false }
        let before = text[start - 1]
        return before <= 0x20 || before == UInt8(ascii: ".") || before == UInt8(ascii: "{")
            || before == UInt8(ascii: ";")
    }

    private mutating func leave() {
        isInside = false
        isInPath = false
    }

    /// Replaces the value of the parameter at the position, if it is secret. Otherwise the position becomes the start
    /// of the value, which may contain more parameters.
    private mutating func scrubParameter(_ redaction: inout Redaction) {
        let name = run(from: position) { $0 == UInt8(ascii: "=") || begins($0) || isOutside($0) || endsName($0) }
        guard name.upperBound < end, case let (octet, start) = octet(at: name.upperBound), octet == UInt8(ascii: "=")
        else { return }
        position = start
        let decodedName = decoded(name)
        if SecretName.isOne(parameter: decodedName) {
            let value = run(from: start, until: ends)
            // A script inserts the value here.
            if place == .text, value.isEmpty || text[start] == UInt8(ascii: "'") { return }
            guard !SecretName.isCount(octets: decodedName, value: text[value]) else { return }
            redaction.replace(value, with: SecretText.octets)
            position = value.upperBound
            return
        }
        let value = run(from: start) { begins($0) || isOutside($0) }
        guard layers.readsPercent, hidesSecrets(text[value]) else { return }
        redaction.replace(value, with: SecretText.octets)
        position = value.upperBound
    }

    private func decoded(_ name: Range<Int>) -> ArraySlice<UInt8> {
        var octets = text[name]
        if place == .text, octets.contains(where: { $0 == UInt8(ascii: "\\") || $0 == UInt8(ascii: "&") }) {
            var spelled: [UInt8] = []
            var index = name.lowerBound
            while index < name.upperBound {
                let octet = octet(at: index)
                spelled.append(octet.octet)
                index = octet.end
            }
            octets = spelled[...]
        }
        return octets.contains(UInt8(ascii: "%")) ? PercentText.octets(of: octets)[...] : octets
    }

    /// True if there are secrets in a value once it is decoded, however often it is coded.
    private func hidesSecrets(_ value: ArraySlice<UInt8>) -> Bool {
        // Values in forms may be texts as they are; in URLs, what is not coded is seen anyway.
        let isText = place.isOfForms && value.contains(where: SecretParameters.isOfTexts)
        guard isText || value.contains(UInt8(ascii: "%")) else { return false }
        var decoded = PercentText.octets(of: value)
        guard isText || decoded.count < value.count else { return false }
        for _ in 0..<SecretLayers.ofPercent {
            if SecretText.redaction(of: decoded, .url, layers.inPercent).isChanged { return true }
            guard decoded.contains(UInt8(ascii: "%")) else { return false }
            let next = PercentText.octets(of: decoded, isForm: false)
            guard next.count < decoded.count else { return false }
            decoded = next
        }
        return true
    }

    /// Leaves out what is before the last `@` of an authority, if the first of its slashes is at that place. As
    /// scripts write them, slashes have backslashes before them; and some take backslashes for slashes.
    private mutating func skipUserInformation(from first: Int, _ redaction: inout Redaction) {
        guard let second = slashEnd(first), let start = slashEnd(second) else { return }
        let hasScheme = first > 0 && text[first - 1] == UInt8(ascii: ":")
        if hasScheme { isInPath = place == .text || isInPath }
        position = start
        let isInQuery = isInside
        let authority = run(from: start) { octet in
            switch octet {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"), UInt8(ascii: "?"), UInt8(ascii: "#"): true
            case UInt8(ascii: "&"): isInQuery
            // Without a scheme it may be a comment, or an expression in a script.
            case UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "("), UInt8(ascii: "{"), UInt8(ascii: ","):
                !hasScheme
            default: isOutside(octet)
            }
        }
        guard let at = text[authority].lastIndex(of: UInt8(ascii: "@")), at > start,
            hasScheme || text[start..<at].contains(UInt8(ascii: ":"))
        else { return }
        redaction.replace(start..<at + 1, with: [])
        position = at + 1
    }

    /// The place behind the slash at that place, however it is written.
    private func slashEnd(_ start: Int) -> Int? {
        guard start < end else { return nil }
        let slash = octet(at: start)
        if slash.octet == UInt8(ascii: "/") { return slash.end }
        guard slash.octet == UInt8(ascii: "\\") else { return nil }
        if slash.end < end, text[slash.end] == UInt8(ascii: "/") { return slash.end + 1 }
        return place == .url ? slash.end : nil
    }

    private func run(from start: Int, until isLast: (UInt8) -> Bool) -> Range<Int> {
        var index = start
        while index < end {
            var (octet, next) = (text[index], index + 1)
            if octet == UInt8(ascii: "&") || octet == UInt8(ascii: "\\") { (octet, next) = self.octet(at: index) }
            if isLast(octet) { break }
            index = next
        }
        return start..<index
    }

    /// True if a parameter may begin behind that byte.
    private func begins(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "&"): true
        case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"): !place.isOfForms
        case UInt8(ascii: "/"): isInPath
        default: false
        }
    }

    /// True if a line with that byte before its first equals sign is no form, but a URL or part of a script.
    private func endsName(_ octet: UInt8) -> Bool {
        guard place == .lines else { return false }
        switch octet {
        case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"),
            UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "'"):
            return true
        default: return false
        }
    }

    /// True if the value of a secret parameter ends before that byte: later than others, since a secret may contain
    /// what separates parameters elsewhere.
    private func ends(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "&"): true
        case UInt8(ascii: "#"): !place.isOfForms
        case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: ";"): isInPath
        case 0x0A, 0x0D: place == .lines || place == .text
        default: place == .text && isOutside(octet)
        }
    }

    /// True if that byte is in no URL.
    private func isOutside(_ octet: UInt8) -> Bool {
        guard place == .text || place == .lines else { return false }
        return octet <= 0x20 || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "<") || octet == UInt8(ascii: ">")
    }

    /// True if a text with that byte may contain members or URLs.
    private static func isOfTexts(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"),
            UInt8(ascii: "&"):
            true
        default: false
        }
    }
}

extension SecretName {
    /// True if a parameter's decoded name, or any part of it, is a credential's: `user[password]`, `pin[]`.
    static func isOne(parameter name: ArraySlice<UInt8>) -> Bool {
        if isOne(octets: name) { return true }
        guard name.last == UInt8(ascii: "]") else { return false }
        return name.split { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: "]") }.contains { isOne(octets: $0) }
    }
}
