// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// Text in aligned columns.
struct Columns {
    enum Side { case left, right }

    var sides: [Side]
    var rows: [[String]] = []
    /// A row in bold above the others.
    var heading: [String]?
    var separator = "  "

    /// The rows, each with a line end; nothing follows the last column.
    func text(_ style: TextStyle) -> String {
        let all = (heading.map { [$0] } ?? []) + rows
        let widths = sides.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        var text = ""
        for (index, row) in all.enumerated() {
            var line = ""
            for (column, cell) in row.enumerated() {
                if column > 0 { line += separator }
                let gap = String(repeating: " ", count: widths[column] - cell.count)
                line += sides[column] == .right ? gap + cell : cell + gap
            }
            while line.last == " " { line.removeLast() }
            text += (heading != nil && index == 0 ? style.bold(line) : line) + "\n"
        }
        return text
    }

    /// Leaves out the last columns that do not fit into the width. The first two stay.
    mutating func narrow(to width: Int) {
        let all = (heading.map { [$0] } ?? []) + rows
        let widths = sides.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        var count = sides.count
        while count > 2, widths[..<count].reduce(0, +) + separator.count * (count - 1) > width { count -= 1 }
        sides = Array(sides.prefix(count))
        heading = heading.map { Array($0.prefix(count)) }
        rows = rows.map { Array($0.prefix(count)) }
    }

    /// Facts side by side, in as many lines as the width demands.
    static func folded(_ facts: [String], separator: String, width: Int) -> [String] {
        facts.reduce(into: []) { lines, fact in
            if let last = lines.last, last.count + separator.count + fact.count <= width {
                lines[lines.count - 1] = last + separator + fact
            } else {
                lines.append(fact)
            }
        }
    }
}

/// Quantities as people read them.
enum Quantity {
    /// `1 234 567`, with thin groups that line up.
    static func count(_ value: Int) -> String {
        let digits = Array(String(value.magnitude))
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += " " }
            text.append(digit)
        }
        return value < 0 ? "-" + text : text
    }

    /// `1 is`, `2 are`.
    static func count(_ value: Int, _ one: String, _ many: String) -> String {
        "\(count(value)) \(value == 1 ? one : many)"
    }

    /// `1 tunnel`, `2 tunnels`.
    static func plural(_ value: Int, _ noun: String) -> String { value == 1 ? "1 \(noun)" : "\(value) \(noun)s" }

    /// `1.5 MiB`: at most one decimal.
    static func bytes(_ value: Int) -> String {
        var unit = 0
        var size = Double(value)
        let units = ["B", "KiB", "MiB", "GiB", "TiB"]
        while size >= 1_024, unit < units.count - 1 {
            size /= 1_024
            unit += 1
        }
        return "\(decimal(size)) \(units[unit])"
    }

    /// `3 h 12 min`: the two largest units.
    static func seconds(_ value: Double) -> String { UnitText.roughly(.seconds(max(0, min(value, 1e9)))) }

    static func percent(_ ratio: Double) -> String { "\(decimal(ratio * 100)) %" }

    /// At most one decimal, and none that is 0.
    private static func decimal(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths % 10 == 0 ? String(tenths / 10) : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
