// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Larder
import LarderHTTP

/// `larder top`
struct Top: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Show rates, services and requests as they happen.",
        discussion: """
            On a terminal the picture is made anew every second, and q or Ctrl-C ends it; elsewhere it is plain text, one \
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
                KeyReader.restore()
                _exit(0)
            }
            Terminal.write("\u{1B}[?1049h\u{1B}[?25l")
            KeyReader.begin()
        }
        defer {
            if isTerminal {
                KeyReader.restore()
                Terminal.write("\u{1B}[?25h\u{1B}[?1049l")
            }
        }
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
            if left != 0, KeyReader.waits(seconds: interval, for: "q") { break }
        }
    }
}

/// Reads single keys from the terminal, without showing them.
private enum KeyReader {
    /// The terminal's settings before. The main thread writes it once, before the handler of SIGINT can read it.
    private nonisolated(unsafe) static var former: termios?

    /// Does nothing where standard input is no terminal, or this program is in the background.
    static func begin() {
        var settings = termios()
        guard isatty(STDIN_FILENO) == 1, tcgetpgrp(STDIN_FILENO) == getpgrp(), tcgetattr(STDIN_FILENO, &settings) == 0
        else { return }
        former = settings
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }

    static func restore() {
        if var former { tcsetattr(STDIN_FILENO, TCSANOW, &former) }
    }

    /// Waits until the time is over, or until `key` is pressed; true for the key.
    static func waits(seconds: Int, for key: Character) -> Bool {
        guard former != nil else {
            sleep(UInt32(seconds))
            return false
        }
        let end = ContinuousClock.now + .seconds(seconds)
        while true {
            let left = (end - ContinuousClock.now) / .milliseconds(1)
            guard left > 0 else { return false }
            var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
            guard poll(&input, 1, Int32(left.rounded(.up))) > 0 else { continue }
            var octet: UInt8 = 0
            guard read(STDIN_FILENO, &octet, 1) == 1 else {
                // The terminal is gone.
                return true
            }
            if octet == key.asciiValue { return true }
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
            var counts = ["": ServiceTable.requests(status["requests"])]
            for service in status["services"]?.array ?? [] {
                counts[service["name"]?.string ?? "?"] = ServiceTable.requests(service["requests"])
            }
            counts[ServiceTable.othersName] = ServiceTable.requests(status["otherHosts"]?["requests"])
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
        lines.append(style.bold(RequestLines.heading(width: width)))
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
        lines += Columns.folded(
            [
                "\(rate(of: "")) requests/s", "hit ratio \(Quantity.percent(status["hitRatio"]?.double ?? 0))",
                "hits \(Quantity.median(latency?["hits"]))", "loads \(Quantity.median(latency?["loads"]))",
                "saved \(Quantity.bytes(moment.saved))",
            ], separator: "   ", width: width)
        let memory = Quantity.bytes(status["memory"]?["bytes"]?.int ?? 0)
        let disk = Quantity.bytes(status["disk"]?["bytes"]?.int ?? 0)
        lines += Columns.folded(
            [
                "memory \(memory)", "disk \(disk)", "resources \(Quantity.count(status["resources"]?.int ?? 0))",
                "connections \(status["connections"]?["open"]?.int ?? 0)",
            ], separator: "   ", width: width)
        return lines + StatusText.troubles(status).map(style.bad)
    }

    private var services: [String] {
        ServiceTable(status).lines(limit: max(3, height / 3), style, width: width, rate: rate)
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
}
