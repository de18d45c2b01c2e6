// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// Finds parameters with a credential's name in queries, in forms, and in texts with URLs, and replaces their values.
///
/// Each octet is looked at a few times, whatever the text is.
struct SecretParameters {
    /// Where parameters are, and where their values end.
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
    /// Whether a parameter may begin behind an ampersand.
    private var isInside = false
    /// Whether the position is in the path of a URL, where a parameter may begin behind a semicolon.
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
            let octet = text[position]
            position += 1
            switch octet {
            case UInt8(ascii: "/"), UInt8(ascii: "\\"):
                if !place.isOfForms { skipUserInformation(&redaction) }
            case UInt8(ascii: "?"), UInt8(ascii: "#"):
                guard !place.isOfForms, !isOfScript(octet) else { continue }
                isInside = true
                isInPath = false
                scrubParameter(&redaction)
            case UInt8(ascii: "&"):
                if isInside { scrubParameter(&redaction) }
            case UInt8(ascii: ";"):
                if separates { scrubParameter(&redaction) }
            case 0x0A, 0x0D:
                if place == .lines { isInside = true } else if place == .text { leave() }
                if place == .lines { scrubParameter(&redaction) }
            case ...0x20, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"):
                if place == .text || place == .lines { leave() }
            default: break
            }
        }
    }

    /// Whether a parameter may begin behind the semicolon before the position. In texts, more of them end statements of
    /// scripts than parameters: there it has to be in a path, or the end of an entity that stands for an ampersand.
    private var separates: Bool {
        if place.isOfForms { return false }
        if isInPath { return position < end && text[position] > 0x20 }
        guard isInside, place == .text else { return isInside }
        return SecretParameters.ampersands.contains { text[..<position].suffix($0.count).elementsEqual($0) }
    }

    private static let ampersands = ["&amp;", "&#38;", "&#x26;"].map { Array($0.utf8) }

    /// Whether the number sign before the position begins the name of a private member in a script, not a fragment.
    private func isOfScript(_ octet: UInt8) -> Bool {
        guard place == .text, octet == UInt8(ascii: "#"), position > 1 else { return false }
        let before = text[position - 2]
        return before <= 0x20 || before == UInt8(ascii: ".") || before == UInt8(ascii: "{")
            || before == UInt8(ascii: ";")
    }

    private mutating func leave() {
        isInside = false
        isInPath = false
    }

    /// Replaces the value of the parameter at the position, if there is one and it is secret. The position stays where
    /// its value begins, if not: there may be more in it.
    private mutating func scrubParameter(_ redaction: inout Redaction) {
        let name = run(from: position) { $0 == UInt8(ascii: "=") || begins($0) || isOutside($0) || endsName($0) }
        guard name.upperBound < end, text[name.upperBound] == UInt8(ascii: "=") else { return }
        let start = name.upperBound + 1
        position = start
        let isCoded = text[name].contains { $0 == UInt8(ascii: "%") }
        let decodedName = isCoded ? PercentText.octets(of: text[name])[...] : text[name]
        if SecretName.isOne(parameter: decodedName) {
            let value = run(from: start, until: ends)
            // A script that puts the value there itself.
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

    /// Whether there are secrets in a value once it is decoded, however often it is coded.
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

    /// Leaves out what is before the last `@` of an authority, if the position is behind the first of its slashes. As
    /// scripts write them, slashes have backslashes before them; and some take backslashes for slashes.
    private mutating func skipUserInformation(_ redaction: inout Redaction) {
        let first = position - 1
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
        if text[start] == UInt8(ascii: "/") { return start + 1 }
        guard text[start] == UInt8(ascii: "\\") else { return nil }
        if start + 1 < end, text[start + 1] == UInt8(ascii: "/") { return start + 2 }
        return place == .url ? start + 1 : nil
    }

    private func run(from start: Int, until isLast: (UInt8) -> Bool) -> Range<Int> {
        var place = start
        while place < end, !isLast(text[place]) { place += 1 }
        return start..<place
    }

    /// Whether a parameter may begin behind that octet.
    private func begins(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "&"): true
        case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"): !place.isOfForms
        case UInt8(ascii: "/"): isInPath
        default: false
        }
    }

    /// Whether a line with that octet before its first equals sign is no form, but a URL or part of a script.
    private func endsName(_ octet: UInt8) -> Bool {
        guard place == .lines else { return false }
        switch octet {
        case UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"),
            UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "'"):
            return true
        default: return false
        }
    }

    /// Whether the value of a secret parameter ends before that octet: later than others, since a secret may contain
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

    /// Whether that octet is in no URL.
    private func isOutside(_ octet: UInt8) -> Bool {
        guard place == .text || place == .lines else { return false }
        return octet <= 0x20 || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "<") || octet == UInt8(ascii: ">")
    }

    /// Whether a text with that octet may have members or URLs in it.
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
    /// The same for a parameter's decoded name, of which the last part counts: `user[password]`.
    static func isOne(parameter name: ArraySlice<UInt8>) -> Bool {
        if isOne(octets: name) { return true }
        guard name.last == UInt8(ascii: "]"), let bracket = name.lastIndex(of: UInt8(ascii: "[")) else { return false }
        return isOne(octets: name[(bracket + 1)...].dropLast())
    }
}
