// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// Services supplied by the program. They are inserted like services of a file: files and options override them, and
/// all services are checked alike.
extension SettingsLoader {
    func declaring(in tree: SettingNode?) -> SettingNode? {
        declared.reduce(tree) { tree, service in
            var values = [("baseURL", service.baseURL)]
            if let mount = service.mount { values.append(("mount", mount)) }
            return values.reduce(tree) { tree, value in
                let text = SettingNode(.scalar(SettingNode.Scalar(text: value.1, isQuoted: true)), at: .nowhere)
                // The reader reports a value that is not a map.
                return SettingNode.setting(
                    ["services", service.name, value.0], to: text, at: .nowhere, in: tree, overwrites: false
                ).node
            }
        }
    }

    func declare(in settings: inout Settings) {
        for service in declared {
            guard let index = settings.services.firstIndex(where: { $0.name == service.name }) else { continue }
            settings.services[index].declare = service.configure
        }
    }

    /// Names that the program has given to several services: one of them would never be asked for its configuration.
    var namesakes: [SettingsProblem] {
        var names: Set<String> = []
        return declared.filter { !names.insert($0.name.lowercased()).inserted }.map { service in
            SettingsProblem(
                at: .nowhere, setting: "services.\(service.name)",
                found: "two services of the program with this name", expected: "a name for each",
                advice: "change the `name` of one `DaemonService`")
        }
    }
}
