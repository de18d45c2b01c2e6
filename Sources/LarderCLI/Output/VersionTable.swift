// SPDX-License-Identifier: Apache-2.0

import Larder

/// The versions of a resource as a table, one to a line.
enum VersionTable {
    private struct Column: Sendable {
        let heading: String
        var side = Columns.Side.left
        /// Columns with a higher one are dropped first where there is no room.
        let spare: Int
        let text: @Sendable (JSONValue) -> String
    }

    private static let columns = [
        Column(heading: "", spare: 0) { $0["isCurrent"]?.bool == true ? "*" : "" },
        Column(heading: "first seen", spare: 0) { plain($0, "firstSeen") },
        Column(heading: "last seen", spare: 1) { plain($0, "lastSeen") },
        Column(heading: "age", side: .right, spare: 2) { plain($0, "age") },
        Column(heading: "status", side: .right, spare: 5) { plain($0, "status") },
        Column(heading: "size", side: .right, spare: 0) { plain($0, "bytes") },
        Column(heading: "content", spare: 0) { String(plain($0, "digest").prefix(12)) },
        Column(heading: "type", spare: 3) { plain($0, "type") },
        Column(heading: "validator", spare: 4) { $0["eTag"] == nil ? plain($0, "lastModified") : plain($0, "eTag") },
        Column(heading: "for", spare: 0) { version in
            let selectors = version["selectedBy"]?.array?.compactMap(\.string) ?? []
            return Outline.printable(selectors.joined(separator: ", "))
        },
    ]

    /// - Parameter width: the line width in characters; nil for unlimited.
    static func text(_ answer: JSONValue, _ style: TextStyle, width: Int? = nil) -> String {
        let versions = answer["versions"]?.array ?? []
        var shown = columns.filter { column in versions.contains { !["", "-"].contains(column.text($0)) } }
        func needed() -> Int {
            shown.reduce(-2) { sum, column in
                sum + 2 + max(column.heading.count, versions.map { column.text($0).count }.max() ?? 0)
            }
        }
        while let width, needed() > width, let last = shown.indices.max(by: { shown[$0].spare < shown[$1].spare }),
            shown[last].spare > 0
        {
            shown.remove(at: last)
        }
        var table = Columns(sides: shown.map(\.side), heading: shown.map(\.heading))
        table.rows = versions.map { version in shown.map { $0.text(version) } }
        return table.text(style)
    }

    private static func plain(_ version: JSONValue, _ name: String) -> String {
        version[name].map { Outline.plain($0, name: name) } ?? "-"
    }
}
