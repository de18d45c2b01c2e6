// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
import Glibc
package import LarderProxy
import LarderTransformers

/// The `larder` command: the daemon, and the commands that talk to a running one.
package struct Program: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract: "Keeps your APIs at hand: a caching HTTP proxy for this machine.",
        discussion: """
            Exit status: 0 when the command did what it says, 1 when it could not, 2 when nothing matched, 64 when it \
            was not understood.

            Start with `larder serve`, then `curl http://localhost:3128/https/example.com/`.
            """,
        version: "larder \(LarderVersion.current)",
        groupedSubcommands: [
            CommandGroup(
                name: "Daemon",
                subcommands: [Serve.self, Check.self, Reload.self, SettingsCommand.self, PresetCommand.self]),
            CommandGroup(
                name: "Asking a running daemon",
                subcommands: [
                    StatusCommand.self, Top.self, Explain.self, List.self, Show.self, Get.self, Watch.self, Doctor.self,
                ]),
            CommandGroup(
                name: "Changing what it stores",
                subcommands: [
                    Load.self, Cancel.self, Invalidate.self, Wipe.self, OverrideCommand.self, OfflineCommand.self,
                    VariableCommand.self, Warm.self,
                ]),
            CommandGroup(
                name: "Having programs use it",
                subcommands: [Run.self, LaneArchives.self, Env.self, Trust.self, Untrust.self]),
        ])

    package init() {}

    /// The suggestion for a word that is nearly a command; nil for everything else.
    static func suggestion(for word: String?) -> String? {
        guard let word, !word.hasPrefix("-") else { return nil }
        let names = configuration.subcommands.map { $0._commandName } + ["help"]
        guard !names.contains(word), let nearest = Nearest.name(to: word, in: names) else { return nil }
        return "'\(word)' is no command; did you mean `larder \(nearest)`? `larder --help` lists them all."
    }

    /// Runs the command line, in a program that supplies services.
    package static func run(declaring services: [DeclaredService] = []) async {
        // The daemon starts its own program as a jq worker too; that is not a command for people.
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == JQWorker.argument { Glibc.exit(JQWorker.run(Array(arguments.dropFirst()))) }
        if let suggestion = Program.suggestion(for: arguments.first) {
            Terminal.writeError("larder: \(suggestion)")
            Glibc.exit(ExitCode.validationFailure.rawValue)
        }
        JQWorker.announce()
        do {
            switch try parseAsRoot() {
            case let serve as Serve: try await serve.run(declaring: services)
            case let check as Check: try check.run(declaring: services)
            case var command as any AsyncParsableCommand: try await command.run()
            case var command: try command.run()
            }
        } catch {
            exit(withError: error)
        }
    }
}
