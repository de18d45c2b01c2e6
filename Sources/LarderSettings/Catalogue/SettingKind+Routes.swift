// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// One entry of `routes` while it is read.
struct RouteDraft: SettingsRoot {
    var from: RouteTemplate?
    var to: RouteTemplate?
    var setQuery: [QueryParameter] = []
    var addQuery: [QueryParameter] = []
    var removeQuery: [String] = []

    var edits: [QueryEdit] {
        removeQuery.map { .remove(name: $0) } + setQuery.map { .set(name: $0.name, value: $0.value) }
            + addQuery.map { .add(name: $0.name, value: $0.value) }
    }
}

/// A parameter and its value, decoded.
struct QueryParameter: Sendable {
    var name: String
    var value: String
}

extension SettingKind where Value == [RouteRule] {
    /// A list of routes.
    static var routes: SettingKind {
        let list = SettingKind<[RouteRule]>.list(of: .route)
        return SettingKind(
            "list of routes", expected: list.expected,
            read: { node, reader in
                if node.isNull { return [] }
                guard case .list(let items) = node.content else {
                    reader.refuse(
                        node, found: node.summary(showingText: false), expected: list.expected,
                        advice: "start each route with `- `")
                    return nil
                }
                let rules = list.read(node, &reader)
                for (index, rule) in (rules ?? []).enumerated() {
                    guard rules?[..<index].contains(where: { $0.from.segments == rule.from.segments }) == true else {
                        continue
                    }
                    reader.within("[\(index)]", at: items[index].place) {
                        $0.refuse(
                            items[index], found: "`from: \(rule.from.text)` again", expected: "each path once",
                            advice: "the first one that matches is used; remove this one")
                    }
                }
                return rules
            },
            show: { $0.isEmpty ? .nothing : list.show($0) })
    }
}

extension SettingKind where Value == RouteRule {
    fileprivate static var route: SettingKind {
        let section = SettingsCatalogue.route
        return SettingKind(
            "route", expected: "a map with `from` and `to`, as `{ from: \"/u/{id}\", to: \"/users/{id}\" }`",
            read: { node, reader in
                var draft = RouteDraft()
                let before = reader.problems.count
                section.read(node, into: &draft, &reader)
                guard reader.problems.count == before else { return nil }
                return rule(draft, node, &reader)
            },
            show: { rule in
                var draft = RouteDraft()
                draft.from = rule.from
                draft.to = rule.to
                for edit in rule.query {
                    switch edit {
                    case .set(let name, let value): draft.setQuery.append(QueryParameter(name: name, value: value))
                    case .add(let name, let value): draft.addQuery.append(QueryParameter(name: name, value: value))
                    case .remove(let name): draft.removeQuery.append(name)
                    }
                }
                return section.show(draft)
            })
    }

    private static func rule(
        _ draft: RouteDraft, _ node: SettingNode, _ reader: inout SettingsReader
    ) -> RouteRule? {
        guard let from = draft.from else {
            reader.refuse(
                node, found: "a route without `from`", expected: "the paths it is for, as `from: \"/u/{id}\"`")
            return nil
        }
        let rule = RouteRule(from: from, to: draft.to, query: draft.edits)
        guard rule.to != nil || !rule.query.isEmpty else {
            reader.refuse(
                node, found: "a route that changes nothing",
                expected: "`to`, `setQuery`, `addQuery` or `removeQuery`")
            return nil
        }
        if let unknown = rule.to?.names.first(where: { !from.names.contains($0) }) {
            reader.refuse(
                node, found: "`{\(unknown)}` in `to`, which `from` does not have",
                expected: from.names.isEmpty
                    ? "no places" : "one of " + from.names.map { "`{\($0)}`" }.joined(separator: ", "),
                suggestion: Nearest.name(to: unknown, in: from.names).map { "{\($0)}" })
            return nil
        }
        if let again = rule.query.enumerated().first(where: { item in
            rule.query[..<item.offset].contains { $0.name == item.element.name }
        }) {
            reader.refuse(
                node, found: "the parameter \(SettingsProblem.quoted(again.element.name)) more than once",
                expected: "each parameter once")
            return nil
        }
        return rule
    }
}

extension SettingsCatalogue {
    /// The settings of one route, below `services.<name>.routes[]`.
    static let route = SettingsSection<RouteDraft>([
        Setting(
            "from", \.from, .template,
            """
            The paths below `baseURL` that the route is for. `{name}` is one whole segment, `{name*}` at the end all \
            that is left.
            """),
        Setting(
            "to", \.to, .template, initially: "as `from`",
            "The path that is asked for instead, below `baseURL`, with the places of `from`."),
        Setting(
            "setQuery", \.setQuery, .parameters, initially: "none",
            "Query parameters that get this value, whatever the request says."),
        Setting(
            "addQuery", \.addQuery, .parameters, initially: "none",
            "Query parameters that get this value if the request does not have them."),
        Setting(
            "removeQuery", \.removeQuery, .list(of: .parameterName, count: 1...100), initially: "none",
            "Query parameters that are taken off."),
    ])
}

extension SettingKind where Value == RouteTemplate {
    fileprivate static var template: SettingKind {
        .text(
            "path template", expected: "a path with places, as `/users/{id}` or `/files/{path*}`",
            show: { .text($0.text) },
            parse: { scalar in
                do throws(RouteTemplateError) {
                    return .success(try RouteTemplate(scalar.text))
                } catch {
                    return .failure(TextRefusal(advice: "\(error)"))
                }
            })
    }
}

extension SettingKind where Value == String {
    fileprivate static var parameterName: SettingKind {
        .text(
            "parameter name", expected: "the name of a query parameter, decoded", show: { .text($0) },
            parse: { scalar in
                (1...200).contains(scalar.text.utf8.count) ? .success(scalar.text) : .failure(TextRefusal())
            })
    }
}

extension SettingKind where Value == [QueryParameter] {
    fileprivate static var parameters: SettingKind {
        let value = SettingKind<String>.line("value", upTo: 1_000)
        return .map(
            "map of query parameters", expected: "a map from a parameter's name to its value", count: 100,
            read: { entry, reader in
                guard (1...200).contains(entry.key.utf8.count) else {
                    reader.refuse(
                        entry.value, found: "the name \(SettingsProblem.quoted(entry.key))",
                        expected: "a name of 1 to 200 octets")
                    return nil
                }
                return value.read(entry.value, &reader).map { QueryParameter(name: entry.key, value: $0) }
            },
            show: { ($0.name, .text($0.value)) })
    }
}
