// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import LarderSettings

/// `larder preset`
struct PresetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preset", abstract: "Show the presets: services in one line, for what many people use.",
        discussion: "In the configuration: `services: { pypi: { preset: pypi } }`.",
        subcommands: [PresetList.self, PresetShow.self], defaultSubcommand: PresetList.self)
}

/// `larder preset list`
struct PresetList: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "list", abstract: "Say which presets there are.")

    @Flag(help: "Print the list as JSON.")
    var json = false

    func run() {
        if json {
            let presets = Preset.all.map { preset in
                ShownValue.map([
                    ("name", .text(preset.name)), ("version", .number(preset.version)), ("about", .text(preset.about)),
                ])
            }
            return Terminal.write(ShownValue.list(presets).json + "\n")
        }
        let width = Preset.all.map(\.name.count).max() ?? 0
        for preset in Preset.all {
            let padding = String(repeating: " ", count: width - preset.name.count + 2)
            Terminal.write(
                SettingsReference.wrap(
                    preset.about, after: preset.name + padding, width: Terminal.width ?? 1_000, indent: width + 2))
        }
    }
}

/// `larder preset show`
struct PresetShow: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Print a preset: what its clients are told, and its settings.")

    @Argument(help: "The preset.", completion: .list(Preset.all.map(\.name)))
    var name: String

    @Flag(help: "Print the YAML file alone.")
    var yaml = false

    func run() throws {
        guard let preset = Preset.named(name) else {
            throw CommandFailure(
                "no preset is called \(SettingsProblem.quoted(name))",
                advice: Preset.name(near: name).map { "did you mean `\($0)`?" }
                    ?? "`larder preset list` names them all", exitStatus: CommandFailure.nothingMatched)
        }
        if yaml { return Terminal.write(preset.text) }
        let token = preset.token == nil ? "" : ", token: \"${TOKEN}\""
        let base = preset.service.contains { $0.key == "baseURL" } ? "" : ", baseURL: \"https://registry.example.com/\""
        Terminal.write(
            """
            \(preset.name), version \(preset.version): \(preset.about)

            In the configuration\(token.isEmpty ? "" : ", the token only where all use the same one"):

              services:
                \(preset.name): { preset: \(preset.name)\(base)\(token) }

            For the clients:

            \(preset.paste.split(separator: "\n", omittingEmptySubsequences: false).map { $0.isEmpty ? "" : "  \($0)" }
                .joined(separator: "\n"))
            Its settings (`larder check --show` prints what they come to):

            \(preset.text.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n"))

            """)
    }
}
