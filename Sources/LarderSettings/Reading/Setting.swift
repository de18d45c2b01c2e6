// SPDX-License-Identifier: Apache-2.0

package import Larder

/// The result of reading a map of settings; a new one has the defaults.
package protocol SettingsRoot: Sendable {
    init()

    /// The level that an unknown key belongs to; nil if no other level has it.
    static func level(of entry: SettingNode.Entry) -> SettingLevel?
}

extension SettingsRoot {
    package static func level(of entry: SettingNode.Entry) -> SettingLevel? { nil }
}

/// One setting: its name, its allowed values, its default, and its meaning.
///
/// The daemon's parsing, help, reference page and admin dump of its settings are all derived from these values.
package struct Setting<Root: SettingsRoot>: Sendable {
    /// The dotted path within its section.
    package let name: String
    package private(set) var about: SettingDescription
    let read: @Sendable (SettingNode, inout Root, inout SettingsReader) -> Void
    let show: @Sendable (Root) -> ShownValue
    /// Copies the setting from the first to the second.
    let copy: @Sendable (Root, inout Root) -> Void
    /// The value that a configuration has, in the words of `larder explain`; nil if the setting has no value there.
    package private(set) var explain: (@Sendable (Configuration) -> String)?
    /// Reads a value of the short key.
    let readShort: (@Sendable (SettingNode, inout Root, inout SettingsReader) -> Void)?

    /// Declares the setting at `path`. `initially` describes the default in words when it depends on something;
    /// otherwise the default is the value in a new `Root`.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ kind: SettingKind<Value>,
        initially: String? = nil, isRequired: Bool = false, needsRestart: Bool = false,
        short: ShortKey<Value>? = nil, inside: [SettingDescription] = [], _ text: String
    ) {
        self.name = name
        let shown = kind.show(Root()[keyPath: path])
        about = SettingDescription(
            name: name, type: kind.name, bounds: kind.bounds, unit: kind.unit, shown: shown, initially: initially,
            isRequired: isRequired, needsRestart: needsRestart, shortKey: short?.key, text: text, inside: inside)
        func reading(
            _ kind: SettingKind<Value>
        ) -> @Sendable (SettingNode, inout Root, inout SettingsReader) -> Void {
            { node, root, reader in
                if let value = kind.read(node, &reader) { root[keyPath: path] = value }
            }
        }
        read = reading(kind)
        readShort = short.map { reading($0.kind) }
        show = { kind.show($0[keyPath: path]) }
        copy = { $1[keyPath: path] = $0[keyPath: path] }
    }

    /// The same for an optional setting.
    init<Value>(
        _ name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ kind: SettingKind<Value>,
        initially: String? = nil, isRequired: Bool = false, needsRestart: Bool = false,
        short: ShortKey<Value>? = nil, inside: [SettingDescription] = [], _ text: String
    ) {
        self.init(
            name, path, kind.optional, initially: initially, isRequired: isRequired, needsRestart: needsRestart,
            short: short.map { ShortKey(key: $0.key, kind: $0.kind.optional) }, inside: inside, text)
    }
}

/// A second key for a setting, whose values are short for values of the setting.
struct ShortKey<Value: Sendable>: Sendable {
    let key: String
    let kind: SettingKind<Value>
}

extension Setting {
    /// The same setting, whose value in a configuration `explain` words.
    func explained(_ explain: @escaping @Sendable (Configuration) -> String) -> Setting {
        var setting = self
        setting.explain = explain
        return setting
    }
}

extension Setting {
    /// The same setting, for which a program writes `text`, in Markdown.
    func inSwift(_ text: String) -> Setting {
        var setting = self
        setting.about.inSwift = text
        return setting
    }
}

extension Setting where Root == ConfigureBlock {
    /// Declares the setting of a block that sets the property of the configuration at `path`.
    init<Value: Sendable>(
        _ name: String, sets path: any WritableKeyPath<Configuration, Value> & Sendable, _ kind: SettingKind<Value>,
        initially: String? = nil, inside: [SettingDescription] = [], _ text: String
    ) {
        self.init(
            name, \ConfigureBlock[dynamicMember: path], kind, initially: initially, inside: inside, text)
        explain = { kind.show($0[keyPath: path]).words }
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
    /// True if a reload applies it; otherwise a restart is necessary.
    package var isReloadable: Bool
    /// A second key, for values that the text describes; nil for most settings.
    package var shortKey: String?
    package var text: String
    /// The settings within a map or a list, with names relative to one of its elements.
    package var inside: [SettingDescription]
    /// The Swift that says the same for a service of a program; nil if only files have the setting.
    package var inSwift: String?
}

extension SettingDescription {
    /// `shown` is the default, which `initially` describes in words.
    @inline(never)
    fileprivate init(
        name: String, type: String, bounds: String?, unit: String?, shown: ShownValue, initially: String?,
        isRequired: Bool, needsRestart: Bool, shortKey: String?, text: String, inside: [SettingDescription]
    ) {
        self.init(
            name: name, type: type, bounds: bounds, unit: unit,
            initially: isRequired ? "required" : initially ?? shown.asDefault,
            isInitiallyInWords: isRequired || initially != nil || shown.isEmpty, isRequired: isRequired,
            isReloadable: !needsRestart, shortKey: shortKey, text: text, inside: inside)
    }
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

    /// The value in the words of `larder explain`.
    fileprivate var words: String {
        switch self {
        case .text(let text): text
        case .list(let values) where !values.isEmpty: values.map(\.words).joined(separator: ", ")
        case _ where isEmpty: "nothing"
        default: yaml
        }
    }
}
