// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Larder
import LarderHTTP

/// `larder run`
struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run a command whose requests go through the cache, https included.",
        discussion: """
            larder run -- pip install httpx

            The command and its children get proxy variables that lead to the daemon and name a lane of their own, and \
            variables that point to the system's certificates together with the daemon's CA. So https of all hosts but \
            those of `intercept.except` is cached for them, without anything being installed; for nobody else, and only \
            until the command ends. Programs that do not read these variables are not served that way.

            At the end the summary goes to stderr. The exit status is the command's; 127 when there is no such command, \
            126 when it cannot be run, 113 when `--fail-on-miss` found something missing and the command ended well.
            """)

    @Flag(help: "Open no https: what goes there passes unseen.")
    var tunnel = false

    @Flag(help: "Answer with what is stored, whatever its age, else 504.")
    var offline = false

    @Flag(help: "Exit with 113 if anything was not answered from the cache.")
    var failOnMiss = false

    @Option(help: ArgumentHelp("Write the summary to this file, as JSON.", valueName: "file"))
    var report: String?

    @Flag(name: .shortAndLong, help: "Print no summary.")
    var quiet = false

    @Option(help: "The daemon's Unix socket (default: this user's daemon, else the system's).")
    var socket: String?

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The command and its arguments.", valueName: "command"))
    var command: [String] = []

    /// The exit status of `--fail-on-miss`.
    static let missStatus: Int32 = 113

    func validate() throws {
        if command.isEmpty {
            throw ValidationError("name a command after --, as `larder run -- curl http://example.com/`")
        }
    }

    func run() throws {
        let options = ClientOptions.of(socket: socket)
        let client = try options.adminClient()
        let environment = ProcessInfo.processInfo.environment
        let lane = try OpenLane(client, command: command[0], tunnels: tunnel, offline: offline)
        var values = try options.proxyVariables(environment, user: lane.user).values
        var files: LaneFiles?
        if !tunnel {
            let pem = try client.send(.get, "/-/ca.pem", accept: "*/*")
            let made = try LaneFiles(authority: pem, environment: environment)
            values += made.variables
            files = made
        }
        let status = LaneProcess.run(command, with: values)
        files?.remove()
        let summary = try LaneSummary(try lane.close())
        if !quiet {
            for line in summary.text.split(separator: "\n") { Terminal.writeError("larder: \(line)") }
        }
        if let report { try summary.write(to: report) }
        if status == 0, failOnMiss, summary.missed > 0 { throw ExitCode(Run.missStatus) }
        if status != 0 { throw ExitCode(status) }
    }
}

/// A lane that the daemon has opened for this command.
struct OpenLane {
    private let client: AdminClient
    private let id: String
    /// What stands for the user in the URL of the proxy.
    let user: String

    init(_ client: AdminClient, command: String, tunnels: Bool, offline: Bool) throws {
        self.client = client
        let name = String(command.split(separator: "/").last?.prefix(80) ?? "")
        let parameters = [("name", name), ("tunnel", "\(tunnels)"), ("offline", "\(offline)")]
        let answer = try JSONValue(parsing: try client.send(.post, AdminClient.target("/-/lanes", parameters)))
        guard let id = answer["id"]?.string, let user = answer["user"]?.string else {
            throw CommandFailure("the daemon opens no lanes", advice: "are the daemon and this command one version?")
        }
        self.id = id
        self.user = user
    }

    /// Ends the lane; the answer says what became of its requests.
    func close() throws -> JSONValue { try JSONValue(parsing: try client.send(.delete, "/-/lanes/\(id)")) }
}

/// What became of a lane's requests, for people and for files.
struct LaneSummary {
    let json: JSONValue

    init(_ json: JSONValue) throws {
        self.json = json
    }

    var missed: Int { json["missed"]?.int ?? 0 }

    var text: String {
        let requests = json["requests"]?.int ?? 0
        let hits = json["hits"]?.int ?? 0
        guard requests > 0 || !tunnels.isEmpty else {
            return "no requests came through Larder: the command asked nothing, or reads no proxy variables"
        }
        var lines: [String] = []
        let share = requests > 0 ? " (\(Quantity.percent(Double(hits) / Double(requests))))" : ""
        let saved = json["bytes"]?["saved"]?.int ?? 0
        let sent = json["bytes"]?["sent"]?.int ?? 0
        lines.append(
            "\(plural(requests, "request")), \(hits) from the cache\(share); \(Quantity.bytes(saved)) of "
                + "\(Quantity.bytes(sent)) saved, and about \(Quantity.seconds(json["secondsSaved"]?.double ?? 0))")
        for line in (json["uncacheable"]?.array ?? []).prefix(3) {
            let count = line["requests"]?.int ?? 0
            lines.append(
                "not kept: \(plural(count, "response")), \(Outline.printable(line["reason"]?.string ?? "?")) "
                    + "(as from \(Outline.printable(line["example"]?.string ?? "?")))")
        }
        for line in tunnels.prefix(3) {
            let host = Outline.printable(line["host"]?.string ?? "?")
            lines.append(
                "passed unseen: \(plural(line["requests"]?.int ?? 0, "tunnel")) to \(host), as "
                    + Outline.printable(line["why"]?.string ?? "?"))
        }
        return lines.joined(separator: "\n")
    }

    func write(to path: String) throws {
        do {
            try WrittenFile.write(Array((json.description + "\n").utf8), to: path)
        } catch {
            throw CommandFailure("cannot write \(path): \(error)")
        }
    }

    private var tunnels: [JSONValue] { json["tunnels"]?.array ?? [] }

    private func plural(_ count: Int, _ noun: String) -> String { count == 1 ? "1 \(noun)" : "\(count) \(noun)s" }
}
