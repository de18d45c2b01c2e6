// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// Finds parameters with a credential's name in queries, in forms, and in texts with URLs, and replaces their values.
struct SecretParameters {
    /// Where parameters are, and where their values end.
    enum Place {
        /// The whole text is one form.
        case form
        /// The text is one URL: parameters are in its query and in its fragment.
        case url
        /// The text may have URLs among other words, in quotes or in angle brackets.
        case text
    }

    private let place: Place
    private let text: [UInt8]
    private var clean: [UInt8] = []
    private var position = 0

    /// The text without the values of secret parameters, and without user information in URLs.
    static func scrubbed(_ text: [UInt8], _ place: Place) -> [UInt8] {
        var scan = SecretParameters(place: place, text: text)
        scan.run()
        return scan.clean
    }

    private init(place: Place, text: [UInt8]) {
        self.place = place
        self.text = text
    }

    private mutating func run() {
        clean.reserveCapacity(text.count)
        var isInside = place == .form
        if isInside { scrubParameter() }
        while position < text.count {
            let octet = text[position]
            clean.append(octet)
            position += 1
            if place != .form, octet == UInt8(ascii: ":") { skipUserInformation(isInside) }
            if place == .text, SecretParameters.isEnd(octet) { isInside = false }
            if place != .form, octet == UInt8(ascii: "?") || octet == UInt8(ascii: "#") { isInside = true }
            if isInside, begins(octet) { scrubParameter() }
        }
    }

    /// Copies the parameter at the position, or what is of it; the position is at its end then.
    private mutating func scrubParameter() {
        let name = run(from: position) { $0 == UInt8(ascii: "=") || begins($0) || isOutside($0) }
        guard name.upperBound < text.count, text[name.upperBound] == UInt8(ascii: "=") else { return }
        let start = name.upperBound + 1
        clean += text[name.lowerBound..<start]
        position = start
        if SecretName.isOne(parameter: PercentText.octets(of: text[name])) {
            clean += Array(SecretText.replacement.utf8)
            position = run(from: start, until: ends).upperBound
            return
        }
        let value = run(from: start) { begins($0) || isOutside($0) }
        let decoded = PercentText.octets(of: text[value])
        // Each time it is decoded it gets shorter, so this ends.
        guard place == .form || decoded.count < value.count, SecretText.scrubbed(text: decoded) != decoded else {
            return
        }
        clean += Array(SecretText.replacement.utf8)
        position = value.upperBound
    }

    /// Leaves out what is before the last `@` of an authority, if the position is before one.
    private mutating func skipUserInformation(_ isInQuery: Bool) {
        guard text[position...].starts(with: [UInt8(ascii: "/"), UInt8(ascii: "/")]) else { return }
        let authority = run(from: position + 2) { octet in
            octet == UInt8(ascii: "/") || octet == UInt8(ascii: "?") || octet == UInt8(ascii: "#")
                || isInQuery && octet == UInt8(ascii: "&") || isOutside(octet)
        }
        guard let at = text[authority].lastIndex(of: UInt8(ascii: "@")) else { return }
        clean += [UInt8(ascii: "/"), UInt8(ascii: "/")]
        position = at + 1
    }

    private func run(from start: Int, until isLast: (UInt8) -> Bool) -> Range<Int> {
        start..<(text[start...].firstIndex(where: isLast) ?? text.count)
    }

    /// Whether a parameter may begin behind that octet.
    private func begins(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "&"): true
        case UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ";"): place != .form
        default: false
        }
    }

    /// Whether the value of a secret parameter ends before that octet: later than others, since a secret may contain
    /// what separates parameters elsewhere.
    private func ends(_ octet: UInt8) -> Bool {
        octet == UInt8(ascii: "&") || place != .form && octet == UInt8(ascii: "#") || isOutside(octet)
    }

    private func isOutside(_ octet: UInt8) -> Bool { place == .text && SecretParameters.isEnd(octet) }

    /// Whether that octet is in no URL.
    private static func isEnd(_ octet: UInt8) -> Bool {
        octet <= 0x20 || octet == UInt8(ascii: "\"") || octet == UInt8(ascii: "<") || octet == UInt8(ascii: ">")
    }
}

extension SecretName {
    /// The same for a parameter's decoded name, of which the last part counts: `user[password]`.
    static func isOne(parameter name: [UInt8]) -> Bool {
        let name = String(decoding: name, as: UTF8.self)
        guard name.hasSuffix("]"), let bracket = name.lastIndex(of: "[") else { return isOne(name) }
        return isOne(name) || isOne(name[name.index(after: bracket)...].dropLast())
    }
}
