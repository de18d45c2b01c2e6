// SPDX-License-Identifier: Apache-2.0

import Larder

/// A list of resources as a table, one to a line, the URL last because it is long.
enum ResourceTable {
    /// The columns in their order; those that no resource has are left out.
    private static let columns: [(name: String, heading: String, side: Columns.Side)] = [
        ("state", "state", .left), ("status", "status", .right), ("bytes", "size", .right), ("age", "age", .right),
        ("ttl", "fresh for", .right), ("hits", "hits", .right), ("service", "service", .left),
    ]

    /// `answer` is an array of resources, or an object that has one as `resources` and may say with `total` how
    /// many there are in all.
    static func text(_ answer: JSONValue, _ style: TextStyle) -> String {
        let resources = answer.array ?? answer["resources"]?.array ?? []
        guard !resources.isEmpty else { return "no resources\n" }
        let present = columns.filter { column in
            resources.contains { $0[column.name] != nil && $0[column.name] != .null }
        }
        var table = Columns(
            sides: present.map(\.side) + [.left], heading: present.map(\.heading) + ["URL"])
        for resource in resources {
            table.rows.append(
                present.map { column in
                    resource[column.name].map { Outline.plain($0, name: column.name) } ?? "-"
                } + [Outline.printable(resource["url"]?.string ?? "?")])
        }
        let more = (answer["total"]?.int ?? resources.count) - resources.count
        let footer = more > 0 ? style.dim("and \(Quantity.count(more)) more; narrow it with a pattern") + "\n" : ""
        return table.text(style) + footer
    }
}
