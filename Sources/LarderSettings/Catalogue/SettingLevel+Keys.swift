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
        let settings: [SettingDescription]
        switch self {
        case .top: settings = SettingsCatalogue.root.descriptions
        case .service: settings = SettingsCatalogue.service.descriptions
        case .block: settings = SettingsCatalogue.configure.descriptions
        case .services: settings = []
        }
        return Set(settings.map { String($0.name.prefix { $0 != "." }) } + settings.compactMap(\.shortKey))
    }
}

extension SettingNode.Entry {
    /// True if the value has what makes a service.
    fileprivate var isService: Bool {
        guard case .map(let entries) = value.content else { return false }
        return entries.contains { ["baseURL", "preset"].contains($0.key) }
    }
}
