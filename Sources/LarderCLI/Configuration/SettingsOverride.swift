// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// One `--set KEY=VALUE`: a dotted path and the YAML that replaces the file's value.
struct SettingsOverride {
    let path: [String]
    let value: SettingNode

    private var key: String { path.joined(separator: ".") }
    private var place: SourcePlace { .option(key, line: 1, column: 1) }

    /// Parses the option's text, or adds its errors to `problems`.
    init?(_ text: String, references: SecretReferences, problems: inout [SettingsProblem]) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            problems.append(
                SettingsProblem(
                    at: .option(String(text.prefix { $0 != "=" }.prefix(60)), line: 1, column: 1), setting: "",
                    found: "no value", expected: "KEY=VALUE, as `--set cache.memory='64 MiB'`"))
            return nil
        }
        let key = String(text[..<equals])
        path = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard !path.contains(""), path.count <= YAMLDocument.depthLimit else {
            problems.append(
                SettingsProblem(
                    at: .option(key, line: 1, column: 1), setting: "", found: "an empty part in the key",
                    expected: "names with a dot between them, as `cache.memory`"))
            return nil
        }
        var document = YAMLDocument(source: .option(key), references: references)
        let node = document.read(String(text[text.index(after: equals)...]))
        problems += document.problems
        guard document.problems.isEmpty else { return nil }
        value = node ?? SettingNode(.scalar(SettingNode.Scalar(text: "")), at: .option(key, line: 1, column: 1))
    }

    /// `tree` with the value inserted. Missing maps on the path are created; a list or a text on the path is a problem,
    /// because then it leads nowhere.
    func applied(to tree: SettingNode?, problems: inout [SettingsProblem]) -> SettingNode {
        replacing(path[...], in: tree, &problems)
    }

    private func replacing(
        _ rest: ArraySlice<String>, in node: SettingNode?, _ problems: inout [SettingsProblem]
    ) -> SettingNode {
        guard let name = rest.first else { return value }
        var entries: [SettingNode.Entry] = []
        switch node?.content {
        case .map(let existing): entries = existing
        case .list, .scalar:
            guard node?.isNull == true else {
                let parent = path[..<rest.startIndex].joined(separator: ".")
                problems.append(
                    SettingsProblem(
                        at: place, setting: "", found: "a path through `\(parent)`, which is not a map",
                        expected: "a path through maps", advice: "set `\(parent)` as a whole"))
                return node ?? value
            }
        case nil: break
        }
        let index = entries.lastIndex { $0.key == name }
        let inner = replacing(rest.dropFirst(), in: index.map { entries[$0].value }, &problems)
        // A key in both keeps its location in the file unless this is the replaced value.
        let entryPlace = index.map { rest.count > 1 ? entries[$0].place : place } ?? place
        let entry = SettingNode.Entry(key: name, place: entryPlace, value: inner)
        if let index { entries[index] = entry } else { entries.append(entry) }
        return SettingNode(.map(entries), at: node?.place ?? place)
    }
}
