// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Larder
import LarderHTTP

/// What the commands that ask a daemon have in common.
struct ClientOptions: ParsableArguments {
    @Option(help: "The daemon's Unix socket (default: this user's daemon, else the system's).")
    var socket: String?

    @Flag(help: "Print the answer as JSON.")
    var json = false

    /// Sends a request and prints the answer, as it came or through `text`.
    func perform(
        _ method: LarderHTTP.Method, _ path: String, _ parameters: [(name: String, value: String)] = [],
        content body: [UInt8] = [], type: MediaType? = nil, text: (JSONValue, TextStyle) -> String
    ) throws {
        let content = try adminClient().send(method, AdminClient.target(path, parameters), content: body, type: type)
        if json {
            Terminal.write(String(decoding: content, as: UTF8.self) + (content.last == 0x0A ? "" : "\n"))
            return
        }
        let value: JSONValue
        do {
            value = content.isEmpty ? .object(["result": "done"]) : try JSONValue(parsing: content)
        } catch {
            throw CommandFailure(
                "the daemon's answer is not JSON", advice: "are the daemon and this command one version?")
        }
        Terminal.write(text(value, style))
    }

    /// Sends a request whose answer the daemon words itself, and prints it; with `--json`, the answer in JSON.
    func performInWords(_ path: String, _ parameters: [(name: String, value: String)]) throws {
        if json { return try perform(.get, path, parameters, text: Outline.text) }
        let content = try adminClient().send(
            .get, AdminClient.target(path, parameters), accept: "text/plain, application/problem+json")
        let lines = String(decoding: content, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        Terminal.write(lines.map { Outline.printable(String($0)) }.joined(separator: "\n"))
    }

    /// Who asks the daemon that is meant.
    func adminClient() throws -> AdminClient {
        AdminClient(socket: try socketPath(ProcessInfo.processInfo.environment))
    }

    var style: TextStyle { Terminal.style(environment: ProcessInfo.processInfo.environment) }

    /// The socket that was named, or the first one of the usual that is there.
    private func socketPath(_ environment: [String: String]) throws -> String {
        if let socket { return socket }
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
