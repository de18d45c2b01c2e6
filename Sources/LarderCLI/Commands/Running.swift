// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
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
