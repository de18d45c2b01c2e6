// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import LarderSettings

/// `larder check`
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Say whether a configuration is valid, without starting.",
        discussion: """
            Every problem is a line `file:line:column: …` that says what was found and what was expected. Warnings are of \
            what is right by itself and cannot work: blocks that no request matches, programs and files that are not there.
            """)

    @Argument(
        help: "The configuration; `-` is standard input (default: the one that `larder serve` would read).",
        completion: .file(extensions: ["yaml", "yml"]))
    var file: String?

    @Option(
        help: ArgumentHelp("The configuration, as for `larder serve`.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Print the settings that would be in force, without secrets.")
    var show = false

    @Flag(help: "Print problems or settings as JSON.")
    var json = false

    @Flag(help: "Take warnings for problems.")
    var strict = false

    func validate() throws { _ = try ConfigurationOptions.file(file, config) }

    func run() throws { try run(declaring: []) }

    func run(declaring services: [DeclaredService]) throws {
        try Check.run(options.loader(file: file ?? config, declaring: services), show: show, json: json, strict: strict)
    }

    static func run(_ loader: SettingsLoader, show: Bool, json: Bool, strict: Bool = false) throws {
        do throws(SettingsProblems) {
            let loaded = try loader.load()
            if !loaded.absent.isEmpty { throw SettingsProblems(loaded.absent, warnings: loaded.warnings) }
            if strict, !loaded.warnings.isEmpty { throw SettingsProblems(loaded.warnings) }
            for note in loaded.notes { Terminal.writeError("note: \(note)") }
            if !json { for warning in loaded.warnings { Terminal.writeError("warning: \(warning)") } }
            let shown = SettingsCatalogue.show(loaded.settings)
            if json {
                let fields: [(name: String, value: ShownValue)] = [
                    ("file", loaded.file.map { .text($0) } ?? .nothing), ("problems", .list([])),
                    ("warnings", .list(loaded.warnings.map(\.shown))),
                    ("settings", shown),
                ]
                Terminal.write(ShownValue.map(fields).json + "\n")
            } else if show {
                Terminal.write(shown.yamlBlock)
            } else {
                Terminal.write(summary(loaded) + "\n")
            }
        } catch {
            if json {
                Terminal.write(
                    ShownValue.map([
                        ("problems", .list(error.problems.map(\.shown))), ("omitted", .number(error.omitted)),
                        ("warnings", .list(error.warnings.map(\.shown))),
                    ]).json + "\n")
            } else {
                for warning in error.warnings where !strict { Terminal.writeError("warning: \(warning)") }
                let all = strict ? error.problems + error.warnings : error.problems
                Terminal.writeError("\(SettingsProblems(all, omitted: error.omitted))")
            }
            throw ExitCode.failure
        }
    }

    private static func summary(_ loaded: SettingsLoader.Loaded) -> String {
        let services = Quantity.plural(loaded.settings.services.count, "service")
        let none = "no file (looked for \(loaded.searched.joined(separator: ", "))), the defaults"
        return "\(loaded.file.map(SourcePlace.shown) ?? none): valid, \(services)"
    }
}

extension SettingsProblem {
    fileprivate var shown: ShownValue {
        var fields: [(name: String, value: ShownValue)] = []
        switch place {
        case .file(let path, let line, let column):
            fields = [("file", .text(path)), ("line", .number(line)), ("column", .number(column))]
        case .option(let key, let line, let column):
            fields = [("option", .text(key)), ("line", .number(line)), ("column", .number(column))]
        case .environment(let name): fields = [("variable", .text(name))]
        case .wholeFile(let path): fields = [("file", .text(path))]
        case .nowhere: break
        }
        fields += [("setting", .text(setting)), ("found", .text(found))]
        for (name, text) in [("expected", expected), ("suggestion", suggestion), ("advice", advice)] {
            if let text { fields.append((name, .text(text))) }
        }
        return .map(fields)
    }
}
