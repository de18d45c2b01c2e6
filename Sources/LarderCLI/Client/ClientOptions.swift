// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Larder
import LarderAdmin
import LarderHTTP
import LarderSettings
import LarderUpstream

/// The options that name the socket of a daemon.
struct SocketOptions: ParsableArguments {
    @Option(help: "The daemon's Unix socket (default: $LARDER_SOCKET, else this user's daemon, else the system's).")
    var socket: String?

    @Option(
        help: ArgumentHelp("The daemon's configuration, whose `admin.socket` is meant.", valueName: "file"),
        completion: .file(extensions: ["yaml", "yml"]))
    var config: String?

    func validate() throws {
        if socket != nil, config != nil { throw ValidationError("name one daemon: --socket PATH or --config FILE") }
    }

    /// The path that an option or `LARDER_SOCKET` names; nil for the usual one.
    func named(_ environment: [String: String]) throws -> String? {
        if let socket { return socket }
        guard let config else { return environment["LARDER_SOCKET"].flatMap { $0.isEmpty ? nil : $0 } }
        return try SettingsLoader(file: config, overrides: [], environment: environment).namedSocket()
    }
}

/// The options that say which daemon is meant.
struct DaemonOptions: ParsableArguments {
    @OptionGroup var place: SocketOptions

    @Option(
        help: ArgumentHelp(
            "The daemon's address, for what only reads (default: $LARDER_URL, else http://localhost:3128 where the socket "
                + "is not this user's); with NAME:PASSWORD@ where it has users.", valueName: "url"))
    var url: String?
}

/// The options of the commands that print what a daemon answers.
struct ClientOptions: ParsableArguments {
    @OptionGroup var daemon: DaemonOptions

    @Flag(help: "Print the answer as JSON.")
    var json = false

    /// Sends a request and returns the response as JSON.
    func answer(
        _ method: LarderHTTP.Method, _ path: String, _ parameters: [(name: String, value: String)] = []
    ) throws -> JSONValue {
        try JSONValue(answer: try adminClient().send(method, AdminClient.target(path, parameters)))
    }

    /// Prints the result of `answer`, unchanged or through `text`.
    func show(_ value: JSONValue, text: (JSONValue, TextStyle) -> String) {
        Terminal.write(json ? String(decoding: value.pretty, as: UTF8.self) : text(value, style))
    }

    /// Sends a request and prints the response, unchanged or through `text`.
    func perform(
        _ method: LarderHTTP.Method, _ path: String, _ parameters: [(name: String, value: String)] = [],
        content body: [UInt8] = [], type: MediaType? = nil, text: (JSONValue, TextStyle) -> String
    ) throws {
        let content = try adminClient().send(method, AdminClient.target(path, parameters), content: body, type: type)
        if json {
            Terminal.write(String(decoding: content, as: UTF8.self) + (content.last == 0x0A ? "" : "\n"))
            return
        }
        let value = content.isEmpty ? .object(["result": "done"]) : try JSONValue(answer: content)
        Terminal.write(text(value, style))
    }

    /// Sends a request whose response is text, and prints it; with `--json`, the response in JSON.
    func performInWords(_ path: String, _ parameters: [(name: String, value: String)]) throws {
        if json { return try perform(.get, path, parameters, text: Outline.text) }
        let content = try adminClient().send(
            .get, AdminClient.target(path, parameters), accept: "text/plain, application/problem+json")
        let lines = String(decoding: content, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        let width = Terminal.width
        let shown = lines.map { WrappedLine.text(Outline.printable(String($0)), width: width) }
        Terminal.write(shown.joined(separator: "\n"))
    }

    /// The client for the selected daemon.
    func adminClient() throws -> AdminClient {
        let environment = ProcessInfo.processInfo.environment
        let socket = try daemon.place.named(environment)
        if let text = try daemonURL(environment) {
            guard let place = TCPPlace(daemon: text) else {
                let shown = text.lastIndex(of: "@").map { "…\(text[$0...])" } ?? text
                throw CommandFailure(
                    "'\(shown)' is no address of a daemon", advice: "write it as http://localhost:3128")
            }
            return AdminClient(
                socket: "", place: place, isOverTCP: true, placeName: daemon.url == nil ? "LARDER_URL" : "--url")
        }
        // An explicit socket is the only one tried.
        let path = try socket ?? usualSocket(environment)
        return AdminClient(
            socket: path, place: socket == nil ? .usual : nil,
            others: socket == nil
                ? DefaultPaths(environment: environment).socketCandidates.filter { $0 != path } : [])
    }

    /// The URL that selects the daemon; nil where a socket does.
    func daemonURL(_ environment: [String: String]) throws -> String? {
        try daemon.url ?? (daemon.place.named(environment) == nil ? environment["LARDER_URL"] : nil)
    }

    var style: TextStyle { Terminal.style(environment: ProcessInfo.processInfo.environment) }

    /// The first of the usual sockets that exists.
    private func usualSocket(_ environment: [String: String]) throws -> String {
        let paths = DefaultPaths(environment: environment)
        let path = paths.socketCandidates.first { access($0, F_OK) == 0 } ?? paths.socket
        guard paths.isTrusted(socket: path) else {
            throw CommandFailure(
                "the directory of \(path) belongs to somebody else or is open to them",
                advice: "remove it, or name the daemon's socket with `--socket PATH`")
        }
        return path
    }
}

extension ClientOptions {
    /// For commands whose output has one format.
    static func of(_ place: SocketOptions) -> ClientOptions {
        var daemon = DaemonOptions()
        daemon.place = place
        daemon.url = nil
        return of(daemon)
    }

    static func of(socket: String?) -> ClientOptions {
        var place = SocketOptions()
        place.socket = socket
        place.config = nil
        return of(place)
    }

    static func of(_ daemon: DaemonOptions) -> ClientOptions {
        var options = ClientOptions()
        options.daemon = daemon
        options.json = false
        return options
    }
}
