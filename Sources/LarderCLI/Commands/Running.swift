// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Larder

/// `larder env`
struct Env: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "env", abstract: "Print the proxy variables for a shell.",
        discussion: """
            eval "$(larder env)"                     in sh, bash, zsh
            larder env --shell fish | source         in fish

            http is cached; https passes through a tunnel that nobody looks into. To have https cached, programs call \
            the gateway: http://localhost:3128/https/example.com/.
            """)

    @Option(help: ArgumentHelp("The shell: sh or fish (default: by $SHELL).", valueName: "shell"))
    var shell: ProxyVariables.Shell?

    @OptionGroup var client: ClientOptions

    func run() throws {
        let environment = ProcessInfo.processInfo.environment
        let variables = try client.proxyVariables(environment)
        if client.json { return Terminal.write(variables.json.description + "\n") }
        let isFish = environment["SHELL"]?.hasSuffix("/fish") ?? false
        Terminal.write(variables.text(for: shell ?? (isFish ? .fish : .sh)))
    }
}

extension ProxyVariables.Shell: ExpressibleByArgument {}

/// `larder run`
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a command with its proxy variables set.",
        discussion: """
            larder run -- curl http://example.com/

            The command takes this one's place, and its exit status is what it says; 127 when there is no such \
            command, 126 when it cannot be run.
            """)

    @Option(help: "The daemon's Unix socket (default: this user's daemon, else the system's).")
    var socket: String?

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The command and its arguments.", valueName: "command"))
    var command: [String] = []

    func validate() throws {
        if command.isEmpty {
            throw ValidationError("name a command after --, as `larder run -- curl http://example.com/`")
        }
    }

    func run() throws {
        var client = ClientOptions()
        client.socket = socket
        client.json = false
        let environment = ProcessInfo.processInfo.environment
        for variable in try client.proxyVariables(environment).values { setenv(variable.name, variable.value, 1) }
        var arguments = command.map { strdup($0) }
        arguments.append(nil)
        execvp(command[0], arguments)
        // Only a failure comes back.
        let code = errno
        for argument in arguments { free(argument) }
        Terminal.writeError("larder: cannot run \(command[0]): \(String(cString: strerror(code)))")
        throw ExitCode(code == ENOENT ? 127 : 126)
    }
}
