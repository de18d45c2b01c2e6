// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// Services supplied by the program, inserted like those of a file: files and options override them, and all are
/// checked alike.
extension SettingsLoader {
    func declaring(in tree: SettingNode?) -> SettingNode? {
        declared.reduce(tree) { tree, service in
            var values = [("baseURL", service.baseURL)]
            if let mount = service.mount { values.append(("mount", mount)) }
            return values.reduce(tree) { tree, value in
                filling(tree, ["services", service.name, value.0], with: value.1)
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

    /// `node` with a text at the end of the path, unless there is a value already.
    private func filling(_ node: SettingNode?, _ path: ArraySlice<String>, with text: String) -> SettingNode {
        guard let name = path.first else {
            return node ?? SettingNode(.scalar(SettingNode.Scalar(text: text, isQuoted: true)), at: .nowhere)
        }
        var entries: [SettingNode.Entry] = []
        switch node?.content {
        case .map(let existing): entries = existing
        case .list, .scalar:
            // The reader reports a value that is not a map.
            if let node, !node.isNull { return node }
        case nil: break
        }
        let index = entries.lastIndex { $0.key == name }
        let inner = filling(index.map { entries[$0].value }, path.dropFirst(), with: text)
        if let index {
            entries[index].value = inner
        } else {
            entries.append(SettingNode.Entry(key: name, place: .nowhere, value: inner))
        }
        return SettingNode(.map(entries), at: node?.place ?? .nowhere)
    }
}
