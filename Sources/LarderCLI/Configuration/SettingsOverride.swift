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
        let (changed, obstacle) = SettingNode.setting(path[...], to: value, at: place, in: tree, overwrites: true)
        if let obstacle {
            let parent = path[..<obstacle].joined(separator: ".")
            problems.append(
                SettingsProblem(
                    at: place, setting: "", found: "a path through `\(parent)`, which is not a map",
                    expected: "a path through maps", advice: "set `\(parent)` as a whole"))
        }
        return changed
    }
}

extension SettingNode {
    /// `node` with the value at the end of the path, through maps that are made where they are missing.
    ///
    /// - Parameters:
    ///   - place: of the value's key, and of the maps that are made.
    ///   - overwrites: whether a value that is there already is replaced.
    /// - Returns: the obstacle is how long the path is to a list or a text, through which it leads nowhere.
    static func setting(
        _ path: ArraySlice<String>, to value: SettingNode, at place: SourcePlace, in node: SettingNode?,
        overwrites: Bool
    ) -> (node: SettingNode, obstacle: Int?) {
        guard let name = path.first else { return (overwrites ? value : node ?? value, nil) }
        var entries: [Entry] = []
        switch node?.content {
        case .map(let existing): entries = existing
        case .list, .scalar:
            if let node, !node.isNull { return (node, path.startIndex) }
        case nil: break
        }
        let index = entries.lastIndex { $0.key == name }
        let inner = setting(
            path.dropFirst(), to: value, at: place, in: index.map { entries[$0].value }, overwrites: overwrites)
        // A key in both keeps its location in the file unless this is the replaced value.
        let isReplaced = path.count == 1 && overwrites
        let keyPlace = index.map { isReplaced ? place : entries[$0].place } ?? place
        let entry = Entry(key: name, place: keyPlace, value: inner.node)
        if let index { entries[index] = entry } else { entries.append(entry) }
        return (SettingNode(.map(entries), at: node?.place ?? place), inner.obstacle)
    }
}
