// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder status`
struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Say how the daemon is doing: hits, misses, sizes, and what is wrong.")

    @Flag(help: "Print everything the daemon says of itself.")
    var all = false

    @OptionGroup var client: ClientOptions

    func run() throws {
        try client.perform(.get, "/-/status", text: all ? StatusText.whole : StatusText.text)
    }
}

/// `larder explain`
struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Say why a URL is or is not answered from the cache.",
        discussion: """
            Which service and blocks apply, what is stored, until when, and what to change to get another outcome. \
            Fields are tried without asking the origin: larder explain -H 'Cache-Control: no-cache' URL. For a host \
            and port, as example.com:443, it is about the tunnel that CONNECT would open.
            """)

    @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
    var url: String

    @Option(
        name: [.customShort("X"), .customLong("method")],
        help: ArgumentHelp("The method of the request (default: GET).", valueName: "method"))
    var method: String?

    @OptionGroup var request: RequestHeaders

    @Option(help: ArgumentHelp("The user who asks, where a service has `identity: [user]`.", valueName: "name"))
    var user: String?

    @OptionGroup var client: ClientOptions

    func run() throws {
        let method = method.map { [("method", $0)] } ?? []
        // A host and port without a path is a tunnel's.
        let isTunnel = url.contains(":") && !url.contains("/")
        let meant = isTunnel ? url : Diagnosis.meantURL(url)
        let user = user.map { [("user", $0)] } ?? []
        try client.performInWords("/-/explain", [("url", meant)] + method + request.parameters + user)
    }
}

/// The fields of the request that a command is about.
struct RequestHeaders: ParsableArguments {
    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A field of the request, as `-H 'Accept: text/html'`.", valueName: "name: value"))
    var headers: [String] = []

    var parameters: [(String, String)] { headers.map { ("header", $0) } }

    func validate() throws {
        for header in headers where !header.contains(":") || header.first == ":" {
            throw ValidationError("found the field '\(header)'; expected 'Name: value'")
        }
    }
}

/// `larder show`
struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Show everything about one resource.",
        discussion: "Exit status 2 when nothing is stored for it.")

    @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
    var url: String

    @OptionGroup var client: ClientOptions

    func run() throws {
        try CommandFailure.orNothing {
            try client.perform(.get, "/-/resources", [("url", Diagnosis.meantURL(url))], text: Show.text)
        }
    }

    /// The latest error is the failure, where there is one.
    static func text(_ answer: JSONValue, _ style: TextStyle) -> String {
        guard var object = answer.object, let failure = object["failure"], failure == object["latestError"] else {
            return Outline.text(answer, style)
        }
        object["failure"] = nil
        return Outline.text(.object(object), style)
    }
}
