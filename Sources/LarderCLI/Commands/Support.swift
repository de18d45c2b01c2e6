// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Larder
import LarderAdmin
import LarderHTTP
import LarderIO
import LarderSettings

/// `larder support`
struct Support: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "support",
        abstract: "Write one file about this Larder to attach to an issue.",
        discussion: """
            The file has versions, the settings in force, the status, the last requests that failed, and the last warnings \
            and errors. Secrets, users, clients' addresses and queries of URLs are left out; hosts and paths are not: read \
            it before you send it. Without a running daemon it has the settings of the configuration file alone.
            """)

    @Option(name: .shortAndLong, help: ArgumentHelp("The file, or - for standard output.", valueName: "file"))
    var output = "larder-support.json"

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        var client = ClientOptions()
        client.daemon = daemon
        let report = SupportReport(
            made: ISOTime.string(Timestamp(nanoseconds: SystemTime().now())), system: Support.system,
            ask: { [client] in try JSONValue(answer: try client.adminClient().send(.get, $0)) },
            settings: Support.settings)
        try ExportedFile.write(report.json.pretty, to: output == "-" ? "/dev/stdout" : output, isPrivate: true)
        if output != "-" { Terminal.write("wrote \(output): read it before you attach it to an issue\n") }
    }

    /// The settings that a daemon would have, by the file it would read.
    private static func settings() -> JSONValue {
        let loader = SettingsLoader(file: nil, overrides: [], environment: ProcessInfo.processInfo.environment)
        do throws(SettingsProblems) {
            let shown = SettingsCatalogue.show(try loader.load().settings).json
            return (try? JSONValue(parsing: Array(shown.utf8))) ?? .null
        } catch {
            return ["problems": .string("\(error)")]
        }
    }

    /// The distribution, the kernel, and the libraries that this program uses.
    private static func system() -> JSONValue {
        func lines(_ path: String) -> [Substring] {
            let octets = (try? BoundedFile.read(path, limit: 1 << 20)) ?? []
            return String(decoding: octets, as: UTF8.self).split(separator: "\n")
        }
        let release = lines("/etc/os-release").first { $0.hasPrefix("PRETTY_NAME=") }.map { String($0.dropFirst(12)) }
        let libraries = lines("/proc/self/maps").compactMap { line in
            line.split(separator: "/").last.map(String.init).flatMap { $0.contains(".so") ? $0 : nil }
        }
        return [
            "distribution": .string(release?.replacing("\"", with: "") ?? "unknown"),
            "kernel": .string(lines("/proc/sys/kernel/osrelease").first.map(String.init) ?? "unknown"),
            "processors": .string("\(sysconf(Int32(_SC_NPROCESSORS_ONLN)))"),
            "libraries": .array(Set(libraries).sorted().map { .string($0) }),
        ]
    }
}
