// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import LarderAdmin
import LarderSettings

/// `larder settings`
struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "List the settings: what each may be, its default and what it means.")

    @Argument(help: "Only those whose name contains this text.")
    var name: String?

    @Flag(help: "Print the reference page (docs/configuration.md).")
    var markdown = false

    @Flag(help: "Print a JSON Schema for editors (etc/larder.schema.json).")
    var jsonSchema = false

    @Flag(help: "Print the list as JSON.")
    var json = false

    func validate() throws {
        let alone = [("--markdown", markdown), ("--json-schema", jsonSchema)].filter(\.1)
        guard let (first, _) = alone.first else { return }
        if alone.count > 1 || json || name != nil { throw ValidationError("\(first) prints the whole: use it alone") }
    }

    func run() throws {
        if markdown { return Terminal.write(SettingsReference.markdown) }
        if jsonSchema { return Terminal.write(SettingsSchema.json.pretty) }
        let settings = SettingsReference.flat.filter { setting in
            guard let name = name?.lowercased() else { return true }
            return [setting.name, setting.shortKey ?? ""].contains { $0.lowercased().contains(name) }
        }
        guard !settings.isEmpty else {
            throw CommandFailure(
                "no setting is called \(SettingsProblem.quoted(name ?? ""))",
                advice: Nearest.name(to: name ?? "", in: SettingsReference.flat.map(\.name)).map {
                    "did you mean `\($0)`?"
                }, exitStatus: CommandFailure.nothingMatched)
        }
        if json { return Terminal.write(SettingsReference.json(settings) + "\n") }
        Terminal.write(SettingsReference.text(settings, width: Terminal.width))
    }
}
