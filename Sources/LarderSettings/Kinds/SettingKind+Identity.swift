// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
package import LarderRules

extension SettingKind where Value == Identity.Part {
    /// One part of a client's identity: a field, a cookie, the client's address, or its user.
    static var identityPart: SettingKind {
        let expected = "the name of a field, `cookie: NAME`, `client` or `user`"
        let parse: @Sendable (String) -> Result<Identity.Part, TextRefusal> = { text in
            if text == "client" { return .success(.client) }
            if text == "user" { return .success(.user) }
            if text == "lane" {
                return .failure(TextRefusal(advice: "clients have no `lane` here; name what tells them apart"))
            }
            if let colon = text.firstIndex(of: ":") {
                let name = text[text.index(after: colon)...].drop { $0 == " " }
                guard text[..<colon].lowercased() == "cookie", FieldName(name) != nil else {
                    return .failure(TextRefusal())
                }
                return .success(.cookie(String(name)))
            }
            guard let name = FieldName(text) else { return .failure(TextRefusal()) }
            return .success(.field(name))
        }
        return SettingKind(
            "identifier", expected: expected,
            read: { node, reader in
                // `[cookie: session]` without quotes is a map in YAML.
                if case .map(let entries) = node.content, entries.count == 1, let entry = entries.first,
                    case .scalar(let scalar) = entry.value.content, !scalar.isNull, !scalar.isUnresolved,
                    case .success(let part) = parse("\(entry.key): \(scalar.text)")
                {
                    return part
                }
                return SettingKind.text("identifier", expected: expected, show: { .text($0.text) }) { parse($0.text) }
                    .read(node, &reader)
            },
            show: { .text($0.text) })
    }
}

extension Identity.Part {
    /// The part as written in the configuration.
    package var text: String {
        switch self {
        case .field(let name): name.spelling
        case .cookie(let name): "cookie: \(name)"
        case .client: "client"
        case .user: "user"
        }
    }
}

extension SettingKind where Value == NamePattern {
    /// A name, or a glob of names.
    static var namePattern: SettingKind {
        .text(
            "name", expected: "the name of a query parameter; `*` is any characters", show: { .text($0.text) },
            parse: { scalar in
                let isName =
                    (1...200).contains(scalar.text.utf8.count)
                    && scalar.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !"&=#?".utf8.contains($0) }
                return isName ? .success(NamePattern(scalar.text)) : .failure(TextRefusal())
            })
    }
}
