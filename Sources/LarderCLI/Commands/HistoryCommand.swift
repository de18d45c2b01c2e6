// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder history`
struct HistoryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "List the versions of a URL's content that are kept.",
        discussion: """
            For services with `history: 5` or so in the configuration: when each version was first seen and when the \
            origin last sent or confirmed it, the latest first; * marks what is current. Exit status 2 when nothing is \
            known of the URL.
            """)

    @OptionGroup var asked: VersionOptions
    @OptionGroup var client: ClientOptions

    func run() throws {
        let answer = try asked.answer(client)
        let isEmpty = answer["versions"]?.array?.isEmpty ?? true
        if client.json || !isEmpty {
            client.show(answer) { VersionTable.text($0, $1, width: Terminal.width) }
        }
        guard isEmpty else { return }
        Terminal.writeError("larder: \(VersionOptions.nothing(of: answer))")
        throw ExitCode(CommandFailure.nothingMatched)
    }
}

/// The resource whose versions are asked for.
struct VersionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
    var url: String

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp(
            "A field that chooses a variant, or tells whose resource is meant, where a service tells clients apart.",
            valueName: "name: value"))
    var headers: [String] = []

    func answer(_ client: ClientOptions) throws -> JSONValue {
        try client.answer(.get, "/-/versions", parameters)
    }

    var parameters: [(name: String, value: String)] {
        [("url", Diagnosis.meantURL(url))] + headers.map { ("header", $0) }
    }

    static func nothing(of answer: JSONValue) -> String {
        "nothing is known of \(Outline.printable(answer["url"]?.string ?? "it")); it is kept from its next response on"
    }
}
