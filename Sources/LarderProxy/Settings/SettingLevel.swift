// SPDX-License-Identifier: Apache-2.0

/// The places of a configuration that have settings, for keys that are written in another one.
enum SettingLevel {
    case top, service, block
    /// The key is the name of a service, without `services` above it.
    case services

    /// The level that an unknown key of a `Root` belongs to; nil if no other level has it.
    static func meant(by entry: SettingNode.Entry, in root: any SettingsRoot.Type) -> SettingLevel? {
        let levels: [SettingLevel]
        switch root {
        case is Settings.Type: levels = [.service, .block]
        case is ServiceSettings.Type: levels = [.block, .top]
        case is ConfigureBlock.Type: levels = [.service, .top]
        default: return nil
        }
        if let level = levels.first(where: { $0.keys.contains(entry.key) }) { return level }
        return root is Settings.Type && entry.isService ? .services : nil
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

    /// A clause that follows "which belongs".
    var place: String {
        switch self {
        case .top: "at the top of the file"
        case .service: "in a service, under `services`"
        case .block: "in a block of a service's `configure`"
        case .services: "under `services`"
        }
    }

    func advice(for key: String) -> String {
        switch self {
        case .top: "move it to the first column"
        case .service: "write `services: { NAME: { \(key): … } }`"
        case .block: "write `services: { NAME: { configure: [ { \(key): … } ] } }`"
        case .services: "write `services: { \(key): { … } }`"
        }
    }
}

extension SettingNode.Entry {
    /// Whether the value has what makes a service.
    fileprivate var isService: Bool {
        guard case .map(let entries) = value.content else { return false }
        return entries.contains { ["baseURL", "preset"].contains($0.key) }
    }
}
