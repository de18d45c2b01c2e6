// SPDX-License-Identifier: Apache-2.0

/// The catalogue as text for a terminal and as JSON; `SettingsReference+Page.swift` has the page.
package enum SettingsReference {
    /// Every setting under its full name: `services.<name>.configure[].match`.
    package static var flat: [SettingDescription] { flatten(SettingsCatalogue.descriptions, below: "") }

    /// The list for a terminal.
    ///
    /// - Parameter width: the line width in characters; nil for the usual one.
    package static func text(_ settings: [SettingDescription], width: Int? = nil) -> String {
        func wrap(_ text: String) -> String {
            SettingsReference.wrap(text, after: "    ", width: min(width ?? 96, 96), indent: 4)
        }
        return settings.map { setting in
            let facts = facts(of: setting).map { "\($0.name): \($0.value)" }
            return "\(setting.name)\n"
                + wrap(facts.joined(separator: "; ").replacing("`", with: "") + ".")
                + wrap(setting.text.replacing("`", with: ""))
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

    /// `text` in lines of at most `width` characters: the first begins with `start`, the others are indented.
    package static func wrap(_ text: String, after start: String, width: Int, indent: Int) -> String {
        var lines: [String] = []
        var line = start
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = String(repeating: " ", count: indent)
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return (lines + [line]).joined(separator: "\n") + "\n"
    }
}
