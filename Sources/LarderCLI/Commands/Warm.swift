// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Larder
import LarderHTTP
import LarderIO

/// `larder warm`
struct Warm: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "warm",
        abstract: "Load many resources, so that they are there when they are asked for.",
        discussion: """
            The file has one URL on a line; empty lines and those that begin with # do not count. Resources that \
            are up to date are not loaded again. Exit status 1 when one of them failed.
            """)

    @Argument(help: ArgumentHelp("The URLs; `-` is standard input.", valueName: "file"))
    var file: String

    @Option(help: ArgumentHelp("How many are loaded at a time, 1 to 64.", valueName: "number"))
    var parallel = 8

    @Flag(help: "Ask the origin for all of them, up to date or not.")
    var reload = false

    @OptionGroup var client: ClientOptions

    private static let limit = 64 << 20

    func validate() throws {
        guard (1...64).contains(parallel) else {
            throw ValidationError("found --parallel \(parallel); expected a number from 1 to 64")
        }
    }

    func run() throws {
        let content: [UInt8]
        do {
            content = try BoundedFile.read(file == "-" ? "/dev/stdin" : file, limit: Warm.limit)
        } catch {
            throw CommandFailure("cannot read \(file): \(error)")
        }
        var admin = try client.adminClient()
        // The progress line shows the progress of all loads.
        admin.showsSilence = false
        // A missing daemon is reported once, and not for each URL.
        _ = try admin.send(.get, "/-/ready")
        let path = reload ? "/-/resource/load" : "/-/resource/load-if-needed"
        let warming = Warming { [admin] url in
            try JSONValue(parsing: try admin.send(.post, AdminClient.target(path, [("url", url)])))
        }
        let lines = Warming.urls(in: content).map(Diagnosis.meantURL)
        var seen: Set<String> = []
        let urls = lines.filter { seen.insert($0).inserted }
        let isShown = isatty(STDERR_FILENO) == 1
        if isShown, !urls.isEmpty { Terminal.writeProgress("0 of \(urls.count)") }
        let summary = warming.run(urls, parallel: parallel) { summary in
            if isShown { Terminal.writeProgress("\(summary.total) of \(urls.count), \(summary.failures.count) failed") }
        }
        if isShown { Terminal.writeProgress(nil) }
        if lines.count > urls.count, !client.json {
            Terminal.writeError("larder: lines that repeat others: \(lines.count - urls.count)")
        }
        Terminal.write(client.json ? summary.json.description + "\n" : summary.text(client.style))
        if !summary.failures.isEmpty { throw ExitCode.failure }
    }
}
