// SPDX-License-Identifier: Apache-2.0

import Larder

/// Events for people: a line each, first the event and then the state.
enum EventLines {
    /// - Parameters:
    ///   - event: the data of an event, as JSON.
    ///   - listsAll: whether what is there at first is listed.
    static func text(_ event: String, _ style: TextStyle, listsAll: Bool = true) throws -> String {
        let data = try JSONValue(answer: Array(event.utf8))
        if let resources = data["resources"]?.array {
            let note = data["isComplete"]?.bool == false ? " and more" : ""
            let ordered = resources.sorted { $0["url"]?.string ?? "" < $1["url"]?.string ?? "" }
            return (listsAll ? ordered.map { line("now", $0, style) }.joined() : "")
                + style.dim("watching \(Outline.plain(data["match"] ?? .null, name: nil)): ")
                + style.dim("\(resources.count)\(note) in memory") + "\n"
        }
        let name = data["event"]?.string ?? "?"
        switch name {
        case "observerAdded": return line("now", data, style)
        case "stoppedObserving": return style.dim("the daemon is stopping") + "\n"
        case "progress": return line(name, data, style)
        case "request": return RequestLines.line(data, style) + "\n"
        case "newData" where data["source"]?.string == "wipe": return line("wiped", data, style)
        case "newData": return line("new data, \(source(data["source"]?.string ?? "?"))", data, style)
        case "notModified": return line("not modified", data, style)
        default: return line(name, data, style)
        }
    }

    /// The source of new data in words.
    private static func source(_ name: String) -> String {
        switch name {
        case "network": "loaded"
        case "cache": "from disk"
        case "localOverride": "override"
        default: name
        }
    }

    private static func line(_ word: String, _ data: JSONValue, _ style: TextStyle) -> String {
        let word = Outline.printable(word)
        let gap = String(repeating: " ", count: max(1, 24 - word.count))
        let shown = word == "error" ? style.bad(word) : word.hasPrefix("new data") ? style.good(word) : word
        let url = Outline.printable(data["url"]?.string ?? "")
        let state = data["progress"]?.double.map(Quantity.percent) ?? state(data["state"] ?? .null)
        return "\(shown)\(gap)\(url)  \(style.dim(state))\n"
    }

    /// The state, in a few words.
    private static func state(_ state: JSONValue) -> String {
        var words: [String] = []
        if let latest = state["latestData"], latest != .null {
            words.append(
                latest["isOverride"]?.bool == true ? "override" : Outline.plain(latest["status"] ?? .null, name: nil))
            words.append(Outline.plain(latest["bytes"] ?? .null, name: "bytes"))
            words.append(state["isUpToDate"]?.bool == true ? "up to date" : "out of date")
        } else {
            words.append("no data")
        }
        if let failure = state["latestError"], failure != .null {
            let why =
                failure["error"]?.string
                ?? failure["status"].map { "the origin said \(Outline.plain($0, name: nil))" } ?? "?"
            words.append("failed: \(Outline.printable(why))")
        }
        if state["isLoading"]?.bool == true { words.append("loading") }
        return words.joined(separator: ", ")
    }
}
