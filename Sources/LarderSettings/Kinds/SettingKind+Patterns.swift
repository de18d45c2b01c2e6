// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

extension SettingKind where Value == GlobPattern {
    /// A pattern of URLs with wildcards.
    static var glob: SettingKind {
        .text(
            "pattern", expected: "a pattern of URLs, as `/users/*` or `https://*.example.com/**`",
            show: { .text($0.text) },
            parse: { scalar in
                if let query = scalar.text.firstMatch(of: #/\?[A-Za-z_][A-Za-z0-9_\-]*=/#) {
                    return .failure(
                        TextRefusal(
                            suggestion: String(scalar.text[..<query.range.lowerBound]),
                            advice: "a pattern cannot name a query, `?` is any one character; add `query: { … }`"))
                }
                guard !scalar.text.contains("#") else {
                    return .failure(TextRefusal(advice: "leave out the `#`; fragments are never sent"))
                }
                return compiled { () throws(PatternError) in try GlobPattern(scalar.text) }
            })
    }
}

extension SettingKind where Value == RegexPattern {
    /// A regular expression; `(?i)` in front ignores case.
    static var regex: SettingKind {
        .text(
            "regular expression", expected: "a regular expression, as `^https://api\\.example\\.com/`",
            show: { .text(($0.ignoresCase ? "(?i)" : "") + $0.text) },
            parse: { scalar in
                let ignoresCase = scalar.text.hasPrefix("(?i)")
                let text = String(scalar.text.dropFirst(ignoresCase ? 4 : 0))
                return compiled { () throws(PatternError) in try RegexPattern(text, ignoresCase: ignoresCase) }
            })
    }
}

extension SettingKind where Value == TargetURI {
    /// One absolute URL.
    static var exactURL: SettingKind {
        .text(
            "URL", expected: "an absolute http or https URL",
            show: { .text($0.string) },
            parse: { scalar in
                do throws(URIError) {
                    return .success(try TargetURI(scalar.text))
                } catch {
                    return .failure(TextRefusal(advice: "\(error)"))
                }
            })
    }
}

private func compiled<Pattern>(_ compile: () throws(PatternError) -> Pattern) -> Result<Pattern, TextRefusal> {
    do throws(PatternError) {
        return .success(try compile())
    } catch {
        return .failure(TextRefusal(advice: "\(error)"))
    }
}

extension SettingKind where Value == [BlockPattern.QueryCondition] {
    static var query: SettingKind {
        .map(
            "map of query parameters", expected: "a map from a parameter's name to its value", count: 32,
            read: { entry, reader in
                guard case .scalar(let scalar) = entry.value.content else {
                    reader.refuse(entry.value, expected: "a text, `\"*\"` or `null`")
                    return nil
                }
                guard !scalar.isUnresolved else {
                    reader.leave(entry.value)
                    return nil
                }
                guard !reader.refuseVariables(scalar, entry.value) else { return nil }
                let value: BlockPattern.QueryValue =
                    scalar.isNull ? .absent : scalar.text == "*" ? .anything : .exactly(scalar.text)
                return BlockPattern.QueryCondition(name: entry.key, value: value)
            },
            show: { condition in
                switch condition.value {
                case .absent: (condition.name, .nothing)
                case .anything: (condition.name, .text("*"))
                case .exactly(let text): (condition.name, .text(text))
                }
            })
    }
}

extension SettingKind where Value == [HeaderEdit] {
    static var headers: SettingKind {
        .map(
            "map of fields", expected: "a map from a field's name to its value", count: 200,
            read: { entry, reader in
                let expected = "the name of a field that may be set, as `Authorization`"
                guard let name = FieldName(entry.key) else {
                    reader.refuse(
                        SettingsProblem(
                            at: entry.place, setting: reader.setting,
                            found: "the name \(SettingsProblem.quoted(entry.key))", expected: expected))
                    return nil
                }
                guard !HeaderEdit.reserved.contains(name) else {
                    reader.refuse(
                        SettingsProblem(
                            at: entry.place, setting: reader.setting, found: "the field `\(name)`", expected: expected,
                            advice: "Larder writes this one itself; remove it"))
                    return nil
                }
                if entry.value.isNull { return HeaderEdit(name: name, value: nil) }
                guard case .scalar(let scalar) = entry.value.content else {
                    reader.refuse(
                        entry.value, found: entry.value.summary(showingText: false),
                        expected: "the field's value, or `null` to remove it")
                    return nil
                }
                guard !scalar.isUnresolved else {
                    reader.leave(entry.value)
                    return nil
                }
                guard scalar.text.utf8.count <= 8_192,
                    scalar.text.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 })
                else {
                    reader.refuse(
                        entry.value, found: "a text that is too long or holds line ends or other characters",
                        expected: "visible ASCII characters, spaces and tabs, at most 8 KiB")
                    return nil
                }
                return HeaderEdit(name: name, value: scalar.secret)
            },
            show: { ($0.name.spelling, $0.shownValue) })
    }
}

extension HeaderEdit {
    /// Fields that belong to the connection or to framing, which Larder writes itself (RFC 9110 §7.6.1).
    static let reserved: Set<FieldName> = [
        "Host", "Connection", "Content-Length", "Transfer-Encoding", "TE", "Trailer", "Upgrade", "Keep-Alive",
        "Proxy-Connection", "Proxy-Authorization", "Expect", "Via",
    ]

    /// The value as written where it refers to a secret; a literal value is shown unless the name suggests a secret.
    var shownValue: ShownValue {
        guard let value else { return .nothing }
        if let reference = value.reference { return .text(reference) }
        return .text(HeaderEdit.soundsSecret(name.canonical) ? value.description : value.reveal())
    }

    /// True if the name suggests that the value is secret.
    static func soundsSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return ["auth", "cookie", "token", "secret", "key", "password", "session"].contains { name.contains($0) }
    }
}
