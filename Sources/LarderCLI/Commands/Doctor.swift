// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder doctor`
struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Find the first thing that keeps a URL from the cache, and its cure.",
        discussion: """
            Looks at the daemon, its store, the service and the configuration that apply, the origin as the daemon \
            reaches it, and whether its response may be stored and reused. The origin is asked once, and what it \
            says is stored. Exit status 1 when something is wrong.
            """)

    @Argument(help: ArgumentHelp("The URL, or a host with or without its port.", valueName: "url"))
    var url: String

    @OptionGroup var request: RequestHeaders

    @OptionGroup var client: ClientOptions

    func run() throws {
        let admin = try client.adminClient()
        let url = Diagnosis.meantURL(url)
        let diagnosis = try Diagnosis(of: url, headers: request.headers) { try admin.ask($0, $1) }
        Terminal.write(
            client.json
                ? diagnosis.json(of: url).description + "\n" : diagnosis.text(client.style, width: Terminal.width))
        if !diagnosis.isWell { throw ExitCode.failure }
    }
}
