// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import LarderProxy
import LarderTransformers

/// The `larder` command: the daemon, and the commands that talk to a running one.
@main
struct Program: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "larder",
        abstract: "Keeps your APIs at hand: a caching HTTP proxy for this machine.",
        discussion: """
            Exit status: 0 when the command did what it says, 1 when it could not, 64 when it was not understood.

            Start with `larder serve`, then `curl http://localhost:3128/https/example.com/`.
            """,
        version: "larder \(LarderVersion.current)",
        groupedSubcommands: [
            CommandGroup(name: "Daemon", subcommands: [Serve.self, Check.self, SettingsCommand.self]),
            CommandGroup(
                name: "Asking a running daemon",
                subcommands: [StatusCommand.self, Explain.self, List.self, Show.self]),
            CommandGroup(
                name: "Changing what it stores",
                subcommands: [Load.self, Invalidate.self, Wipe.self, OfflineCommand.self, VariableCommand.self]),
        ])

    /// The daemon starts this program as a jq worker too; that is no command for people.
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == JQWorker.argument { Glibc.exit(JQWorker.run(Array(arguments.dropFirst()))) }
        await main(nil)
    }
}
