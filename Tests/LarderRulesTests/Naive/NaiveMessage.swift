// SPDX-License-Identifier: Apache-2.0

/// A message as somebody would write it who has only the RFC, strings and dictionaries. Nothing here is shared with
/// the code under test, so that a mistake would have to be made twice.
struct NaiveMessage {
    var method = "GET"
    var status = 200
    /// Names in lower case.
    var headers: [(name: String, value: String)] = []

    func all(_ name: String) -> [String] { headers.filter { $0.name == name }.map(\.value) }
    func has(_ name: String) -> Bool { headers.contains { $0.name == name } }
    func only(_ name: String) -> String? { all(name).count == 1 ? all(name)[0] : nil }
    mutating func drop(_ names: Set<String>) { headers.removeAll { names.contains($0.name) } }

    var lines: [String] { headers.map { "\($0.name): \($0.value)" } }
}

/// One member of Cache-Control.
struct NaiveDirective {
    var name: String
    var value: String?
    /// Blanks around the equals sign.
    var isSpaced = false
    var isMalformed = false

    private static let tokenCharacters = Set(
        "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

    static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.allSatisfy(tokenCharacters.contains)
    }

    static func parse(_ lines: [String]) -> [NaiveDirective] { lines.flatMap(parse) }

    private static func parse(_ line: String) -> [NaiveDirective] {
        // Where members end: at commas and semicolons that are not inside "…".
        var pieces: [(text: String, before: Character, after: Character)] = []
        var current = ""
        var before: Character = ","
        let characters = Array(line)
        var index = 0
        while index < characters.count {
            let character = characters[index]
            if character == "\"", let end = closingQuote(characters, index) {
                current += String(characters[index...end])
                index = end + 1
                continue
            }
            if character == "," || character == ";" {
                pieces.append((current, before, character))
                before = character
                current = ""
            } else {
                current.append(character)
            }
            index += 1
        }
        pieces.append((current, before, ","))
        var directives: [NaiveDirective] = []
        for piece in pieces {
            let text = trim(piece.text)
            let name = text.prefix(while: tokenCharacters.contains)
            if name.isEmpty { continue }
            var directive = NaiveDirective(name: name.lowercased())
            let rest = text[name.endIndex...]
            if rest.hasPrefix("=") {
                let value = rest.dropFirst()
                if let first = value.first, first == " " || first == "\t" {
                    directive.isSpaced = true
                } else if value.hasPrefix("\""), let end = closingQuote(Array(value), 0), end == value.count - 1,
                    value.count >= 2
                {
                    directive.value = String(value.dropFirst().dropLast())
                } else if isToken(value) {
                    directive.value = String(value)
                } else {
                    directive.isMalformed = true
                }
            } else if !rest.isEmpty {
                if trim(String(rest)).hasPrefix("=") { directive.isSpaced = true } else { directive.isMalformed = true }
            }
            if piece.before == ";" || piece.after == ";" {
                directive.isMalformed = true
                directive.isSpaced = false
                directive.value = nil
            }
            directives.append(directive)
        }
        return directives
    }

    private static func closingQuote(_ characters: [Character], _ start: Int) -> Int? {
        var index = start + 1
        while index < characters.count {
            if characters[index] == "\\" { index += 2; continue }
            if characters[index] == "\"" { return index }
            index += 1
        }
        return nil
    }
}

func trim(_ text: String) -> String {
    var text = text
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
}

/// The directives by name: for numbers the first, nil for one that is no number.
struct NaiveDirectives {
    var list: [NaiveDirective]
    /// nil when neither Cache-Control nor a targeted field is there.
    var source: String?

    func has(_ name: String) -> Bool { list.contains { $0.name == name } }
    /// Present in a form that may permit something.
    func permits(_ name: String) -> Bool { list.contains { $0.name == name && !$0.isMalformed && !$0.isSpaced } }

    enum Number { case absent, broken, value(Int) }

    func number(_ name: String) -> Number {
        guard let first = list.first(where: { $0.name == name && !$0.isSpaced }) else { return .absent }
        guard let text = first.value, !text.isEmpty, text.allSatisfy({ "0123456789".contains($0) }) else {
            return .broken
        }
        return .value(min(Int(text) ?? 2_147_483_648, 2_147_483_648))
    }

    /// The names in no-cache="…" or private="…"; nil when it is to be taken as unqualified.
    private func names(_ directive: NaiveDirective) -> [String]? {
        guard let value = directive.value else { return nil }
        let names = value.split(separator: ",").map { trim(String($0)).lowercased() }.filter { !$0.isEmpty }
        let needed: Set = [
            "cache-control", "cdn-cache-control", "vary", "age", "date", "expires", "etag", "last-modified",
            "content-length",
            "content-range", "content-encoding", "content-type", "pragma",
        ]
        if names.isEmpty || names.contains(where: { !NaiveDirective.isToken($0) || needed.contains($0) }) { return nil }
        return names
    }

    func isUnqualified(_ name: String) -> Bool { list.contains { $0.name == name && names($0) == nil } }
    func qualified(_ name: String) -> [String] { list.filter { $0.name == name }.flatMap { names($0) ?? [] } }
}
