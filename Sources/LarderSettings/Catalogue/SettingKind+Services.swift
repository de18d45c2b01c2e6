// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

extension SettingKind where Value == [ServiceSettings] {
    static var services: SettingKind {
        let map = mapOfServices
        return SettingKind(
            map.name, expected: map.expected,
            read: { node, reader in
                var node = node
                if case .map(let entries) = node.content {
                    node.content = .map(reader.refusingUnindented(entries))
                    reader.serviceNames = entries.filter { !$0.value.lacksBaseURL }.map(\.key)
                }
                return map.read(node, &reader)
            },
            show: map.show)
    }

    private static var mapOfServices: SettingKind {
        .map(
            "map of services", expected: "a map from a service's name to its settings", count: 10_000,
            read: { entry, reader in
                var service = ServiceSettings()
                service.name = entry.key
                if let problem = ServiceSettings.refusal(ofName: entry.key) {
                    reader.refuse(
                        SettingsProblem(
                            at: entry.place, setting: reader.setting,
                            found: "the name \(SettingsProblem.quoted(entry.key))",
                            expected: "a name of 1 to 63 lower-case letters, digits and `-`",
                            suggestion: problem.suggestion, advice: problem.advice))
                }
                let before = reader.problems.count
                SettingsCatalogue.service.read(entry.value, into: &service, &reader)
                if entry.value.lacksBaseURL {
                    reader.refuse(
                        SettingsProblem(
                            at: entry.place, setting: reader.setting, found: "a service without `baseURL`",
                            expected: "the URL of the API", suggestion: reader.knownService(near: entry),
                            advice: "a service is made by its `baseURL: https://…`"))
                }
                return reader.problems.count == before ? service : nil
            },
            show: { ($0.name, SettingsCatalogue.service.show($0)) })
    }
}

extension ServiceSettings {
    fileprivate static func refusal(ofName name: String) -> TextRefusal? {
        if ["http", "https"].contains(name) {
            return TextRefusal(advice: "`/\(name)/<host>/…` leads to any host; choose another name")
        }
        let isLabel =
            (1...63).contains(name.utf8.count) && name.first != "-" && name.last != "-"
            && name.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-")
            }
        guard !isLabel else { return nil }
        let repaired = name.lowercased().replacing("_", with: "-").replacing(".", with: "-")
        return TextRefusal(suggestion: repaired != name && refusal(ofName: repaired) == nil ? repaired : nil)
    }
}

extension SettingsReader {
    /// The entries without the settings that stand beside a service in place of below it, which are refused.
    fileprivate mutating func refusingUnindented(_ entries: [SettingNode.Entry]) -> [SettingNode.Entry] {
        guard let empty = entries.firstIndex(where: { $0.value.isNull }) else { return entries }
        let stray = entries[empty...].filter(\.isStrayInService)
        guard !stray.isEmpty else { return entries }
        for entry in stray {
            within(entry.key, at: entry.place) { reader in
                reader.refuse(
                    SettingsProblem(
                        at: entry.place, setting: reader.setting,
                        found: "\(SettingsProblem.quoted(entry.key)) in place of a service's name",
                        expected: "a setting of a service",
                        advice: "indent it below \(SettingsProblem.quoted(entries[empty].key))"))
            }
        }
        let places = Set([entries[empty].place] + stray.map(\.place))
        return entries.filter { !places.contains($0.place) }
    }

    /// The service that `--set services.<name>.…` was probably meant for, if no service has that name.
    fileprivate func knownService(near entry: SettingNode.Entry) -> String? {
        guard case .option = entry.place else { return nil }
        return Nearest.name(to: entry.key, in: serviceNames).map { "services.\($0)" }
    }
}

extension SettingNode.Entry {
    /// True if it can only be a setting of a service, and is no service itself.
    fileprivate var isStrayInService: Bool {
        let isSetting = SettingsCatalogue.service.settings.contains { $0.name.prefix { $0 != "." } == key }
        guard isSetting else { return false }
        if case .map = value.content { return value.lacksBaseURL }
        return !value.isNull
    }
}

extension SettingNode {
    /// True if it is a map, or nothing, without the key or anything resembling it.
    fileprivate var lacksBaseURL: Bool {
        guard case .map(let entries) = content else { return isNull }
        return !entries.contains {
            // A preset that was not read, which has been reported, may have had it.
            Nearest.name(to: $0.key, in: ["baseURL"]) != nil || $0.key == "preset" && !$0.value.isText
        }
    }

    private var isText: Bool {
        if case .scalar(let scalar) = content { !scalar.isNull && !scalar.isUnresolved } else { false }
    }
}

extension SettingKind where Value == [ConfigureBlock] {
    static var blocks: SettingKind {
        SettingKind(
            "list of blocks", expected: "a list of blocks, each a map",
            read: { node, reader in
                guard case .list(let items) = node.content else {
                    if node.isNull { return [] }
                    reader.refuse(
                        node, found: node.summary(showingText: false), expected: "a list of blocks, each a map",
                        advice: "start each block with `- `")
                    return nil
                }
                guard items.count <= 10_000 else {
                    reader.refuse(node, found: "\(items.count) blocks", expected: "at most 10000")
                    return nil
                }
                reader.stageNames = []
                return items.enumerated().map { index, item in
                    reader.within("[\(index)]", at: item.place) { reader in
                        var block = ConfigureBlock()
                        SettingsCatalogue.configure.read(item, into: &block, &reader)
                        return block
                    }
                }
            },
            show: { $0.isEmpty ? .nothing : .list($0.map(SettingsCatalogue.configure.show)) })
    }
}

extension SettingKind where Value == String {
    /// The name of a preset. It is not shown: the settings of the preset are shown instead.
    static var preset: SettingKind {
        let text = SettingKind.line("preset")
        return SettingKind(text.name, expected: text.expected, read: text.read, show: { _ in .nothing })
    }

    /// The mount of a service.
    static var mount: SettingKind {
        .text(
            "path prefix", expected: "a path that starts and ends with `/`, as `/github/`",
            show: { .text($0) },
            parse: { scalar in
                let text = scalar.text
                let isPath = text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !#"#"<>?\^`{|}"#.utf8.contains($0) }
                guard isPath, !text.isEmpty, text.utf8.count <= 200 else { return .failure(TextRefusal()) }
                let whole = (text.hasPrefix("/") ? "" : "/") + text + (text.hasSuffix("/") ? "" : "/")
                let segments = whole.split(separator: "/", omittingEmptySubsequences: false).dropFirst().dropLast()
                guard !segments.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
                    return .failure(TextRefusal(advice: "leave out empty segments, `.` and `..`"))
                }
                if let first = segments.first, ["-", "http", "https"].contains(first) {
                    return .failure(TextRefusal(advice: "`/\(first)/` is Larder's own; choose another path"))
                }
                return whole == text ? .success(text) : .failure(TextRefusal(suggestion: whole))
            })
    }
}
