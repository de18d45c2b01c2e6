// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP
import LarderIO
import LarderSettings

/// `larder diff`
struct DiffCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff", abstract: "Say in what a URL's content differs from the version before it.",
        discussion: """
            larder diff https://api.github.com/users/octocat
            larder diff --at '2 h' /github/users/octocat

            For services with `history: 5` or so in the configuration. JSON is compared by its members, whatever their \
            order. The comparison is that of `diff -u`. Exit status 0 when both are equal, 1 when they differ, 2 when they \
            could not be compared.
            """)

    @OptionGroup var asked: VersionOptions

    @Option(
        help: ArgumentHelp(
            "Compare with what was current then: an age as '2 h', or a time as 2026-01-31T12:00:00Z.", valueName: "time"
        ))
    var at: String?

    @Flag(help: "Compare JSON line by line as it came.")
    var raw = false

    @Flag(help: "Compare the fields of the responses as well.")
    var fields = false

    @OptionGroup var client: ClientOptions

    func validate() throws {
        guard let at else { return }
        do {
            _ = try DiffCommand.time(at, now: Timestamp(seconds: 0))
        } catch let failure as CommandFailure {
            throw ValidationError(failure.problem)
        }
    }

    func run() throws {
        try Comparison.run { try !compare() }
    }

    /// Prints the difference. False if there is none.
    private func compare() throws -> Bool {
        let time = try at.map { try DiffCommand.time($0, now: Timestamp(nanoseconds: SystemTime().now())) }
        let answer = try asked.answer(client)
        let (old, new) = try VersionPair.choose(from: answer, at: time)
        let both = try [old, new].map { try ComparedVersion($0, content: content(of: $0)) }
        let difference = try VersionDifference(
            both[0], both[1], url: answer["url"]?.string ?? asked.url, raw: raw, fields: fields
        ).text(client.json ? .plain : client.style)
        if client.json {
            let report: JSONObject = [
                "url": answer["url"] ?? .null, "isEqual": .bool(difference == nil), "from": old, "to": new,
                "difference": difference.map { .string(String(decoding: $0, as: UTF8.self)) } ?? .null,
            ]
            client.show(.object(report), text: Outline.text)
        } else if let difference {
            Terminal.write(difference)
        }
        return difference != nil
    }

    private func content(of version: JSONValue) throws -> [UInt8] {
        let number = version["version"]?.int.map(String.init) ?? ""
        return try client.adminClient().send(
            .get, AdminClient.target("/-/content", asked.parameters + [("version", number)]), accept: "*/*")
    }

    /// The time that an age or a time means.
    static func time(_ text: String, now: Timestamp) throws -> Timestamp {
        if case .success(let nanoseconds) = UnitText.duration.read(text) { return now - .nanoseconds(nanoseconds) }
        if let time = ISOTime.parse(text) { return time }
        throw CommandFailure(
            "found --at \(Outline.printable(text)); expected an age, as '2 h' or '1 day', or a time, as "
                + "2026-01-31T12:00:00Z")
    }
}

/// The two versions that are compared.
enum VersionPair {
    /// - Parameter time: when the older one was current; nil for the one before the latest.
    static func choose(from answer: JSONValue, at time: Timestamp?) throws -> (old: JSONValue, new: JSONValue) {
        let all = answer["versions"]?.array ?? []
        guard let new = all.first(where: { $0["isCurrent"]?.bool == true }) ?? all.first else {
            throw CommandFailure(VersionOptions.nothing(of: answer))
        }
        let same = all.filter { $0["selectedBy"] == new["selectedBy"] }
        func firstSeen(_ version: JSONValue) -> Timestamp {
            version["firstSeen"]?.string.flatMap { ISOTime.parse($0) } ?? Timestamp(seconds: 0)
        }
        guard let time else {
            guard let old = same.first(where: { $0 != new }) else {
                throw CommandFailure(
                    "there is one version only, first seen \(new["firstSeen"]?.string ?? "?")",
                    advice: "`larder history` lists what is kept")
            }
            return (old, new)
        }
        guard let old = same.first(where: { firstSeen($0) <= time }) else {
            throw CommandFailure(
                "the first version that is kept was first seen later, \(same.last?["firstSeen"]?.string ?? "?")",
                advice: "`larder history` lists what is kept")
        }
        return (old, new)
    }
}
