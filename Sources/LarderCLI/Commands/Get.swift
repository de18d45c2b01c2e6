// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Larder
import LarderHTTP

/// `larder get`
struct Get: ParsableCommand {
    static let configuration = CommandConfiguration(
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
        var fields = ["Host: \(isPath ? "localhost:\(place.port)" : authority)"]
        if stored { fields.append("Cache-Control: only-if-cached, max-stale") }
        let given = headers.map { $0.prefix { $0 != ":" }.lowercased() }
        if !given.contains("accept") { fields.append("Accept: */*") }
        if !given.contains("user-agent") { fields.append("User-Agent: larder") }
        fields += headers
        let request = "GET \(url) HTTP/1.0\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n"
        let answer: Answer
        do throws(PlainStream.Failure) {
            try stream.send(Array(request.utf8))
            answer = try receive(stream)
        } catch {
            throw CommandFailure("the answer did not come to its end", advice: "see the daemon's log")
        }
        if let problem = answer.problem {
            throw CommandFailure(problem: try? JSONValue(parsing: problem), status: answer.status)
        }
        if answer.status >= 400 { throw ExitCode.failure }
    }

    private struct Answer {
        let status: Int
        /// The content of an error of Larder's own.
        let problem: [UInt8]?
    }

    /// Whether a response is an error of Larder itself rather than of the origin.
    static func isOwnProblem(_ lines: [Substring]) -> Bool {
        let fields = lines.map { $0.lowercased() }
        return fields.contains { $0.hasPrefix("content-type: application/problem+json") }
            && fields.contains { $0.hasPrefix("proxy-status:") && $0.contains("; error=") }
    }

    /// Prints the response as it arrives, unless it is an error of Larder's own.
    private func receive(_ stream: borrowing PlainStream) throws(PlainStream.Failure) -> Answer {
        var problem: [UInt8]?
        var head: [UInt8] = []
        var status: Int?
        var left: Int?
        while true {
            var octets = try stream.receive()
            if octets.isEmpty { break }
            if status == nil {
                head += octets
                guard let end = head.firstRange(of: Array("\r\n\r\n".utf8)) else { continue }
                octets = Array(head[end.upperBound...])
                let lines = String(decoding: head[..<end.lowerBound], as: UTF8.self).split(separator: "\r\n")
                status = (lines.first ?? "").split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 502
                for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
                    left = Int(line.drop { $0 != ":" }.dropFirst().drop { $0 == " " })
                }
                if include { for line in lines + [""] { Terminal.writeError(Outline.printable(String(line))) } }
                if Get.isOwnProblem(lines) { problem = [] }
            }
            if problem == nil { Terminal.write(octets) } else { problem? += octets }
            left = left.map { $0 - octets.count }
        }
        guard let status, left ?? 0 <= 0 else { throw .transfer(0) }
        return Answer(status: status, problem: problem)
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
