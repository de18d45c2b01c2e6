// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Larder
import LarderHTTP

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

    @OptionGroup var client: ClientOptions

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
        let url = Diagnosis.meantURL(target)
        let isPath = url.hasPrefix("/")
        let authority = isPath ? "" : String(url.split(separator: "/").dropFirst().first ?? "")
        let stream: PlainStream
        do throws(PlainStream.Failure) {
            stream = try PlainStream(to: place, seconds: AdminClient.patience)
        } catch {
            throw CommandFailure("nobody answers at \(place.authority)", advice: "start it with `larder serve`")
        }
        var fields: [String] = []
        if stored { fields.append("Cache-Control: only-if-cached, max-stale") }
        let given = headers.map { $0.prefix { $0 != ":" }.lowercased() }
        if !given.contains("accept") { fields.append("Accept: */*") }
        if !given.contains("user-agent") { fields.append("User-Agent: larder") }
        fields += headers
        let status: Int
        var problem: [UInt8]?
        do throws(PlainStream.Failure) {
            try stream.send("GET", url, host: isPath ? "localhost:\(place.port)" : authority, fields)
            var response = try PlainResponse(on: stream)
            status = Int(response.head.status.rawValue)
            if include { show(response.head) }
            if Get.isOwnProblem(response.head.fields) {
                problem = try response.answer().content
            } else {
                while case let octets = try response.receive(), !octets.isEmpty { Terminal.write(octets) }
            }
        } catch {
            throw CommandFailure("the answer did not come to its end", advice: "see the daemon's log")
        }
        if let problem { throw CommandFailure(problem: try? JSONValue(parsing: problem), status: status) }
        if status >= 400 { throw ExitCode.failure }
    }

    /// Whether a response is an error of Larder itself rather than of the origin.
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
        guard let url = variables.values.first(where: { $0.name == "http_proxy" })?.value, let place = TCPPlace(url)
        else {
            throw CommandFailure("the daemon has no TCP address that clients could use", advice: "add one to `listen`")
        }
        return place
    }
}
