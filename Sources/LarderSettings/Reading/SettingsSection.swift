// SPDX-License-Identifier: Apache-2.0

/// The settings in one map, with nested maps for the dots in their names.
package struct SettingsSection<Root: SettingsRoot>: Sendable {
    package let settings: [Setting<Root>]
    private let names: SettingNames

    package init(_ settings: [Setting<Root>]) {
        self.settings = settings
        names = SettingNames(
            names: settings.map(\.name), shortKeys: settings.map(\.about.shortKey), root: Root.self)
    }

    package var descriptions: [SettingDescription] { settings.map(\.about) }

    /// Reads a map into `root`. An absent value is an empty map, as when every line below a key is commented out.
    package func read(_ node: SettingNode, into root: inout Root, _ reader: inout SettingsReader) {
        read(node, below: "", into: &root, &reader)
    }

    /// The values in `root`, as a map of the same shape as the configuration.
    package func show(_ root: Root) -> ShownValue {
        show(root, below: "")
    }

    private func read(
        _ node: SettingNode, below prefix: String, into root: inout Root, _ reader: inout SettingsReader
    ) {
        for entry in names.entries(of: node, below: prefix, &reader) {
            switch names.meaning(of: entry, below: prefix, &reader) {
            case .setting(let index):
                reader.within(entry.key, at: entry.place) { settings[index].read(entry.value, &root, &$0) }
            case .short(let index):
                reader.within(entry.key, at: entry.place) { settings[index].readShort?(entry.value, &root, &$0) }
            case .map(let name):
                reader.within(entry.key, at: entry.place) { read(entry.value, below: name, into: &root, &$0) }
            case nil: continue
            }
        }
    }

    private func show(_ root: Root, below prefix: String) -> ShownValue {
        .map(
            names.keys(below: prefix).compactMap { key in
                let name = prefix + key
                if let index = names.index(of: name) {
                    let value = settings[index].show(root)
                    return value == .nothing ? nil : (key, value)
                }
                let inner = show(root, below: name + ".")
                return inner == .map([]) ? nil : (key, inner)
            })
    }
}

/// The names in a section, and so the meaning of each key in its maps. It stands apart from the section, which the
/// compiler makes anew for each type of result.
private struct SettingNames: Sendable {
    let names: [String]
    /// The short key of each setting.
    let shortKeys: [String?]
    let root: any SettingsRoot.Type

    enum Meaning {
        /// The setting at this index.
        case setting(Int)
        /// The setting at this index, by its short key.
        case short(Int)
        /// A map with the settings whose names begin so.
        case map(String)
    }

    /// The entries of the map below `prefix`, each key once; anything but a map is refused.
    @inline(never)
    func entries(
        of node: SettingNode, below prefix: String, _ reader: inout SettingsReader
    ) -> [SettingNode.Entry] {
        if case .map(let entries) = node.content { return reader.withoutRepetitions(entries) }
        if !node.isNull {
            let keys = keys(below: prefix)
            let advice = keys.first { node.begins(with: $0 + ":") }.map { "write a space after `\($0):`" }
            reader.refuse(
                node, found: node.summary(showingText: false),
                expected: "a map with " + SettingNames.enumerate(keys), advice: advice)
        }
        return []
    }

    /// The meaning of an entry of the map below `prefix`; nil, and refused, if it has none.
    @inline(never)
    func meaning(of entry: SettingNode.Entry, below prefix: String, _ reader: inout SettingsReader) -> Meaning? {
        let name = prefix + entry.key
        if let index = index(of: name) { return .setting(index) }
        if let index = shortKeys.firstIndex(of: name) { return .short(index) }
        if names.contains(where: { $0.hasPrefix(name + ".") }) { return .map(name + ".") }
        refuse(entry, below: prefix, &reader)
        return nil
    }

    @inline(never)
    func index(of name: String) -> Int? { names.firstIndex(of: name) }

    /// The valid keys of the map below `prefix`.
    @inline(never)
    func keys(below prefix: String) -> [String] {
        var keys: [String] = []
        for name in names where name.hasPrefix(prefix) {
            let key = String(name.dropFirst(prefix.count).prefix { $0 != "." })
            if keys.last != key { keys.append(key) }
        }
        return keys
    }

    private func refuse(_ entry: SettingNode.Entry, below prefix: String, _ reader: inout SettingsReader) {
        let keys = keys(below: prefix) + (prefix.isEmpty ? shortKeys.compactMap(\.self) : [])
        if let level = root.level(of: entry) {
            reader.refuse(
                SettingsProblem(
                    at: entry.place, setting: reader.setting,
                    found: "\(SettingsProblem.quoted(entry.key)), which belongs \(level.place)",
                    advice: level.advice(for: entry.key)))
            return
        }
        let foreign = ForeignNames.name(for: prefix + entry.key, among: names)
        let isElsewhere = foreign == ForeignNames.block && !keys.contains(ForeignNames.block)
        let nearest =
            foreign
            ?? Nearest.name(to: entry.key, in: keys)
            ?? names.first { $0.split(separator: ".").last.map(String.init) == entry.key }
            ?? Nearest.name(to: entry.key, in: names)
        reader.refuse(
            SettingsProblem(
                at: entry.place, setting: reader.setting,
                found: "the unknown key \(SettingsProblem.quoted(entry.key))",
                expected: SettingNames.enumerate(keys), suggestion: nearest,
                advice: isElsewhere
                    ? SettingLevel.block.advice(for: ForeignNames.block)
                    : nearest == nil ? "`larder settings` lists them all" : nil))
    }

    private static func enumerate(_ keys: [String]) -> String {
        keys.count > 1 ? "one of " + keys.joined(separator: ", ") : keys.joined()
    }
}
