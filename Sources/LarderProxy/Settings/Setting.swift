// SPDX-License-Identifier: Apache-2.0

/// The result of reading a map of settings; a new one has the defaults.
package protocol SettingsRoot: Sendable {
    init()
}

extension Settings: SettingsRoot {}
extension ServiceSettings: SettingsRoot {}
extension ConfigureBlock: SettingsRoot {}

/// One setting: its name, its allowed values, its default, and its meaning.
///
/// The daemon's parsing, help, reference page and admin dump of its settings are all derived from these values.
package struct Setting<Root: SettingsRoot>: Sendable {
    /// The dotted path within its section.
    package let name: String
    package let about: SettingDescription
    let read: @Sendable (SettingNode, inout Root, inout SettingsReader) -> Void
    let show: @Sendable (Root) -> ShownValue
    /// Copies the setting from the first to the second.
    let copy: @Sendable (Root, inout Root) -> Void

    /// Declares the setting at `path`. `initially` describes the default in words when it depends on something;
    /// otherwise that of a new `Root` is shown.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ kind: SettingKind<Value>,
        initially: String? = nil, isRequired: Bool = false, needsRestart: Bool = false,
        inside: [SettingDescription] = [], _ text: String
    ) {
        self.name = name
        let shown = kind.show(Root()[keyPath: path])
        about = SettingDescription(
            name: name, type: kind.name, bounds: kind.bounds, unit: kind.unit,
            initially: isRequired ? "required" : initially ?? shown.asDefault,
            isInitiallyInWords: isRequired || initially != nil || shown.isEmpty, isRequired: isRequired,
            isReloadable: !needsRestart, text: text, inside: inside)
        read = { node, root, reader in
            if let value = kind.read(node, &reader) { root[keyPath: path] = value }
        }
        show = { kind.show($0[keyPath: path]) }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
    }

    /// The same for an optional setting.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ kind: SettingKind<Value>,
        initially: String? = nil, isRequired: Bool = false, needsRestart: Bool = false,
        inside: [SettingDescription] = [], _ text: String
    ) {
        self.init(
            name, path, kind.optional, initially: initially, isRequired: isRequired, needsRestart: needsRestart,
            inside: inside, text)
    }
}

/// The description of a setting.
package struct SettingDescription: Sendable, Equatable {
    package var name: String
    package var type: String
    package var bounds: String?
    package var unit: String?
    /// The default, as it would be written or in words.
    package var initially: String
    package var isInitiallyInWords: Bool
    package var isRequired: Bool
    /// Whether a reload applies it; otherwise a restart is necessary.
    package var isReloadable: Bool
    package var text: String
    /// The settings within a map or a list, with names relative to one of its elements.
    package var inside: [SettingDescription]
}

extension ShownValue {
    fileprivate var isEmpty: Bool {
        switch self {
        case .nothing: true
        case .list(let values): values.isEmpty
        case .map(let entries): entries.isEmpty
        default: false
        }
    }

    fileprivate var asDefault: String { self == .nothing ? "not set" : isEmpty ? "empty" : yaml }
}

/// The settings in one map, with nested maps for the dots in their names.
package struct SettingsSection<Root: SettingsRoot>: Sendable {
    package let settings: [Setting<Root>]

    package init(_ settings: [Setting<Root>]) { self.settings = settings }

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
        let keys = keys(below: prefix)
        guard case .map(let entries) = node.content else {
            if node.isNull { return }
            reader.refuse(
                node, found: node.summary(showingText: false),
                expected: "a map with " + SettingsSection.enumerate(keys))
            return
        }
        for entry in reader.withoutRepetitions(entries) {
            let name = prefix + entry.key
            if let setting = settings.first(where: { $0.name == name }) {
                reader.within(entry.key, at: entry.place) { setting.read(entry.value, &root, &$0) }
            } else if settings.contains(where: { $0.name.hasPrefix(name + ".") }) {
                reader.within(entry.key, at: entry.place) { read(entry.value, below: name + ".", into: &root, &$0) }
            } else {
                refuse(entry, among: keys, &reader)
            }
        }
    }

    private func refuse(_ entry: SettingNode.Entry, among keys: [String], _ reader: inout SettingsReader) {
        if let level = SettingLevel.meant(by: entry, in: Root.self) {
            reader.refuse(
                SettingsProblem(
                    at: entry.place, setting: reader.setting,
                    found: "\(SettingsProblem.quoted(entry.key)), which belongs \(level.place)",
                    advice: level.advice(for: entry.key)))
            return
        }
        let nearest =
            Nearest.name(to: entry.key, in: keys)
            ?? settings.first { $0.name.split(separator: ".").last.map(String.init) == entry.key }?.name
            ?? Nearest.name(to: entry.key, in: settings.map(\.name))
        reader.refuse(
            SettingsProblem(
                at: entry.place, setting: reader.setting,
                found: "the unknown key \(SettingsProblem.quoted(entry.key))",
                expected: SettingsSection.enumerate(keys), suggestion: nearest,
                advice: nearest == nil ? "`larder settings` lists them all" : nil))
    }

    /// The valid keys of the map below `prefix`.
    private func keys(below prefix: String) -> [String] {
        var keys: [String] = []
        for setting in settings where setting.name.hasPrefix(prefix) {
            let key = String(setting.name.dropFirst(prefix.count).prefix { $0 != "." })
            if keys.last != key { keys.append(key) }
        }
        return keys
    }

    private func show(_ root: Root, below prefix: String) -> ShownValue {
        .map(
            keys(below: prefix).compactMap { key in
                let name = prefix + key
                if let setting = settings.first(where: { $0.name == name }) {
                    let value = setting.show(root)
                    return value == .nothing ? nil : (key, value)
                }
                let inner = show(root, below: name + ".")
                return inner == .map([]) ? nil : (key, inner)
            })
    }

    private static func enumerate(_ keys: [String]) -> String {
        keys.count > 1 ? "one of " + keys.joined(separator: ", ") : keys.joined()
    }
}
