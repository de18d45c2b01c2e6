// SPDX-License-Identifier: Apache-2.0

package import ArgumentParser
import Glibc
import LarderProxy
package import LarderSettings
import LarderTransformers

/// The `larder` command: the daemon, and the commands that talk to a running one.
package struct Program: AsyncParsableCommand {
    /// The name in the usage: a daemon with services in Swift has its own.
    private static let name: String = {
        let given = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
        return isOwn && !given.isEmpty ? given : "larder"
    }()
    /// True if the program has services in Swift. The main thread writes it at the start, before other threads exist.
    private nonisolated(unsafe) static var isOwn = false

    package static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Keeps your APIs at hand: a caching HTTP proxy for this machine.",
        discussion: """
            Exit status: 0 when the command did what it says, 1 when it could not, 2 when nothing matched, 64 when it \
            was not understood.

            Start with `larder serve`, then `curl http://localhost:3128/https/example.com/`.
            """,
        version: "larder \(LarderVersion.description)",
        groupedSubcommands: [
            CommandGroup(
                name: "Daemon",
                subcommands: [
                    Serve.self, Check.self, Reload.self, SettingsCommand.self, PresetCommand.self, UserCommand.self,
                ]),
            CommandGroup(
                name: "Asking a running daemon",
                subcommands: [
                    StatusCommand.self, Top.self, Explain.self, List.self, Show.self, Get.self, HistoryCommand.self,
                    DiffCommand.self, Watch.self, Doctor.self, Support.self,
                ]),
            CommandGroup(
                name: "Changing what it stores",
                subcommands: [
                    Load.self, Cancel.self, Invalidate.self, Wipe.self, OverrideCommand.self, OfflineCommand.self,
                    VariableCommand.self, Warm.self, Pin.self, Unpin.self, Export.self, Import.self,
                ]),
            CommandGroup(
                name: "Having programs use it",
                subcommands: [Run.self, LaneArchives.self, Env.self, Trust.self, Untrust.self]),
        ])

    package init() {}

    /// The message for a word that is no command; nil for everything else.
    static func suggestion(for word: String?) -> String? {
        guard let word, !word.hasPrefix("-") else { return nil }
        let names = configuration.subcommands.map { $0._commandName } + ["help"]
        guard !names.contains(word) else { return nil }
        if ["stop", "restart", "quit", "shutdown", "kill"].contains(word) {
            return "'\(word)' is no command; the daemon ends with Ctrl-C where it runs, or with "
                + "`systemctl \(word == "restart" ? word : "stop") larder`; `larder reload` has it read its configuration"
        }
        let meant = synonyms[word] ?? Nearest.name(to: word, in: names)
        return "'\(word)' is no command; \(meant.map { "did you mean `larder \($0)`? " } ?? "")"
            + "`larder --help` lists them all"
    }

    /// Names that other programs have for these commands.
    private static let synonyms = [
        "ls": "list", "purge": "wipe", "rm": "wipe", "delete": "wipe", "clear": "wipe", "clean": "wipe", "cat": "get",
        "fetch": "get", "curl": "get", "start": "serve", "daemon": "serve", "validate": "check", "test": "check",
        "stats": "status", "config": "settings", "refresh": "load", "exec": "run", "log": "watch", "logs": "watch",
        "tail": "watch", "why": "explain", "users": "user", "htpasswd": "user", "passwd": "user",
    ]

    /// The command line as the parser reads it: with `--` in front of the command of `larder run`.
    static func arguments(_ given: [String]) -> [String] {
        guard let first = given.first else { return given }
        if given.count == 1, ["-v", "-V", "version"].contains(first) { return ["--version"] }
        return first == "run" ? [first] + Run.separated(Array(given.dropFirst())) : given
    }

    /// The text at the end of a command in the form of all messages: `larder: …`, and headings as they are written.
    static func message(_ text: String) -> String {
        let start = "Error: "
        let words = text.hasPrefix(start) ? "larder: " + text.dropFirst(start.count) : text
        return words.replacing(" SUBCOMMANDS:\n", with: ":\n")
    }

    /// The exit status of a command that ended with `error`.
    static func status(of error: any Error) -> ExitCode {
        (error as? CommandFailure).map { ExitCode($0.exitStatus) } ?? exitCode(for: error)
    }

    /// Says why the command ended, and exits.
    private static func end(with error: any Error) -> Never {
        let code = status(of: error)
        let text = message(fullMessage(for: error))
        if code == .success, !text.isEmpty {
            Terminal.write(text + "\n")
            if let failure = Terminal.writeFailure { end(with: failure) }
        }
        if code != .success, !text.isEmpty { Terminal.writeError(text) }
        Glibc.exit(code.rawValue)
    }

    /// Runs the command line, in a program that supplies services.
    package static func run(declaring services: [DeclaredService] = []) async {
        isOwn = !services.isEmpty
        OpenFiles.openStandard()
        // The daemon starts its own program as a jq worker too; that is not a command for people.
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == JQWorker.argument { Glibc.exit(JQWorker.run(Array(arguments.dropFirst()))) }
        let given = Program.arguments(Array(arguments))
        JQWorker.announce()
        do {
            switch try parseAsRoot(given) {
            case let serve as Serve: try await serve.run(declaring: services)
            case let check as Check: try check.run(declaring: services)
            case var command as any AsyncParsableCommand: try await command.run()
            case var command: try command.run()
            }
            if let failure = Terminal.writeFailure { throw failure }
        } catch {
            // Not before: the names of all commands are made of their types' names, which takes a fifth of a start.
            let word = given.first == "help" ? given.dropFirst().first : given.first
            guard let suggestion = Program.suggestion(for: word) else { end(with: error) }
            Terminal.writeError("larder: \(suggestion)")
            Glibc.exit(ExitCode.validationFailure.rawValue)
        }
    }
}
