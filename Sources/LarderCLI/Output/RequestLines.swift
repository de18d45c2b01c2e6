// SPDX-License-Identifier: Apache-2.0

import Larder

/// Requests for people: a line each, the outcome first.
enum RequestLines {
    /// - Parameter width: the line width in characters; nil for unlimited.
    static func line(_ note: JSONValue, _ style: TextStyle, width: Int? = nil) -> String {
        let outcome = Outline.printable(note["outcome"]?.string ?? "?")
        let status = note["status"]?.int.map { $0 == 0 ? "-" : "\($0)" } ?? "-"
        let took = Quantity.latency(note["seconds"]?.double ?? 0)
        let size = Quantity.bytes(note["bytes"]?.int ?? 0)
        var front = "\(padded(outcome, 9)) \(padded(status, 3)) "
        if hasTimes(width) { front += "\(left(took, 7)) \(left(size, 9))  " }
        let name = Outline.printable("\(note["method"]?.string ?? "?") \(note["url"]?.string ?? "?")")
        let shown = width.map { ResourceTable.shortened(name, to: max(12, $0 - front.count)) } ?? name
        let reason = Outline.printable(note["problem"]?.string ?? note["reason"]?.string ?? "")
        let rest = width == nil ? "  \(style.dim(reason))" : ""
        let word = padded(outcome, 9)
        let coloured =
            ["hit", "validated", "collapsed"].contains(outcome)
            ? style.good(word) : ["error", "aborted"].contains(outcome) ? style.bad(word) : word
        return coloured + front.dropFirst(word.count) + shown + rest
    }

    /// The names of the columns.
    static func heading(width: Int?) -> String {
        hasTimes(width) ? "outcome   status   took      size  request" : "outcome        request"
    }

    /// True if lines of this width have room for durations and sizes.
    private static func hasTimes(_ width: Int?) -> Bool { width ?? .max >= 60 }

    static func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    static func left(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

extension Quantity {
    /// `12 µs`, `3.4 ms`, `1.2 s`.
    static func latency(_ seconds: Double) -> String {
        func short(_ value: Double) -> String {
            value < 9.95 ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
        }
        if seconds <= 0 { return "-" }
        if seconds < 0.001 { return "\(short(seconds * 1e6)) µs" }
        return seconds < 1 ? "\(short(seconds * 1e3)) ms" : "\(short(min(seconds, 1e9))) s"
    }
}
