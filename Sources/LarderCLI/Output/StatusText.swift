// SPDX-License-Identifier: Apache-2.0

import Larder

/// The content of `/-/status` on one screen: whether the daemon is well, what it saves, and what is wrong.
enum StatusText {
    /// How many lines a table has before the rest is only counted.
    private static let limit = 10
    /// The width of lines that are folded.
    private static let width = 80

    static func text(_ status: JSONValue, _ style: TextStyle) -> String {
        let troubles = troubles(status).map { style.bad($0) + "\n" }.joined()
        var sections = [head(status, style), troubles, facts(status).text(style)]
        sections.append(ServiceTable(status).lines(limit: limit, style).joined(separator: "\n") + "\n")
        sections += [origins(status), quotas(status), savings(status), tunnels(status)].map { table in
            table.rows.isEmpty ? "" : table.text(style, limit: limit)
        }
        sections.append(style.dim("all there is: larder status --all") + "\n")
        return sections.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// The summary line, then all members of the status by name. The event loops are shown by `--json` only.
    static func whole(_ status: JSONValue, _ style: TextStyle) -> String {
        var all = JSONObject()
        for name in status.object?.names ?? [] where name != "loops" { all[name] = status[name] }
        return head(status, style) + "\n" + Outline.text(.object(all), style)
    }

    private static func head(_ status: JSONValue, _ style: TextStyle) -> String {
        let uptime = status["uptimeSeconds"]?.double.map(Quantity.seconds) ?? "?"
        let state = status["state"]?.string ?? "?"
        let addresses = ["addresses", "tlsAddresses", "adminAddresses"].flatMap { status[$0]?.array ?? [] }
        let facts = ["up \(uptime)"] + (addresses.isEmpty ? [] : ["at \(Outline.plain(.array(addresses), name: nil))"])
        return style.bold("Larder \(Outline.printable(status["version"]?.string ?? "?"))") + "  "
            + (state == "serving" ? style.good(state) : style.bad(Outline.printable(state))) + ", "
            + facts.joined(separator: ", ") + "\n"
    }

    /// A sentence for everything that somebody should look at.
    static func troubles(_ status: JSONValue) -> [String] {
        var troubles: [String] = []
        let reload = status["configuration"]?["latest"]
        if reload?["accepted"]?.bool == false {
            troubles.append("the changed configuration was refused; `larder reload` says why")
        } else if let waiting = reload?["takesRestart"]?.array, !waiting.isEmpty {
            let names = waiting.compactMap(\.string).joined(separator: ", ")
            troubles.append("takes effect with a restart: \(Outline.printable(names))")
        }
        if let store = status["store"]?["state"]?.string, store.hasPrefix("reading only") {
            troubles.append("the cache on disk is \(Outline.printable(store))")
        }
        if let shared = status["sharedCache"]?["state"]?.string, shared != "working" {
            troubles.append("the shared tier is \(Outline.printable(shared))")
        }
        if status["offline"]?["networkLost"]?.bool == true {
            troubles.append("no origin can be reached")
        } else if status["offline"]?["mode"]?.string == "on" {
            troubles.append("offline mode is on: no origin is asked (`larder offline off` ends that)")
        }
        if status["interception"]?["authority"]?["endsSoon"]?.bool == true {
            let end = status["interception"]?["authority"]?["notAfter"]?.string ?? "soon"
            troubles.append("the local CA ends \(Outline.printable(end)); `larder trust --renew`")
        }
        let connections = status["connections"]
        let refused = connections?["refused"]?.int ?? 0
        if refused > 0 {
            troubles.append("connections refused: \(Quantity.count(refused)) (`limits`, `access.allow`)")
        }
        return troubles
    }

    private static func facts(_ status: JSONValue) -> Columns {
        var facts = Columns(sides: [.left, .left])
        if let ratio = status["hitRatio"]?.double { facts.rows.append(["hit ratio", Quantity.percent(ratio)]) }
        if let requests = status["requests"] {
            let counts = StatusText.outcomes.compactMap { name -> String? in
                guard let count = requests[name]?.int, count > 0 else { return nil }
                return "\(name) \(Quantity.count(count))"
            }
            facts.rows.append(["requests", Quantity.count(ServiceTable.requests(requests))])
            let lines = Columns.folded(counts, separator: ", ", width: width - "requests   ".count)
            facts.rows += lines.map { ["", $0] }
        }
        if let saved = status["bytes"]?["saved"]?.int, let sent = status["bytes"]?["sent"]?.int {
            facts.rows.append(["saved", "\(Quantity.bytes(saved)) of \(Quantity.bytes(sent)) sent to clients"])
        }
        if let allTime = status["allTime"], let since = allTime["since"]?.string {
            let seconds = allTime["secondsSaved"]?.double ?? 0
            let saved = [
                Quantity.bytes(allTime["bytes"]?["saved"]?.int ?? 0), seconds >= 1 ? Quantity.seconds(seconds) : nil,
            ].compactMap(\.self).joined(separator: " and about ")
            facts.rows.append([
                "all time",
                "hit ratio \(Quantity.percent(allTime["hitRatio"]?.double ?? 0)) of "
                    + "\(Quantity.plural(ServiceTable.requests(allTime["requests"]), "request")), \(saved) saved, "
                    + "since \(Outline.printable(String(since.prefix(10))))",
            ])
        }
        if let latency = status["latencyMilliseconds"] {
            let medians = ["hits", "loads"].map { "\($0) \(Quantity.median(latency[$0]))" }
            facts.rows.append(["took", medians.joined(separator: ", ") + " (median)"])
        }
        for tier in ["memory", "disk"] {
            guard let bytes = status[tier]?["bytes"]?.int else { continue }
            facts.rows.append([tier, usage(bytes, of: status[tier]?["limit"]?.int) + narrowed(status[tier])])
        }
        if let shared = status["sharedCache"], let found = shared["found"]?.int {
            let asked = found + (shared["missed"]?.int ?? 0)
            let given = "\(Quantity.count(shared["written"]?.int ?? 0)) given"
            facts.rows.append(["shared", "\(Quantity.count(found)) of \(Quantity.count(asked)) found, \(given)"])
        }
        if let resources = status["resources"]?.int {
            let stored =
                status["storedResponses"]?.int.map {
                    ", \(Quantity.count($0)) stored \($0 == 1 ? "response" : "responses") on disk"
                } ?? ""
            let pins = status["store"]?["pinned"]?.int ?? 0
            let pinned = pins > 0 ? ", \(Quantity.count(pins)) pinned" : ""
            facts.rows.append(["resources", Quantity.count(resources) + " in memory" + stored + pinned])
        }
        return facts
    }

    private static func usage(_ bytes: Int, of limit: Int?) -> String {
        guard let limit, limit > 0 else { return Quantity.bytes(bytes) }
        let share = Quantity.percent(Double(bytes) / Double(limit))
        return "\(Quantity.bytes(bytes)) of \(Quantity.bytes(limit)) (\(share))"
    }

    /// Why a tier's limit is not the configured one, if it is not.
    private static func narrowed(_ tier: JSONValue?) -> String {
        guard let limit = tier?["limit"]?.int, let configured = tier?["configuredLimit"]?.int, limit < configured
        else { return "" }
        return "; cache.disk is \(Quantity.bytes(configured)), but its file system has no more room"
    }

    /// The outcomes of requests, from the cheapest to failures.
    private static let outcomes = [
        "hit", "stale", "validated", "collapsed", "miss", "pass", "tunnel", "error", "refused", "aborted",
    ]

    /// The origins that are in trouble or have been, with what was wrong.
    private static func origins(_ status: JSONValue) -> Columns {
        let states = ["open": "left alone, as it fails", "halfOpen": "being tried again", "paused": "asks to wait"]
        let isDue = "failed; the next request tries it again"
        var table = Columns(
            sides: [.left, .right, .right, .right, .left],
            heading: ["origin", "requests", "5xx", "unanswered", "last error"])
        for origin in status["upstreams"]?.array ?? [] {
            let name = origin["state"]?.string ?? ""
            let state = name == "open" && origin["openUntil"]?.string == nil ? isDue : states[name]
            let serverErrors = origin["serverErrors"]?.int ?? 0
            guard state != nil || serverErrors > 0 || origin["failures"]?.int ?? 0 > 0 else { continue }
            let time = (origin["lastErrorAt"]?.string).map { " (\($0))" } ?? ""
            let reasons = [state, (origin["lastError"]?.string).map { Outline.printable($0 + time) }].compactMap(\.self)
            table.rows.append([
                Outline.printable(origin["origin"]?.string ?? "?"), Quantity.count(origin["requests"]?.int ?? 0),
                Quantity.count(serverErrors), Quantity.count(origin["failures"]?.int ?? 0),
                reasons.joined(separator: ": "),
            ])
        }
        return table
    }

    private static func quotas(_ status: JSONValue) -> Columns {
        var table = Columns(
            sides: [.left, .left, .left, .left], heading: ["quota of", "credential", "left", "reset in"])
        for quota in status["quotas"]?.array ?? [] {
            let limit = quota["limit"]?.int.map { " of \(Quantity.count($0))" } ?? ""
            table.rows.append([
                Outline.printable(quota["service"]?.string ?? "?"),
                Outline.printable(quota["credential"]?.string ?? "?"),
                Quantity.count(quota["remaining"]?.int ?? 0) + limit,
                quota["resetSeconds"]?.double.map(Quantity.seconds) ?? "?",
            ])
        }
        return table
    }

    private static func savings(_ status: JSONValue) -> Columns {
        let lines = status["savings"]?.array ?? []
        let hasMoney = lines.contains { $0["money"] != nil }
        let names = ["answers", "inputTokens", "outputTokens"]
        var table = Columns(
            sides: [.left, .left, .right, .right, .right] + (hasMoney ? [.right] : []),
            heading: ["saved of", "model", "answers", "input tokens", "output tokens"] + (hasMoney ? ["money"] : []))
        for line in lines {
            table.rows.append(
                ["service", "model"].map { Outline.printable(line[$0]?.string ?? "?") }
                    + names.map { Quantity.count(line[$0]?.int ?? 0) }
                    + (hasMoney ? [line["money"].map { Outline.plain($0, name: nil) } ?? "-"] : []))
        }
        return table
    }

    private static func tunnels(_ status: JSONValue) -> Columns {
        var table = Columns(
            sides: [.left, .right, .right, .left],
            heading: ["tunnelled host", "requests", "size", "why not intercepted"])
        for tunnel in status["interception"]?["tunnels"]?.array ?? [] {
            table.rows.append([
                Outline.printable(tunnel["host"]?.string ?? "?"), Quantity.count(tunnel["requests"]?.int ?? 0),
                Quantity.bytes(tunnel["bytes"]?.int ?? 0), Outline.printable(tunnel["why"]?.string ?? "?"),
            ])
        }
        return table
    }
}

extension Columns {
    /// The first rows; the others are counted.
    fileprivate func text(_ style: TextStyle, limit: Int) -> String {
        var table = self
        table.rows = Array(rows.prefix(limit))
        let more = rows.count - limit
        return table.text(style) + (more > 0 ? style.dim("and \(Quantity.count(more)) more") + "\n" : "")
    }
}
