// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder pin`
struct Pin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Keep what is stored now from eviction, for CI or a journey; without a pattern, list the pins.",
        discussion: """
            A pin is of a resource, whatever is stored for it later, and lasts over restarts until `larder unpin`. \
            Pinned responses grow stale like others; `larder offline on` has them served whatever their age. All pins \
            together may take half of cache.disk. Exit status 2 when nothing matched.
            """)

    @Argument(help: "Which resources: /users/*, https://api.github.com/**.")
    var pattern: String?

    @OptionGroup var client: ClientOptions

    func run() throws {
        guard let pattern else {
            return client.show(try client.answer(.get, "/-/pins")) { PinTable.text($0, $1) }
        }
        let answer = try client.answer(.post, "/-/pins", [("match", pattern)])
        client.show(answer, text: Outline.text)
        try client.expectMatches(answer["pinned"]?.int, pattern)
    }
}

/// `larder unpin`
struct Unpin: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Let what was pinned be evicted again.",
        discussion: "Nothing is removed by this. Exit status 2 when nothing matched.")

    @Argument(help: "Which pinned resources; ** for all.")
    var pattern: String

    @OptionGroup var client: ClientOptions

    func run() throws {
        let answer = try client.answer(.delete, "/-/pins", [("match", pattern)])
        client.show(answer, text: Outline.text)
        try client.expectMatches(answer["unpinned"]?.int, pattern)
    }
}

extension ClientOptions {
    /// Says it and ends with its exit status where nothing matched.
    ///
    /// - Parameter pattern: what was to match.
    func expectMatches(_ count: Int?, _ pattern: String?) throws {
        guard count == 0 else { return }
        throw nothingMatched(pattern)
    }

    /// Says that nothing matched, and what may have been meant; returns the exit status for it.
    func nothingMatched(_ pattern: String?, _ words: String = "nothing matched") -> ExitCode {
        Terminal.writeError("larder: \(words)" + (hint(about: pattern).map { "; \($0)" } ?? ""))
        return ExitCode(CommandFailure.nothingMatched)
    }

    /// Words about a pattern that matches nothing, where it is known how it was meant.
    func hint(about pattern: String?) -> String? {
        guard let pattern, pattern.hasPrefix("/"), let status = try? answer(.get, "/-/status") else { return nil }
        return GatewayPattern.meant(by: pattern, status["services"]?.array ?? [])
    }
}

/// The list of pins.
enum PinTable {
    static func text(_ answer: JSONValue, _ style: TextStyle) -> String {
        let pins = answer["pins"]?.array ?? []
        guard !pins.isEmpty else { return "nothing is pinned\n" }
        let more = (answer["total"]?.int ?? pins.count) - pins.count
        let sum = Quantity.bytes(answer["pinnedBytes"]?.int ?? 0)
        let limit = Quantity.bytes(answer["limitBytes"]?.int ?? 0)
        return ResourceTable.text(.array(pins), style, width: Terminal.width)
            + (more > 0 ? style.dim("and \(Quantity.count(more)) more") + "\n" : "")
            + "\(sum) of \(limit) on disk, overhead included\n"
    }
}

/// A pattern that begins with a service's mount, as the gateway's paths do: patterns do not, and it matches nothing.
enum GatewayPattern {
    /// The words about it; nil where the pattern begins with no mount.
    ///
    /// - Parameter services: those in the daemon's status.
    static func meant(by pattern: String, _ services: [JSONValue]) -> String? {
        var best: (mount: String, name: String, base: String)?
        for service in services {
            guard let name = service["name"]?.string, let base = service["baseURL"]?.string,
                let mount = service["mount"]?.string, mount != "/",
                pattern.hasPrefix(mount) || pattern + "/" == mount, mount.count > best?.mount.count ?? 0
            else { continue }
            best = (mount, name, base)
        }
        guard let best else { return nil }
        let path = pattern.dropFirst(best.mount.count)
        let absolute = best.base + (best.base.hasSuffix("/") ? "" : "/") + (path.isEmpty ? "**" : path)
        return "patterns are below a service's base URL, without its mount: for `\(best.name)`, '\(absolute)'"
    }
}
