// SPDX-License-Identifier: Apache-2.0

/// The catalogue as text for a terminal and as JSON; `SettingsReference+Page.swift` has the page.
package enum SettingsReference {
    /// Every setting under its full name: `services.<name>.configure[].match`.
    package static var flat: [SettingDescription] { flatten(SettingsCatalogue.descriptions, below: "") }

    /// The list for a terminal.
    package static func text(_ settings: [SettingDescription]) -> String {
        settings.map { setting in
            let facts = facts(of: setting).map { "\($0.name): \($0.value)" }
            return "\(setting.name)\n"
                + wrap(facts.joined(separator: "; ").replacing("`", with: "") + ".", margin: "    ")
                + wrap(setting.text.replacing("`", with: ""), margin: "    ")
        }.joined(separator: "\n")
    }

    package static func json(_ settings: [SettingDescription]) -> String {
        ShownValue.list(
            settings.map { setting in
                var fields: [(name: String, value: ShownValue)] = [
                    ("name", .text(setting.name)), ("type", .text(setting.type)),
                ]
                if let unit = setting.unit { fields.append(("unit", .text(unit))) }
                if let bounds = setting.bounds { fields.append(("bounds", .text(bounds))) }
                fields += [
                    ("default", .text(setting.initially)), ("required", .flag(setting.isRequired)),
                    ("reloadable", .flag(setting.isReloadable)), ("text", .text(setting.text)),
                ]
                return .map(fields)
            }
        ).json
    }

    static func flatten(_ settings: [SettingDescription], below prefix: String) -> [SettingDescription] {
        settings.flatMap { setting in
            var whole = setting
            whole.name = prefix + setting.name
            whole.inside = []
            let separator =
                setting.name == "services" || setting.name == "variables"
                ? ".<name>." : setting.type.hasPrefix("list") ? "[]." : "."
            return [whole] + flatten(setting.inside, below: whole.name + separator)
        }
    }

    private static func facts(of setting: SettingDescription) -> [(name: String, value: String)] {
        var facts: [(name: String, value: String)] = [("type", setting.type)]
        if let bounds = setting.bounds { facts.append((setting.type == "word" ? "one of" : "bounds", bounds)) }
        if let unit = setting.unit { facts.append(("units", unit)) }
        facts.append(("default", setting.initially))
        if !setting.isReloadable { facts.append(("to change it", "restart the daemon")) }
        return facts
    }

    /// `text` in lines of at most 96 characters.
    private static func wrap(_ text: String, margin: String) -> String {
        var lines: [String] = [margin]
        for word in text.split(separator: " ") {
            if lines[lines.count - 1].count + word.count > 96, lines[lines.count - 1] != margin { lines.append(margin) }
            lines[lines.count - 1] += (lines[lines.count - 1] == margin ? "" : " ") + word
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
