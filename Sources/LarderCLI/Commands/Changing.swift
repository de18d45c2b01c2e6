// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder load`
struct Load: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "load", abstract: "Ask the origin for a resource, fresh or not.",
        discussion: "Exit status 1 when the origin could not be asked, or answered with an error.")

    @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
    var url: String

    @Flag(help: "Ask only if what is stored is not up to date, or nothing is.")
    var ifNeeded = false

    @OptionGroup var headers: RequestHeaders
    @OptionGroup var client: ClientOptions

    func run() throws {
        let answer = try client.answer(
            .post, ifNeeded ? "/-/resource/load-if-needed" : "/-/resource/load",
            [("url", Diagnosis.meantURL(url))] + headers.parameters)
        client.show(answer, text: Outline.text)
        guard let failure = Warming.failure(in: answer) else { return }
        throw CommandFailure(
            failure,
            advice: url.contains("*") ? "`*` is part of the URL here; `larder warm` loads many, from a list" : nil)
    }
}

/// `larder cancel`
struct Cancel: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: "Cancel the loads of a resource that are under way.",
        discussion: """
            Clients that wait for them get an error, or what is stored if it may stand in for one. Exit status 2 when \
            none was under way.
            """)

    @Argument(help: ArgumentHelp("The URL.", valueName: "url"))
    var url: String

    @OptionGroup var client: ClientOptions

    func run() throws {
        try client.change(
            "/-/resource/cancel", [("url", Diagnosis.meantURL(url))], counted: "cancelled",
            none: "no load was under way")
    }
}

/// One resource, or those that a pattern selects.
struct Selection: ParsableArguments {
    @Argument(help: ArgumentHelp("The URL of one resource.", valueName: "url"))
    var url: String?

    @Option(help: ArgumentHelp("A pattern of resources, as in a configure block.", valueName: "pattern"))
    var match: String?

    @Option(help: ArgumentHelp("A group of responses, by Cache-Groups or the surrogate key.", valueName: "name"))
    var group: String?

    @Option(help: ArgumentHelp("Where the group is, as https://api.github.com (default: anywhere).", valueName: "url"))
    var origin: String?

    func validate() throws {
        let advice = "name a URL, resources with --match PATTERN, or a group with --group NAME"
        if [url, match, group].contains("") { throw ValidationError("what is named is empty: \(advice)") }
        switch [url, match, group].count(where: { $0 != nil }) {
        case 0: throw ValidationError(advice)
        case 1: break
        default: throw ValidationError("a URL, --match and --group exclude each other")
        }
        if let url, url.contains("*") {
            throw ValidationError(
                "'\(url)' has a wildcard: for all resources that it matches write --match '\(url)', for the one URL "
                    + "write %2A in place of *")
        }
        if origin != nil, group == nil { throw ValidationError("--origin says where a group is; add --group NAME") }
    }

    /// The path of an action, and the parameters of its selection.
    func target(_ action: String) -> (path: String, parameters: [(name: String, value: String)]) {
        if let url { return ("/-/resource/\(action)", [("url", Diagnosis.meantURL(url))]) }
        if let group { return ("/-/\(action)", [("group", group)] + (origin.map { [("origin", $0)] } ?? [])) }
        return ("/-/\(action)", [("match", match ?? "")])
    }
}

/// `larder invalidate`
struct Invalidate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invalidate",
        abstract: "Mark resources out of date, so that the next request asks the origin.",
        discussion: """
            The stored responses stay: they are validated, and served if the origin fails. Exit status 2 when \
            nothing matched.
            """)

    @OptionGroup var selection: Selection
    @OptionGroup var client: ClientOptions

    func run() throws {
        let (path, parameters) = selection.target("invalidate")
        try client.change(path, parameters, counted: "invalidated")
    }
}

/// `larder wipe`
struct Wipe: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wipe",
        abstract: "Forget resources: what is in memory and what is stored.",
        discussion: """
            Pinned resources (`larder pin`) stay, and are counted, unless --pinned says otherwise. Exit status 2 when \
            nothing matched.
            """)

    @OptionGroup var selection: Selection

    @Flag(help: "Forget only what is in memory; the next request reads it from disk again.")
    var keepStored = false

    @Flag(help: "Forget pinned resources as well, and their pins.")
    var pinned = false

    @Flag(help: "Only say how many would be forgotten.")
    var dryRun = false

    @OptionGroup var client: ClientOptions

    func run() throws {
        let (path, parameters) = selection.target("wipe")
        let caches = (name: "caches", value: keepStored ? "keep" : "remove")
        let trial = dryRun ? [(name: "dryRun", value: "true")] : []
        let pins = pinned ? [(name: "pinned", value: "true")] : []
        try client.change(path, parameters + [caches] + pins + trial, counted: dryRun ? "wouldWipe" : "wiped")
    }
}

extension ClientOptions {
    /// Has the daemon change resources and prints their number, from the member `name` of its response.
    fileprivate func change(
        _ path: String, _ parameters: [(name: String, value: String)], counted name: String,
        none: String = "nothing matched"
    ) throws {
        let answer = try answer(.post, path, parameters)
        let counts = answer[name]
        let count = counts?.int ?? max(counts?["memory"]?.int ?? 0, counts?["disk"]?.int ?? 0)
        show(answer, text: Outline.text)
        if let left = counts?["pinned"]?.int ?? answer["pinned"]?.int, left > 0 {
            Terminal.writeError("larder: \(Quantity.count(left)) pinned were left; --pinned includes them")
            return
        }
        guard count == 0 else { return }
        if let unchanged = answer["unchanged"]?.int, unchanged > 0 {
            Terminal.writeError("larder: what matches is out of date already")
            return
        }
        throw nothingMatched(parameters.first { $0.name == "match" }?.value, none)
    }
}
