// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP
import LarderUpstream

/// `larder get`
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the content of a URL, as a client of the daemon gets it.",
        discussion: """
            larder get https://api.github.com/users/octocat
            larder get --stored /github/users/octocat

            It is answered from the cache or by the origin, as any request would be. Exit status 1 when the answer is an \
            error. The origin's errors are printed all the same; Larder's own go to standard error.
            """)

    @Argument(help: ArgumentHelp("The URL, or the path of a service.", valueName: "url"))
    var target: String

    @Flag(help: "Only what is stored, whatever its age: the origin is not asked.")
    var stored = false

    @Flag(name: .shortAndLong, help: "Print the head of the response first, to standard error.")
    var include = false

    @Option(
        name: [.customShort("H"), .customLong("header")],
        help: ArgumentHelp("A field of the request, as `-H 'Accept: text/html'`.", valueName: "name: value"))
    var headers: [String] = []

    @OptionGroup var daemon: DaemonOptions

    private var client: ClientOptions { .of(daemon) }

    func validate() throws {
        for header in headers where !header.contains(":") || header.contains(where: \.isNewline) {
            throw ValidationError("found the field '\(header)'; expected 'Name: value'")
        }
        guard !target.contains(where: { $0.isNewline || $0 == " " }) else {
            throw ValidationError("'\(target)' is no URL")
        }
    }

    func run() throws {
        let place = try client.proxyPlace()
        let given = headers.map { $0.prefix { $0 != ":" }.lowercased() }
        var fields: [String] = []
        if stored { fields.append("Cache-Control: only-if-cached, max-stale") }
        if !given.contains("accept") { fields.append("Accept: */*") }
        if !given.contains("user-agent") { fields.append("User-Agent: larder") }
        fields += headers
        var answer = try ask(place, fields)
        if answer.problem != nil, answer.status == 407, !given.contains("proxy-authorization") {
            answer = try askInLane(place, fields) ?? answer
        }
        if let problem = answer.problem {
            throw CommandFailure(problem: try? JSONValue(parsing: problem), status: answer.status)
        }
        if answer.status >= 400 { throw ExitCode.failure }
    }

    /// With `access.users`, a lane admits a user of the daemon's socket, as in `larder run`. Nil if no lane can be
    /// opened.
    private func askInLane(_ place: TCPPlace, _ fields: [String]) throws -> Answer? {
        let admin = try client.adminClient()
        guard !admin.isOverTCP,
            let lane = try? OpenLane(admin, command: "larder get", tunnels: true, offline: false, hasDoor: false)
        else { return nil }
        defer { _ = try? lane.close(keepsRecording: false) }
        let credentials = Base64Text.encoded(Array("\(lane.user):x".utf8))
        return try ask(place, fields + ["Proxy-Authorization: Basic \(credentials)"])
    }

    private struct Answer {
        var status: Int
        /// The content of an error of Larder itself, which has not been printed.
        var problem: [UInt8]?
    }

    /// Sends the request and prints the response.
    private func ask(_ place: TCPPlace, _ fields: [String]) throws -> Answer {
        let url = Diagnosis.meantURL(target)
        let isPath = url.hasPrefix("/")
        let authority = isPath ? "" : String(url.split(separator: "/").dropFirst().first ?? "")
        let stream: PlainStream
        do throws(PlainStream.Failure) {
            stream = try PlainStream(to: place, seconds: AdminClient.patience)
        } catch {
            var admin = try client.adminClient()
            admin.place = place
            admin.isOverTCP = true
            throw admin.failure(error)
        }
        do throws(PlainStream.Failure) {
            try stream.send("GET", url, host: isPath ? "localhost:\(place.port)" : authority, fields)
            var response = try PlainResponse(on: stream)
            var answer = Answer(status: Int(response.head.status.rawValue))
            let isProblem = Get.isOwnProblem(response.head.fields)
            if include { show(response.head) }
            if isProblem {
                answer.problem = try response.answer().content
            } else {
                while case let octets = try response.receive(), !octets.isEmpty { Terminal.write(octets) }
            }
            return answer
        } catch {
            throw CommandFailure("the answer did not come to its end", advice: "see the daemon's log")
        }
    }

    /// True if a response is an error of Larder itself rather than of the origin.
    static func isOwnProblem(_ fields: Fields) -> Bool {
        fields[.contentType].flatMap { MediaType($0) }?.essence == "application/problem+json"
            && fields[.proxyStatus]?.contains("; error=") == true
    }

    private func show(_ head: ResponseHead) {
        Terminal.writeError("HTTP/1.1 \(head.status) \(head.status.phrase)")
        for line in head.fields { Terminal.writeError(Outline.printable("\(line)")) }
        Terminal.writeError("")
    }
}

extension ClientOptions {
    /// The address of the proxy: the daemon's, or the given one.
    func proxyPlace() throws -> TCPPlace {
        let client = try adminClient()
        if client.isOverTCP, let place = client.place { return place }
        let variables = try proxyVariables([:])
        guard let url = variables.values.first(where: { $0.name == "http_proxy" })?.value,
            let place = TCPPlace(daemon: url)
        else {
            throw CommandFailure("the daemon has no TCP address that clients could use", advice: "add one to `listen`")
        }
        return place
    }
}
