// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

extension SettingKind where Value == IgnoredRequest {
    private static var words: [(name: String, value: IgnoredRequest)] {
        [("no-cache", .noCache), ("max-age", .maxAge), ("no-store", .noStore), ("pragma", .pragma)]
    }

    /// Directives of requests.
    static var ignoredRequest: SettingKind {
        let expected = words.map(\.name).joined(separator: ", ")
        let word = SettingKind<IgnoredRequest>.text(
            "directive", expected: "one of \(expected)", show: { _ in .nothing },
            parse: { scalar in
                let found = words.first { $0.name == scalar.text }
                let nearest = Nearest.name(to: scalar.text, in: words.map(\.name))
                return found.map { .success($0.value) } ?? .failure(TextRefusal(suggestion: nearest))
            })
        let list = SettingKind<[IgnoredRequest]>.list(of: word, count: 0...words.count)
        return SettingKind(
            list.name, expected: list.expected,
            read: { node, reader in list.read(node, &reader).map { IgnoredRequest($0) } },
            show: { ignored in .list(words.filter { ignored.contains($0.value) }.map { .text($0.name) }) })
    }
}

extension SettingKind where Value == IgnoredResponse {
    private static var words: [(name: String, value: IgnoredResponse.Directives)] {
        [
            ("no-store", .noStore), ("private", .isPrivate), ("no-cache", .noCache),
            ("must-revalidate", .mustRevalidate), ("set-cookie", .setCookie),
        ]
    }

    /// Directives of responses, `set-cookie`, and `vary` with the names of fields.
    static var ignoredResponse: SettingKind {
        let expected = "one of \(words.map(\.name).joined(separator: ", ")) and `vary: [FIELD, …]`"
        let item = SettingKind<IgnoredResponse>(
            "directive", expected: expected,
            read: { node, reader in read(node, expected, &reader) }, show: { _ in .nothing })
        let list = SettingKind<[IgnoredResponse]>.list(of: item, count: 0...16)
        return SettingKind(
            list.name, expected: list.expected,
            read: { node, reader in
                list.read(node, &reader).map { items in
                    items.reduce(into: IgnoredResponse()) { whole, item in
                        whole.directives.formUnion(item.directives)
                        whole.vary.formUnion(item.vary)
                    }
                }
            },
            show: { ignored in
                var shown: [ShownValue] = words.filter { ignored.directives.contains($0.value) }.map { .text($0.name) }
                if !ignored.vary.isEmpty {
                    let names = ignored.vary.map(\.spelling).sorted()
                    shown.append(.map([("vary", .list(names.map { .text($0) }))]))
                }
                return .list(shown)
            })
    }

    /// A word, or `vary: [A, B]` as a map or as one text.
    private static func read(
        _ node: SettingNode, _ expected: String, _ reader: inout SettingsReader
    ) -> IgnoredResponse? {
        var names: [String]?
        switch node.content {
        case .map(let entries):
            if let entry = entries.first, entries.count == 1, entry.key.lowercased() == "vary" {
                names = reader.within(entry.key, at: entry.place) {
                    SettingKind<[String]>.list(of: .line("field"), count: 1...32).read(entry.value, &$0)
                }
                if names == nil { return nil }
            }
        case .scalar(let scalar) where !scalar.isNull:
            if let word = words.first(where: { $0.name == scalar.text }) { return IgnoredResponse(word.value) }
            if scalar.text.lowercased().hasPrefix("vary:") {
                let list = scalar.text.dropFirst(5).filter { !"[]".contains($0) }
                names = list.split(whereSeparator: { $0 == "," || $0 == " " }).map(String.init)
            }
        case .scalar, .list: break
        }
        let fields = names?.compactMap { FieldName($0) } ?? []
        guard let names, !names.isEmpty, fields.count == names.count else {
            var suggestion: String?
            if case .scalar(let scalar) = node.content {
                suggestion = Nearest.name(to: scalar.text, in: words.map(\.name))
            }
            reader.refuse(
                node, found: node.summary(showingText: true), expected: expected, suggestion: suggestion,
                advice: "`vary` needs the names of fields, as `vary: [User-Agent]`")
            return nil
        }
        return IgnoredResponse(vary: Set(fields))
    }
}
