// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Larder
import LarderHTTP
import LarderProxy
import LarderStores

/// `larder lane`
struct LaneArchives: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lane", abstract: "Handle what `larder run --record` recorded.",
        discussion: """
            Recordings leave the daemon as HTTP Archives (HAR 1.2), without credentials: fields, parameters of URLs and \
            members whose names say that they admit somebody have REDACTED for their value. Requests are matched \
            against an imported recording without theirs.
            """,
        subcommands: [
            ListRecordings.self, ExportRecording.self, ImportRecording.self, DiffRecordings.self, RemoveRecording.self,
        ])

    /// The daemon's archive of that name.
    static func archive(_ name: String, _ client: AdminClient) throws -> [UInt8] {
        try client.send(.get, "/-/recordings/\(try LaneArchives.checked(name))")
    }

    static func checked(_ name: String) throws -> String {
        guard Recording.isName(name) else {
            throw CommandFailure(
                "'\(name)' cannot be the name of a recording",
                advice: "use up to 80 letters, digits and . _ -, beginning with a letter or digit")
        }
        return name
    }
}

/// `larder lane list`
struct ListRecordings: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the recordings, and the lanes that are open.")

    @OptionGroup var client: ClientOptions

    func run() throws {
        let daemon = try client.adminClient()
        let recordings = try JSONValue(parsing: try daemon.send(.get, "/-/recordings"))
        let lanes = try JSONValue(parsing: try daemon.send(.get, "/-/lanes"))
        let all = JSONValue.object([
            "recordings": recordings["recordings"] ?? .array([]), "lanes": lanes["lanes"] ?? .array([]),
        ])
        if client.json { return Terminal.write(all.description + "\n") }
        if (all["recordings"]?.array ?? []).isEmpty, (all["lanes"]?.array ?? []).isEmpty {
            return Terminal.write("no recordings, and no open lanes\n")
        }
        for name in all["recordings"]?.array ?? [] {
            Terminal.write("recording \(Outline.printable(name.string ?? "?"))\n")
        }
        for lane in all["lanes"]?.array ?? [] {
            let requests = lane["requests"]?.int ?? 0
            let hits = lane["hits"]?.int ?? 0
            Terminal.write(
                "lane \(Outline.printable(lane["id"]?.string ?? "?")) of "
                    + "\(Outline.printable(lane["name"]?.string ?? "?")): \(Quantity.plural(requests, "request")), \(hits) from the cache\n"
            )
        }
    }
}

/// `larder lane export`
struct ExportRecording: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Write a recording as an HTTP Archive, without its secrets.")

    @Argument(help: ArgumentHelp("The recording.", valueName: "name"))
    var name: String

    @Argument(help: ArgumentHelp("The file (default: standard output).", valueName: "file"))
    var file: String?

    @OptionGroup var daemon: DaemonOptions

    func run() throws {
        let client = try ClientOptions.of(daemon).adminClient()
        let archive = try CommandFailure.orNothing { try LaneArchives.archive(name, client) }
        guard let file, file != "-" else { return Terminal.write(archive + [0x0A]) }
        // Contents may be for this user alone.
        try ExportedFile.write(archive + [0x0A], to: file, isPrivate: true)
    }
}

/// `larder lane import`
struct ImportRecording: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Read a recording from an HTTP Archive, in place of the one of its name.")

    @Argument(help: ArgumentHelp("The recording.", valueName: "name"))
    var name: String

    @Argument(help: ArgumentHelp("The file.", valueName: "file"))
    var file: String

    @OptionGroup var client: ClientOptions

    func run() throws {
        let octets = try NamedFile.read(file, limit: 512 << 20)
        try client.perform(
            .put, "/-/recordings/\(try LaneArchives.checked(name))", content: octets,
            type: MediaType("application/json"), text: Outline.text)
    }
}

/// `larder lane remove`
struct RemoveRecording: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "remove", abstract: "Remove a recording.")

    @Argument(help: ArgumentHelp("The recording.", valueName: "name"))
    var name: String

    @OptionGroup var client: ClientOptions

    func run() throws {
        let name = try LaneArchives.checked(name)
        try CommandFailure.orNothing {
            try client.perform(.delete, "/-/recordings/\(name)", text: Outline.text)
        }
    }
}

/// `larder lane diff`
struct DiffRecordings: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Say in what two recordings differ.",
        discussion: """
            Each is the name of a recording or, with a slash or .har at its end, a file. `Date` is not compared. Exit \
            status 0 when both are equal, 1 when they differ, 2 when they could not be compared.
            """)

    @Argument(help: ArgumentHelp("The first recording.", valueName: "a"))
    var first: String

    @Argument(help: ArgumentHelp("The second recording.", valueName: "b"))
    var second: String

    @OptionGroup var client: ClientOptions

    func run() throws {
        try Comparison.run {
            let daemon = try client.adminClient()
            let lines = ArchiveDifference.lines(try entries(first, daemon), try entries(second, daemon))
            if client.json {
                Terminal.write(JSONValue.array(lines.map { .string($0) }).description + "\n")
            } else {
                for line in lines { Terminal.write(Outline.printable(line) + "\n") }
            }
            return lines.isEmpty
        }
    }

    private func entries(_ name: String, _ daemon: AdminClient) throws -> [JSONValue] {
        let octets =
            name.contains("/") || name.hasSuffix(".har")
            ? try NamedFile.read(name, limit: 512 << 20) : try LaneArchives.archive(name, daemon)
        guard let entries = (try? JSONValue(parsing: octets))?["log"]?["entries"]?.array else {
            throw CommandFailure("\(name) is no HTTP Archive")
        }
        return entries
    }
}

/// The differences between two archives, request by request.
enum ArchiveDifference {
    /// One line for each difference; `-` is only in the first, `+` only in the second, `~` in both with another
    /// response.
    static func lines(_ first: [JSONValue], _ second: [JSONValue]) -> [String] {
        var rest = Dictionary(grouping: second.indices, by: { Request(second[$0]) })
        var lines: [String] = []
        for entry in first {
            let request = Request(entry)
            guard var places = rest[request], !places.isEmpty else {
                lines.append("- \(request.text)")
                continue
            }
            let other = second[places.removeFirst()]
            rest[request] = places
            if let difference = difference(entry["response"], other["response"]) {
                lines.append("~ \(request.text): \(difference)")
            }
        }
        for index in rest.values.flatMap(\.self).sorted() { lines.append("+ \(Request(second[index]).text)") }
        return lines
    }

    private struct Request: Hashable {
        let method, url: String
        let content: JSONValue

        init(_ entry: JSONValue) {
            method = entry["request"]?["method"]?.string ?? "?"
            url = entry["request"]?["url"]?.string ?? "?"
            content = entry["request"]?["postData"]?["text"] ?? .null
        }

        /// Requests that differ in their content alone are told apart by its length and digest.
        var text: String {
            if content == .null { return "\(method) \(url)" }
            let octets = Array((content.string ?? content.description).utf8)
            let digest = ContentDigest(of: octets).hexadecimal.prefix(8)
            return "\(method) \(url) with content (\(Quantity.bytes(octets.count)), \(digest))"
        }
    }

    private static func difference(_ first: JSONValue?, _ second: JSONValue?) -> String? {
        let (before, after) = (first?["status"]?.int ?? 0, second?["status"]?.int ?? 0)
        if before != after { return "status \(before), then \(after)" }
        if first?["content"]?["text"] != second?["content"]?["text"] { return "other content" }
        let (old, new) = (fields(first), fields(second))
        let changed = Set(old.keys).union(new.keys).filter { old[$0] != new[$0] && $0 != "date" }.sorted()
        return changed.isEmpty ? nil : "other \(changed.joined(separator: ", "))"
    }

    private static func fields(_ response: JSONValue?) -> [String: [String]] {
        var fields: [String: [String]] = [:]
        for line in response?["headers"]?.array ?? [] {
            fields[line["name"]?.string?.lowercased() ?? "", default: []].append(line["value"]?.string ?? "")
        }
        return fields
    }
}
