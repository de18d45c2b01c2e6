// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder list`
struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the resources and their state.",
        discussion: """
            A pattern is as in a configure block: /users/*, https://api.github.com/**. On a terminal, columns that have no \
            room are left out; --json has all of them. Exit status 2 when nothing matched.
            """)

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case size, age, hits, ttl, url
    }

    enum State: String, ExpressibleByArgument, CaseIterable {
        case fresh, stale, partial, error, loading, failed, overridden, written, invalidated
    }

    @Argument(help: "Which resources (default: all).")
    var pattern: String?

    @Option(
        help:
            "The order: largest first (size), oldest (age), most used (hits), stale soonest (ttl), or by url."
    )
    var sort: Order?

    @Option(help: ArgumentHelp("Only those in a state, as the list shows it.", valueName: "state"))
    var state: State?

    @Option(help: ArgumentHelp("How many at most, 1 to 10000.", valueName: "number"))
    var limit = 1_000

    @Flag(help: "All of them, however many there are.")
    var all = false

    @OptionGroup var client: ClientOptions

    func validate() throws {
        guard (1...10_000).contains(limit) else {
            throw ValidationError("found --limit \(limit); expected a number from 1 to 10000")
        }
        if all, sort != nil || state != nil {
            throw ValidationError("--all goes through pages, which have no order; leave out --sort and --state")
        }
    }

    func run() throws {
        var parameters = [(name: "limit", value: "\(limit)")]
        if let pattern { parameters.append(("match", pattern)) }
        if let sort { parameters.append(("sort", sort.rawValue)) }
        if let state { parameters.append(("state", state.rawValue)) }
        guard all else {
            let answer = try client.answer(.get, "/-/resources", parameters)
            let isEmpty = answer["resources"]?.array?.isEmpty ?? true
            if !isEmpty || client.json || isWhole {
                client.show(answer) { ResourceTable.text($0, $1, width: Terminal.width) }
            }
            return try end(isEmpty: isEmpty)
        }
        var after: String?
        var count = 0
        repeat {
            let page = try client.answer(
                .get, "/-/resources", parameters + (after.map { [("after", $0)] } ?? []))
            after = page["next"]?.string
            let resources = page["resources"]?.array ?? []
            if client.json {
                for resource in resources { Terminal.write(resource.description + "\n") }
            } else if !resources.isEmpty || count == 0 && after == nil && isWhole {
                Terminal.write(
                    ResourceTable.text(
                        .array(resources), client.style, width: Terminal.width, hasHeading: count == 0))
            }
            count += resources.count
        } while after != nil
        try end(isEmpty: count == 0)
    }

    /// True if the list is of everything.
    private var isWhole: Bool { pattern == nil && state == nil }

    private func end(isEmpty: Bool) throws {
        guard isEmpty, !isWhole else { return }
        throw client.nothingMatched(pattern)
    }
}
