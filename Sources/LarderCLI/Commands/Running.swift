// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Larder
import LarderHTTP

/// `larder env`
struct Env: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "env", abstract: "Print the variables by which programs use the daemon.",
        discussion: """
            eval "$(larder env)"           for sh, bash and zsh
            larder env --fish | source     for fish
            eval "$(larder env --lane)"    https is cached too
            eval "$(larder env --off)"     takes it all back

            Former values of the variables are kept in others, whose names begin with LARDER_FORMER, and `--off` puts \
            them back.

            Without a lane, http is cached and https passes through a tunnel that nobody looks into, but for the hosts of \
            `intercept.hosts`. With `--lane`, https of all hosts but those of `intercept.except` is cached, as with \
            `larder run`, until `--off` or the daemon's end.

            In a container this machine is called host.docker.internal, so `--docker` names the proxy that way; the daemon \
            has to listen where containers reach it, and to allow them (`listen`, `access.allow`).
            """)

    @Option(help: ArgumentHelp("The shell: sh, bash, zsh or fish (default: by $SHELL).", valueName: "shell"))
    var shell: Shell?

    @Flag(help: "For fish.")
    var fish = false

    @Flag(help: "As the lines of `docker run --env-file`.")
    var docker = false

    @Flag(help: "As lines of a systemd unit.")
    var systemd = false

    @Flag(help: "As lines for the file $GITHUB_ENV.")
    var githubActions = false

    @Flag(help: "Open a lane, in which https is cached too.")
    var lane = false

    @Flag(help: "Take the variables back, and end the lane that they belong to.")
    var off = false

    @OptionGroup var client: ClientOptions

    enum Shell: String, CaseIterable, ExpressibleByArgument { case sh, bash, zsh, fish }

    func validate() throws {
        if [fish, docker, systemd, githubActions, shell != nil].count(where: { $0 }) > 1 {
            throw ValidationError("choose one form")
        }
        if lane, off { throw ValidationError("--lane opens a lane, and --off ends one") }
        if lane, docker { throw ValidationError("a lane is for this machine alone: leave out --lane or --docker") }
        if client.json, off { throw ValidationError("--off prints commands, not values: leave out --json") }
    }

    /// The lane of the variables, and its files.
    private static let laneName = "LARDER_LANE"
    private static let proxyNames = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"]
    private static let filesName = "LARDER_LANE_FILES"
    /// The socket of the daemon that has the lane, where it was named.
    private static let socketName = "LARDER_LANE_SOCKET"

    func run() throws {
        let environment = ProcessInfo.processInfo.environment
        if off { return try takeBack(environment) }
        // Its files and the lane itself could not be taken back any more.
        if lane, !systemd, !githubActions, environment[Env.laneName]?.isEmpty == false {
            throw CommandFailure("this shell has a lane already; take that back first: eval \"$(larder env --off)\"")
        }
        var values: [ProxyVariables.Value]
        if lane {
            let opened = try OpenLane(
                try client.adminClient(), command: "larder env", tunnels: false, offline: false)
            let (all, files) = try opened.variables(environment, client, opens: true)
            values = all + [ProxyVariables.Value(name: Env.laneName, value: opened.id)]
            if let files { values.append(ProxyVariables.Value(name: Env.filesName, value: files.directory)) }
            if let socket = try client.daemon.place.named(environment) {
                // The shell may be elsewhere when it ends the lane.
                let path = socket.hasPrefix("/") ? socket : FileManager.default.currentDirectoryPath + "/" + socket
                values.append(ProxyVariables.Value(name: Env.socketName, value: path))
            }
        } else {
            values = try client.proxyVariables(environment).values
        }
        if docker {
            values = values.map { variable in
                let value = ["127.0.0.1", "[::1]", "localhost"].reduce(variable.value) { value, name in
                    variable.name.lowercased() == "no_proxy"
                        ? value : value.replacing("//\(name):", with: "//host.docker.internal:")
                }
                return ProxyVariables.Value(name: variable.name, value: value)
            }
        }
        if client.json {
            var object = JSONObject()
            for variable in values { object[variable.name] = .string(variable.value) }
            return Terminal.write(JSONValue.object(object).description + "\n")
        }
        // Units and containers have an environment of their own.
        if !docker, !systemd { values = FormerVariables(in: environment).remembering(values) }
        Terminal.write(ProxyVariables.text(values, in: form(environment)))
    }

    private func form(_ environment: [String: String]) -> ProxyVariables.Form {
        if docker || githubActions { return .lines }
        if systemd { return .systemd }
        if let shell { return shell == .fish ? .fish : .sh }
        return fish || environment["SHELL"]?.hasSuffix("/fish") ?? false ? .fish : .sh
    }

    /// Ends the lane, and gives the variables the values that they had before.
    private func takeBack(_ environment: [String: String]) throws {
        if docker || systemd {
            return Terminal.write(ProxyVariables.removal(of: Env.proxyNames, in: form(environment)))
        }
        if let id = environment[Env.laneName], !id.isEmpty {
            // The lane may have ended already.
            var daemon = client.daemon
            if daemon.place.socket == nil, daemon.place.config == nil, daemon.url == nil {
                daemon.place.socket = environment[Env.socketName]
            }
            _ = try? ClientOptions.of(daemon).adminClient().ask(.delete, "/-/lanes/\(id)")
            if let files = environment[Env.filesName], !files.isEmpty { LaneFiles.remove(files) }
        }
        let former = FormerVariables(in: environment)
        guard !former.isEmpty else {
            // Variables of a version that did not remember the former values.
            let own = ["LARDER_PROXY", Env.laneName].filter { environment[$0] != nil }
            if !own.isEmpty {
                let names = Env.proxyNames + own + [Env.filesName].filter { environment[$0] != nil }
                return Terminal.write(ProxyVariables.removal(of: names, in: form(environment)))
            }
            return Terminal.writeError("larder: nothing to take back: `larder env` has set no variables here")
        }
        Terminal.write(former.restoration(in: form(environment)))
    }
}
