// SPDX-License-Identifier: Apache-2.0

import Larder

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
