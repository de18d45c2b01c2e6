// SPDX-License-Identifier: Apache-2.0

import Larder

/// A list of resources as a table, one to a line, the URL last because it is long.
enum ResourceTable {
    private struct Column {
        let name, heading: String
        let side: Columns.Side
        /// Columns with a higher one are dropped first where there is no room.
        let spare: Int
    }

    /// The columns in order; those without values are left out.
    private static let columns = [
        Column(name: "state", heading: "state", side: .left, spare: 0),
        Column(name: "status", heading: "status", side: .right, spare: 3),
        Column(name: "bytes", heading: "size", side: .right, spare: 1),
        Column(name: "age", heading: "age", side: .right, spare: 2),
        Column(name: "ttl", heading: "fresh for", side: .right, spare: 4),
        Column(name: "hits", heading: "hits", side: .right, spare: 1),
        Column(name: "versions", heading: "versions", side: .right, spare: 4),
        Column(name: "pinned", heading: "pinned", side: .left, spare: 3),
        Column(name: "service", heading: "service", side: .left, spare: 5),
        // Enough of its name to tell partitions apart.
        Column(name: "partition", heading: "partition", side: .left, spare: 0),
    ]

    /// The minimum width of a URL.
    private static let leastURL = 36

    /// `answer` is an array of resources, or an object with one as `resources` and possibly the `total` number.
    ///
    /// - Parameter width: the line width in characters; nil for unlimited.
    static func text(_ answer: JSONValue, _ style: TextStyle, width: Int? = nil, hasHeading: Bool = true) -> String {
        let resources = answer.array ?? answer["resources"]?.array ?? []
        guard !resources.isEmpty else { return "no resources\n" }
        let present = columns.filter { column in
            resources.contains { $0[column.name] != nil && $0[column.name] != .null }
        }
        let (shown, room) = fitting(present, resources, width)
        var table = Columns(
            sides: shown.map(\.side) + [.left], heading: hasHeading ? shown.map(\.heading) + ["URL"] : nil)
        for resource in resources {
            let url = Outline.printable(resource["url"]?.string ?? "?")
            table.rows.append(shown.map { cell($0, of: resource) } + [room.map { shortened(url, to: $0) } ?? url])
        }
        let more = (answer["total"]?.int ?? resources.count) - resources.count
        let advice = answer["next"] == nil ? "raise --limit" : "narrow it with a pattern, or --all"
        let footer = more > 0 ? style.dim("and \(Quantity.count(more)) more; \(advice)") + "\n" : ""
        return table.text(style) + footer + leftovers(in: resources, style)
    }

    /// How what former services have left is removed: commands with a URL do not find it.
    private static func leftovers(in resources: [JSONValue], _ style: TextStyle) -> String {
        let left = resources.filter { $0["leftover"]?.bool == true }
        guard let url = left.first?["url"]?.string?.prefix(while: { $0 != "?" }) else { return "" }
        let some = left.count == 1 ? "1 is" : "\(Quantity.count(left.count)) are"
        return style.dim(
            "\(some) left over from former services, whose names no longer stand in the configuration; to remove such: "
                + "larder wipe --match '\(Outline.printable(String(url)))'") + "\n"
    }

    private static func cell(_ column: Column, of resource: JSONValue) -> String {
        // Stale ones are not fresh for any time.
        if column.name == "ttl", let left = resource["ttl"]?.double, left < 0 { return "-" }
        if column.name == "partition" { return resource[column.name]?.string.map { String($0.prefix(8)) } ?? "-" }
        if column.name == "service", resource["leftover"]?.bool == true {
            return Outline.printable(resource["service"]?.string ?? "?") + " (former)"
        }
        let text = resource[column.name].map { Outline.plain($0, name: column.name) } ?? "-"
        guard column.name == "bytes", resource["state"]?.string == "partial" else { return text }
        return text + " of " + (resource["completeBytes"]?.int.map(Quantity.bytes) ?? "more")
    }

    /// The columns that leave room for a URL, and how much.
    private static func fitting(
        _ columns: [Column], _ resources: [JSONValue], _ width: Int?
    ) -> (columns: [Column], room: Int?) {
        guard let width else { return (columns, nil) }
        var shown = columns
        func room() -> Int {
            width
                - shown.reduce(0) { sum, column in
                    sum + 2 + max(column.heading.count, resources.map { cell(column, of: $0).count }.max() ?? 0)
                }
        }
        while room() < leastURL, let last = shown.indices.max(by: { shown[$0].spare < shown[$1].spare }),
            shown[last].spare > 0
        {
            shown.remove(at: last)
        }
        return (shown, max(room(), 12))
    }

    /// The beginning and the end of a URL, its most informative parts.
    static func shortened(_ url: String, to room: Int) -> String {
        guard url.count > room else { return url }
        let tail = room / 2
        return url.prefix(room - tail - 1) + "…" + url.suffix(tail)
    }
}
