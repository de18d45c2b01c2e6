// SPDX-License-Identifier: Apache-2.0

extension Settings: SettingsRoot {
    package static func level(of entry: SettingNode.Entry) -> SettingLevel? {
        SettingLevel.first(of: [.service, .block], having: entry) ?? (entry.isService ? .services : nil)
    }
}

extension ServiceSettings: SettingsRoot {
    package static func level(of entry: SettingNode.Entry) -> SettingLevel? {
        SettingLevel.first(of: [.block, .top], having: entry)
    }
}

extension ConfigureBlock: SettingsRoot {
    package static func level(of entry: SettingNode.Entry) -> SettingLevel? {
        SettingLevel.first(of: [.service, .top], having: entry)
    }
}

extension SettingLevel {
    fileprivate static func first(of levels: [SettingLevel], having entry: SettingNode.Entry) -> SettingLevel? {
        levels.first { $0.keys.contains(entry.key) }
    }

    private var keys: Set<String> {
        let names: [String]
        switch self {
        case .top: names = SettingsCatalogue.root.settings.map(\.name)
        case .service: names = SettingsCatalogue.service.settings.map(\.name)
        case .block: names = SettingsCatalogue.configure.settings.map(\.name)
        case .services: names = []
        }
        return Set(names.map { String($0.prefix { $0 != "." }) })
    }
}

extension SettingNode.Entry {
    /// Whether the value has what makes a service.
    fileprivate var isService: Bool {
        guard case .map(let entries) = value.content else { return false }
        return entries.contains { ["baseURL", "preset"].contains($0.key) }
    }
}
