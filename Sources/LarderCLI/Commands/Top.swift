// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import Larder
import LarderHTTP

/// `larder top`
struct Top: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show rates, services and requests as they happen.",
        discussion: """
            On a terminal the picture is made anew every second, and Ctrl-C ends it; elsewhere it is plain text, one \
            picture after the other. Of many hits in a second only some are among the requests.
            """)

    @Option(name: .shortAndLong, help: ArgumentHelp("How many pictures (default: on and on).", valueName: "count"))
    var number: Int?

    @Option(name: .shortAndLong, help: ArgumentHelp("Seconds between them, 1 to 3600.", valueName: "seconds"))
    var interval = 1

    @OptionGroup var client: ClientOptions

    func validate() throws {
        guard (1...3_600).contains(interval) else {
            throw ValidationError("found --interval \(interval); expected a number from 1 to 3600")
        }
        if let number, number < 1 { throw ValidationError("found --number \(number); expected 1 or more") }
    }

    func run() throws {
        let isTerminal = Terminal.size != nil && !client.json
        if isTerminal {
            // The previous screen is restored at the end, however the command ends.
            signal(SIGINT) { _ in
                let rest: StaticString = "\u{1B}[?25h\u{1B}[?1049l"
                _ = Glibc.write(STDOUT_FILENO, rest.utf8Start, rest.utf8CodeUnitCount)
                _exit(0)
            }
            Terminal.write("\u{1B}[?1049h\u{1B}[?25l")
        }
        defer { if isTerminal { Terminal.write("\u{1B}[?25h\u{1B}[?1049l") } }
        var last: TopPicture.Moment?
        var left = number
        while left != 0 {
            let status = try client.answer(.get, "/-/status")
            let requests = try client.answer(.get, "/-/requests", [("limit", "200")])
            if client.json {
                Terminal.write(
                    JSONValue.object(["status": status, "requests": requests["requests"] ?? []]).description + "\n")
            } else {
                let moment = TopPicture.Moment(status, at: ContinuousClock.now)
                let size = Terminal.size
                let picture = TopPicture(
                    status: status, requests: requests["requests"]?.array ?? [], last: last, moment: moment,
                    style: client.style, width: size?.columns ?? 100, height: size.map { $0.rows } ?? 30)
                let home = isTerminal ? "\u{1B}[H\u{1B}[2J" : ""
                Terminal.write(home + picture.text + (isTerminal ? "" : "\n"))
                last = moment
            }
            left = left.map { $0 - 1 }
            if left != 0 { sleep(UInt32(interval)) }
        }
    }
}

/// One view of the daemon's activity.
struct TopPicture {
    /// The counters at a moment.
    struct Moment {
        let time: ContinuousClock.Instant
        /// Requests by the name of the service; without one, all of them.
        let counts: [String: Int]
        let saved: Int

        init(_ status: JSONValue, at time: ContinuousClock.Instant) {
            self.time = time
            var counts = ["": TopPicture.requests(status["requests"])]
            for service in status["services"]?.array ?? [] {
                counts[service["name"]?.string ?? "?"] = TopPicture.requests(service["requests"])
            }
            counts["-"] = TopPicture.requests(status["otherHosts"]?["requests"])
            self.counts = counts
            saved = status["bytes"]?["saved"]?.int ?? 0
        }
    }

    let status: JSONValue
    let requests: [JSONValue]
    let last: Moment?
    let moment: Moment
    let style: TextStyle
    let width: Int
    let height: Int

    var text: String {
        var lines = head + [""] + services + [""]
        let room = max(3, height - lines.count - 2)
        lines.append(style.bold("outcome   status   took      size  request"))
        lines += requests.prefix(room).map { RequestLines.line($0, style, width: width) }
        if requests.isEmpty { lines.append(style.dim("no requests yet")) }
        return lines.joined(separator: "\n") + "\n"
    }

    private var head: [String] {
        let uptime = status["uptimeSeconds"]?.double.map(Quantity.seconds) ?? "?"
        let state = status["state"]?.string ?? "?"
        let word = state == "serving" ? style.good(state) : style.bad(state)
        var lines = [
            style.bold("Larder \(Outline.printable(status["version"]?.string ?? "?"))") + "  \(word), up \(uptime)"
        ]
        let latency = status["latencyMilliseconds"]
        func median(_ name: String) -> String {
            Quantity.latency((latency?[name]?["p50"]?.double ?? 0) / 1_000)
        }
        lines += folded([
            "\(rate(of: "")) requests/s", "hit ratio \(Quantity.percent(status["hitRatio"]?.double ?? 0))",
            "hits \(median("hits"))", "loads \(median("loads"))", "saved \(Quantity.bytes(moment.saved))",
        ])
        let memory = Quantity.bytes(status["memory"]?["bytes"]?.int ?? 0)
        let disk = Quantity.bytes(status["disk"]?["bytes"]?.int ?? 0)
        lines += folded([
            "memory \(memory)", "disk \(disk)", "resources \(Quantity.count(status["resources"]?.int ?? 0))",
            "connections \(status["connections"]?["open"]?.int ?? 0)",
        ])
        if let reload = status["configuration"]?["latest"], reload["accepted"]?.bool == false {
            lines.append(style.bad("the changed configuration was refused; `larder reload` says why"))
        }
        return lines
    }

    /// The facts side by side, in as many lines as the width demands.
    private func folded(_ facts: [String]) -> [String] {
        facts.reduce(into: []) { lines, fact in
            if let last = lines.last, last.count + 3 + fact.count <= width {
                lines[lines.count - 1] = last + "   " + fact
            } else {
                lines.append(fact)
            }
        }
    }

    private var services: [String] {
        var table = Columns(
            sides: [.left, .right, .right, .right, .right, .right, .right],
            heading: ["service", "req/s", "requests", "hit ratio", "saved", "hits", "loads"])
        var all = (status["services"]?.array ?? []).map { ($0["name"]?.string ?? "?", $0) }
        if let others = status["otherHosts"], TopPicture.requests(others["requests"]) > 0 { all.append(("-", others)) }
        all.sort { (moment.counts[$1.0] ?? 0, $0.0) < (moment.counts[$0.0] ?? 0, $1.0) }
        let room = max(3, height / 3)
        for (name, service) in all.prefix(room) {
            let latency = service["latencyMilliseconds"]
            func median(_ name: String) -> String {
                Quantity.latency((latency?[name]?["p50"]?.double ?? 0) / 1_000)
            }
            let isOffline = service["offline"]?.bool == true
            let shown = name == "-" ? "(other hosts)" : Outline.printable(name)
            table.rows.append([
                shown + (isOffline ? " offline" : ""), rate(of: name), Quantity.count(moment.counts[name] ?? 0),
                Quantity.percent(service["hitRatio"]?.double ?? 0),
                Quantity.bytes(service["bytes"]?["saved"]?.int ?? 0),
                median("hits"), median("loads"),
            ])
        }
        if table.rows.isEmpty { return [style.dim("no services")] }
        var lines = table.text(style).split(separator: "\n").map(String.init)
        if all.count > room { lines.append(style.dim("and \(all.count - room) more")) }
        return lines
    }

    /// Requests per second, since the previous view.
    private func rate(of name: String) -> String {
        guard let last else { return "-" }
        let seconds =
            Double((moment.time - last.time).components.attoseconds) / 1e18
            + Double((moment.time - last.time).components.seconds)
        let count = (moment.counts[name] ?? 0) - (last.counts[name] ?? 0)
        guard seconds > 0, count > 0 else { return "0" }
        let rate = Double(count) / seconds
        return rate < 10 ? "\((rate * 10).rounded() / 10)" : Quantity.count(Int(rate.rounded()))
    }

    /// All requests but those to Larder itself.
    static func requests(_ counts: JSONValue?) -> Int {
        guard let counts = counts?.object else { return 0 }
        return counts.names.filter { $0 != "own" }.reduce(0) { $0 + (counts[$1]?.int ?? 0) }
    }
}
