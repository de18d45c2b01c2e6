// SPDX-License-Identifier: Apache-2.0

import Larder

/// The content of `/-/status`, on one screen.
enum StatusText {
    static func text(_ status: JSONValue, _ style: TextStyle) -> String {
        let version = status["version"]?.string ?? "?"
        let uptime = status["uptimeSeconds"]?.double.map(Quantity.seconds) ?? "?"
        var text = style.bold("Larder \(Outline.printable(version))") + ", up \(uptime)\n\n"

        var facts = Columns(sides: [.left, .left])
        if let ratio = status["hitRatio"]?.double { facts.rows.append(["hit ratio", Quantity.percent(ratio)]) }
        for tier in ["memory", "disk"] {
            guard let bytes = status[tier]?["bytes"]?.int else { continue }
            facts.rows.append([tier, usage(bytes, of: status[tier]?["limit"]?.int)])
        }
        if let resources = status["resources"]?.int {
            let stored = status["storedResponses"]?.int.map { ", \(Quantity.count($0)) responses on disk" } ?? ""
            let pins = status["store"]?["pinned"]?.int ?? 0
            let pinned = pins > 0 ? ", \(Quantity.count(pins)) pinned" : ""
            facts.rows.append(["resources", Quantity.count(resources) + " in memory" + stored + pinned])
        }
        text += facts.text(style)

        if let requests = status["requests"]?.object, !requests.isEmpty {
            var counts = Columns(sides: [.left, .right], heading: ["requests", ""])
            let order = StatusText.outcomes.filter(requests.names.contains)
            for name in order + requests.names.filter({ !order.contains($0) }) {
                guard let count = requests[name]?.int else { continue }
                counts.rows.append([Outline.printable(name), Quantity.count(count)])
            }
            text += "\n" + counts.text(style)
        }
        return text + rest(of: status, style)
    }

    private static func usage(_ bytes: Int, of limit: Int?) -> String {
        guard let limit, limit > 0 else { return Quantity.bytes(bytes) }
        let share = Quantity.percent(Double(bytes) / Double(limit))
        return "\(Quantity.bytes(bytes)) of \(Quantity.bytes(limit)) (\(share))"
    }

    /// The outcomes of requests, from the cheapest to failures.
    private static let outcomes = ["hit", "stale", "validated", "collapsed", "miss", "error", "tunnel"]

    /// The rest of the status, except the event loops: those are for `--json`.
    private static func rest(of status: JSONValue, _ style: TextStyle) -> String {
        var rest = JSONObject()
        let shown = [
            "version", "uptimeSeconds", "hitRatio", "memory", "disk", "resources", "storedResponses", "requests",
            "loops",
        ]
        for name in status.object?.names ?? [] where !shown.contains(name) { rest[name] = status[name] }
        return rest.isEmpty ? "" : "\n" + Outline.text(.object(rest), style)
    }
}
