// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder

/// `larder export`
struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write what is stored into a file that another Larder can import.",
        discussion: """
            The file is a tar archive: for each response `entities/N.json` with its head, `entities/N.octets` with its \
            content and `entities/N.sha256` with the digests of both. Responses that may be one user's alone are left \
            out, and counted: those in partitions, those the origin calls private or gave to credentials, and URLs \
            with secrets. FILE is written under another name and takes its own when it is whole. With nothing to \
            write it is left as it is, and the exit status is 2. It is 1 where something could not be read just now, \
            which is missing in FILE.
            """)

    @Argument(help: "Which resources: /users/*, https://api.github.com/**; ** for all.")
    var pattern: String

    @Argument(
        help: ArgumentHelp("The file, or - for standard output; an existing one is replaced.", valueName: "file"))
    var file: String

    @Flag(name: .customLong("private"), help: "Also what may be one user's alone. Keep the file to yourself.")
    var includesPrivate = false

    @OptionGroup var client: ClientOptions

    func run() throws {
        let parameters = [(name: "match", value: pattern)] + (includesPrivate ? [(name: "private", value: "true")] : [])
        let output = try ExportedFile(file, isPrivate: includesPrivate)
        let progress = TransferProgress(total: nil)
        defer { progress.end() }
        let summary = try client.adminClient().download(AdminClient.target("/-/export", parameters), to: output) {
            progress.add($0)
        }
        progress.end()
        // An archive of nothing does not take the place of an earlier one.
        let isEmpty = summary["entities"]?.int == 0
        if !isEmpty || output.isStandardOutput { try output.finish() }
        if isEmpty, !output.isStandardOutput {
            let hint = client.hint(about: pattern).map { "; \($0)" } ?? ""
            Terminal.writeError("larder: \(file) was not written" + hint)
        } else if output.isStandardOutput {
            let text = client.json ? summary.description : String(Outline.text(summary, .plain).dropLast())
            Terminal.writeError(text)
        } else {
            var answer: JSONObject = ["file": .string(file)]
            for name in summary.object?.names ?? [] { answer[name] = summary[name] }
            client.show(.object(answer), text: Outline.text)
        }
        let outcome = ExportOutcome(summary)
        for remark in outcome.remarks { Terminal.writeError("larder: \(remark)") }
        if outcome.exitStatus != 0 { throw ExitCode(outcome.exitStatus) }
    }
}

/// The outcome of an export, by its summary: the remarks for people, and the exit status.
struct ExportOutcome {
    private(set) var remarks: [String] = []
    private(set) var exitStatus: Int32 = 0

    private static let reasons = [
        ("partition", "is", "are", "in a user's partition"), ("origin", "is", "are", "`private` or came with a cookie"),
        ("credentials", "was", "were", "sent to a request with credentials"),
        ("configured", "is", "are", "at a URL to which the configuration adds credentials"),
        ("url", "has", "have", "a secret in the URL"), ("refused", "is", "are", "not for clients any more"),
    ]

    init(_ summary: JSONValue) {
        func note(_ name: String, _ remark: (Int) -> String) -> Bool {
            guard let count = summary["leftOut"]?[name]?.int, count > 0 else { return false }
            remarks.append(remark(count))
            return true
        }
        let hasPrivate = note("private") { ExportOutcome.privateRemark($0, "includes") }
        let reasons = ExportOutcome.reasons.compactMap { name, one, many, words in
            (summary["leftOut"]?["privateBecause"]?[name]?.int).map { "\(Quantity.count($0, one, many)) \(words)" }
        }
        if hasPrivate, !reasons.isEmpty { remarks.append("of those, " + reasons.joined(separator: "; ")) }
        let hasDamaged = note("damaged") { Quantity.count($0, "was", "were") + " damaged on disk and left out" }
        let hasUnreadable = note("unreadable") {
            Quantity.count(
                $0, "could not be read and was left out; it is", "could not be read and were left out; they are")
                + " still stored: export again, and see the log"
        }
        if hasUnreadable {
            exitStatus = ExitCode.failure.rawValue
        } else if summary["entities"]?.int == 0 {
            exitStatus = CommandFailure.nothingMatched
            if !hasPrivate, !hasDamaged { remarks.append("nothing matched") }
        }
    }

    static func privateRemark(_ count: Int, _ verb: String) -> String {
        "\(Quantity.count(count)) that may be one user's alone \(count == 1 ? "was" : "were") left out; --private \(verb) "
            + (count == 1 ? "it" : "them")
    }
}

/// `larder import`
struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take in what `larder export` wrote.",
        discussion: """
            Each response is stored as soon as its digests are right, if the configuration that its URL has here \
            stores such responses; what is stored already and as new stays. An import that breaks off loses nothing, \
            says what it has stored, and can be repeated. Responses of users are taken with --private: those in \
            partitions only where they were exported, and there those of a service's one user only while the service \
            has the same credentials. Exit status 1 when the archive is not whole, or some of it was refused.
            """)

    @Argument(help: ArgumentHelp("The file, or - for standard input.", valueName: "file"))
    var file: String

    @Flag(name: .customLong("private"), help: "Also what may be one user's alone.")
    var includesPrivate = false

    @OptionGroup var client: ClientOptions

    func run() throws {
        let target = AdminClient.target("/-/import", includesPrivate ? [(name: "private", value: "true")] : [])
        let source = try ImportedFile(file)
        let progress = TransferProgress(total: source.length)
        defer { progress.end() }
        let answer = try client.adminClient().upload(source, target) { progress.add($0) }
        progress.end()
        client.show(answer, text: Outline.text)
        if let left = answer["private"]?.int, left > 0 {
            Terminal.writeError("larder: \(ExportOutcome.privateRemark(left, "takes"))")
        }
        if let problem = answer["problem"]?.string {
            throw CommandFailure(
                "the archive was not taken in to its end: \(Outline.printable(problem))",
                advice: "what is counted above is stored; export again, or copy the file again")
        }
        if let refused = answer["refused"]?.int, refused > 0 {
            throw CommandFailure(
                "\(Quantity.count(refused, "response was", "responses were")) refused",
                advice: refused == 1 ? "the reason stands above" : "the reasons stand above")
        }
    }
}
