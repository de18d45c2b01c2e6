// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder offline`
struct OfflineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "offline", abstract: "Say whether origins are asked, or change it.",
        discussion: """
            on          never ask
            off         ask as the rules say
            auto        as `on` while they are out of reach
            configured  as the configuration says (`offline`)

            Without origins, clients get what is stored, whatever its age, else a 504 that names what is stored nearby. \
            With `auto` that is so for as long as the origin, or the whole network, is out of reach.

            The choice counts at once and outlives a reload of the configuration, but not the daemon. Without a \
            service it is for all of them, and forgets what was chosen for single ones. Requests that no service \
            claims belong to the service `-`.
            """)

    enum Mode: String, ExpressibleByArgument, CaseIterable {
        case on, off, auto, configured
    }

    @Argument(help: "on, off, auto or configured (default: only say how it is).")
    var mode: Mode?

    @Argument(help: ArgumentHelp("A service (default: all).", valueName: "service"))
    var service: String?

    @OptionGroup var client: ClientOptions

    func run() throws {
        guard let mode else { return try client.perform(.get, "/-/offline", text: OfflineText.text) }
        let chosen = [(name: "mode", value: mode.rawValue)] + (service.map { [(name: "service", value: $0)] } ?? [])
        try client.perform(.post, "/-/offline", chosen, text: OfflineText.text)
    }
}

/// The content of `/-/offline`: a sentence for all, a line for each service.
enum OfflineText {
    static func text(_ report: JSONValue, _ style: TextStyle) -> String {
        let chosen = report["chosen"]?.string
        var text = "mode \(style.bold(report["mode"]?.string ?? "?"))"
        text += chosen == nil ? ", as configured\n" : ", chosen until the daemon ends\n"
        if report["networkLost"]?.bool == true { text += style.bad("no origin can be reached") + "\n" }
        var lines = Columns(sides: [.left, .left, .left], heading: ["service", "mode", ""])
        for service in report["services"]?.array ?? [] {
            let name = service["name"]?.string ?? "?"
            lines.rows.append([
                name == ServiceTable.othersName ? ServiceTable.others : Outline.printable(name),
                service["mode"]?.string ?? "?",
                service["offline"]?.bool == true ? "not asking" : "asking",
            ])
        }
        return lines.rows.isEmpty ? text : text + "\n" + lines.text(style)
    }
}
