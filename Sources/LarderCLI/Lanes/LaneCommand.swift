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
            larder run pip install httpx
            larder run --offline -- pip install httpx

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

    @Option(help: ArgumentHelp("Record each request with its response under this name.", valueName: "name"))
    var record: String?

    @Option(
        help: ArgumentHelp("Answer only with what was recorded under this name; ask nobody.", valueName: "name"))
    var replay: String?

    @Flag(help: "Exit with 113 if anything was not answered from the cache.")
    var failOnMiss = false

    @Option(help: ArgumentHelp("Write the summary to this file, as JSON.", valueName: "file"))
    var report: String?

    @Flag(name: .shortAndLong, help: "Print no summary.")
    var quiet = false

    @OptionGroup var place: SocketOptions

    @Argument(parsing: .postTerminator, help: ArgumentHelp("The command and its arguments.", valueName: "command"))
    var command: [String] = []

    private static let valued = ["--record", "--replay", "--report", "--socket", "--config"]

    /// The arguments with `--` in front of the command, where it was left out.
    static func separated(_ arguments: [String]) -> [String] {
        var index = 0
        while index < arguments.count, arguments[index].hasPrefix("-"), arguments[index] != "--" {
            index += valued.contains(arguments[index]) ? 2 : 1
        }
        guard index < arguments.count, arguments[index] != "--" else { return arguments }
        return arguments[..<index] + ["--"] + arguments[index...]
    }

    /// The exit status of `--fail-on-miss`.
    static let missStatus: Int32 = 113

    func validate() throws {
        if command.isEmpty {
            throw ValidationError("name a command, as `larder run curl http://example.com/`")
        }
        if record != nil, replay != nil || offline {
            throw ValidationError("what is recorded asks the origin: leave out --replay and --offline")
        }
        if tunnel, record != nil || replay != nil {
            throw ValidationError("what passes unseen cannot be recorded: leave out --tunnel")
        }
    }

    func run() throws {
        let options = ClientOptions.of(place)
        let client = try options.adminClient()
        let environment = ProcessInfo.processInfo.environment
        let lane = try openLane(client)
        let (values, files): ([ProxyVariables.Value], LaneFiles?) =
            if let lane {
                try lane.variables(environment, options, opens: !tunnel)
            } else {
                (try options.proxyVariables(environment, user: nil).values, nil)
            }
        let (status, hasStarted) = LaneProcess.run(command, with: values)
        files?.remove()
        guard let lane else {
            if status != 0 { throw ExitCode(status) }
            return
        }
        let program = command[0].split(separator: "/").last.map(String.init) ?? command[0]
        let outcome: JSONValue
        do {
            // A command that could not be started has nothing to record.
            outcome = try lane.close(keepsRecording: hasStarted)
        } catch let failure as CommandFailure where status != 0 {
            Terminal.writeError("larder: \(failure)")
            throw ExitCode(status)
        }
        let summary = LaneSummary(json: outcome, command: program, listsMissing: offline || failOnMiss)
        guard hasStarted else { throw ExitCode(status) }
        let lines = quiet ? summary.notRecorded.map { [$0] } ?? [] : summary.lines
        for line in lines { Terminal.writeError("larder: \(line)") }
        do {
            if let report { try summary.write(to: report) }
        } catch  where status != 0 {
            Terminal.writeError("larder: \(error)")
        }
        if status == 0, failOnMiss, summary.missed > 0 { throw ExitCode(Run.missStatus) }
        if status != 0 { throw ExitCode(status) }
    }
}

extension Run {
    /// A lane for the command; nil where the daemon is another user's and the command needs none.
    private func openLane(_ client: AdminClient) throws -> OpenLane? {
        let uses = [("record", record), ("replay", replay)].compactMap { name, value in value.map { (name, $0) } }
        do {
            let lane = try OpenLane(client, command: command[0], tunnels: tunnel, offline: offline, uses)
            if let obstacle = lane.doorObstacle, !quiet {
                Terminal.writeError(
                    "larder: programs that cannot send a user name to a proxy (Java's) are not in the lane, as the "
                        + "daemon cannot tell whose connections are: \(obstacle)")
            }
            return lane
        } catch let failure as CommandFailure {
            let needsLane = offline || failOnMiss || report != nil || !uses.isEmpty
            guard !needsLane, (try? client.send(.get, "/-/ready", accept: "*/*")) != nil else { throw failure }
            if !quiet {
                Terminal.writeError(
                    "larder: \(failure.problem): http goes through the cache, https passes unseen, and nothing is counted"
                )
            }
            return nil
        }
    }
}

/// A lane that the daemon has opened for this command.
struct OpenLane {
    private let client: AdminClient
    let id: String
    /// The user in the URL of the proxy.
    let user: String
    /// An address whose clients are all in the lane.
    let door: String?
    /// Why the lane has no such address; nil if it has one, or none was asked for.
    let doorObstacle: String?

    /// - Parameter hasDoor: whether the lane gets an address for clients that cannot be told its user.
    init(
        _ client: AdminClient, command: String, tunnels: Bool, offline: Bool, hasDoor: Bool = true,
        _ uses: [(String, String)] = []
    ) throws {
        self.client = client
        let name = String(command.split(separator: "/").last?.prefix(80) ?? "")
        let parameters =
            [("name", name), ("tunnel", "\(tunnels)"), ("offline", "\(offline)"), ("door", "\(hasDoor)")] + uses
        let answer = try JSONValue(parsing: try client.send(.post, AdminClient.target("/-/lanes", parameters)))
        guard let id = answer["id"]?.string, let user = answer["user"]?.string else {
            throw CommandFailure("the daemon opens no lanes", advice: "are the daemon and this command one version?")
        }
        self.id = id
        self.user = user
        door = answer["door"]?.string
        doorObstacle = answer["doorObstacle"]?.string
    }

    /// The variables for a command, with its trusted certificates in files that are to be removed.
    ///
    /// Closes the lane if it fails.
    ///
    /// - Parameter opens: whether the lane intercepts https.
    func variables(
        _ environment: [String: String], _ options: ClientOptions, opens: Bool
    ) throws -> ([ProxyVariables.Value], LaneFiles?) {
        do {
            return try prepared(environment, options, opens: opens)
        } catch {
            _ = try? close(keepsRecording: false)
            throw error
        }
    }

    private func prepared(
        _ environment: [String: String], _ options: ClientOptions, opens: Bool
    ) throws -> ([ProxyVariables.Value], LaneFiles?) {
        let proxy = try options.proxyVariables(environment, user: user)
        guard opens else { return (proxy.values, nil) }
        let pem = try client.send(.get, "/-/ca.pem", accept: "*/*")
        let files = try LaneFiles(authority: pem, environment: environment)
        return (
            proxy.values + files.variables(door: door, direct: proxy.direct, environment: environment), files
        )
    }

    /// Closes the lane; the response contains the outcomes of its requests.
    ///
    /// - Parameter keepsRecording: whether what the lane recorded is kept.
    func close(keepsRecording: Bool) throws -> JSONValue {
        let parameters = keepsRecording ? [] : [(name: "recording", value: "drop")]
        let answer = try client.ask(.delete, AdminClient.target("/-/lanes/\(id)", parameters))
        guard answer.status != 404 else {
            throw CommandFailure(
                "the daemon does not know this command's lane any more: its later requests were refused, and nothing that "
                    + "it recorded is kept",
                advice: "was the daemon restarted meanwhile? then run the command again")
        }
        return try JSONValue(parsing: answer.successfulContent())
    }
}
