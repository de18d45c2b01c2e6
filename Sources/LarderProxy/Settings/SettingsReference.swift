// SPDX-License-Identifier: Apache-2.0

/// What the catalogue says, as pages for people and as JSON.
package enum SettingsReference {
    /// Every setting under its full name: `services.<name>.configure[].match`.
    package static var flat: [SettingDescription] { flatten(SettingsCatalogue.descriptions, below: "") }

    /// The page `docs/configuration.md`.
    package static var markdown: String {
        var page = """
            <!-- Written by `larder settings --markdown`; change the catalogue, not this page. -->
            # Configuration

            Larder reads one YAML file: the one that `larder serve --config FILE` names, else
            `/etc/larder/larder.yaml` if it is there. `larder serve --set KEY=VALUE` sets one key over the file; KEY is
            a name from this page and VALUE is YAML. `larder check FILE` says what is wrong with a file without
            starting, and SIGHUP (`systemctl reload larder`) has a running daemon read it again; a file with a
            mistake changes nothing, and what takes a restart waits for it.

            Durations and sizes carry their unit: `500 ms`, `30 s`, `10 min`, `1 h`, `1 day`; `64 KiB`, `256 MiB`,
            `10 GiB`. `${NAME}` in a value stands for an environment variable and `${file:/path}` for what a file
            holds; a relative path is below `$CREDENTIALS_DIRECTORY`. `$${` stands for `${` itself.


            """
        var section = ""
        for setting in flat {
            let title = heading(of: setting.name)
            if title != section {
                section = title
                page += "## \(title)\n\n"
            }
            page += "### `\(setting.name)`\n\n\(setting.text)\n\n"
            page += facts(of: setting).map { "- \($0.name): \($0.value)\n" }.joined() + "\n"
        }
        return String(page.dropLast())
    }

    /// The list for a terminal.
    package static func text(_ settings: [SettingDescription]) -> String {
        settings.map { setting in
            let facts = facts(of: setting).map { "\($0.name): \($0.value.replacing("`", with: ""))" }
            return "\(setting.name)\n"
                + wrap(facts.joined(separator: "; ") + ".", margin: "    ")
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

    private static func flatten(_ settings: [SettingDescription], below prefix: String) -> [SettingDescription] {
        settings.flatMap { setting in
            var whole = setting
            whole.name = prefix + setting.name
            whole.inside = []
            let separator = setting.name == "services" ? ".<name>." : "[]."
            return [whole] + flatten(setting.inside, below: whole.name + separator)
        }
    }

    private static func heading(of name: String) -> String {
        if name.hasPrefix("services.<name>.configure[]") { return "Blocks" }
        if name.hasPrefix("services") { return "Services" }
        let first = name.prefix { $0 != "." }
        return first.count == name.count ? "Process" : first.prefix(1).uppercased() + first.dropFirst()
    }

    private static func facts(of setting: SettingDescription) -> [(name: String, value: String)] {
        var facts: [(name: String, value: String)] = [("type", setting.type)]
        if let bounds = setting.bounds { facts.append((setting.type == "word" ? "one of" : "bounds", bounds)) }
        if let unit = setting.unit { facts.append(("units", unit)) }
        facts.append(("default", setting.isInitiallyInWords ? setting.initially : "`\(setting.initially)`"))
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
