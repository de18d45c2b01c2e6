// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// Finds the reason why a URL is not answered from the cache: one check after the other, in the order in which a
/// request meets them, up to the first that fails.
struct Diagnosis {
    /// One check.
    struct Check: Equatable {
        let name: String
        let isGood: Bool
        /// The finding.
        let found: String
        /// The remedy, where it failed.
        let cure: String?
    }

    private(set) var checks: [Check] = []
    var isWell: Bool { checks.allSatisfy(\.isGood) }

    /// - Parameters:
    ///   - headers: the fields of the request.
    ///   - ask: sends a request to the daemon; throws when there is none.
    init(
        of url: String, headers: [String] = [], ask: (LarderHTTP.Method, String) throws -> AdminAnswer
    ) throws {
        do {
            try examine(url, headers, ask)
        } catch let failure as CommandFailure {
            fail("daemon", failure.problem, cure: failure.advice)
        } catch is Ill {
            // It has been recorded.
        }
    }

    private struct Ill: Error {}

    private mutating func examine(
        _ url: String, _ headers: [String], _ ask: (LarderHTTP.Method, String) throws -> AdminAnswer
    ) throws {
        func target(_ path: String) -> String {
            AdminClient.target(path, [("url", url)] + headers.map { ("header", $0) })
        }
        let known = try answer(of: try ask(.get, "/-/status"), as: "daemon")
        try examineDaemon(known)
        try examineTunnels(known, to: url)

        let before = try answer(of: try ask(.get, target("/-/explain")), as: "service")
        let name = before["service"]?[0]?["value"]?.string ?? "-"
        try check(
            "service", before["decision"]?.string != "refuse" || before["reason"]?.string == "offline",
            name == "-" ? "none claims it: RFC 9111 alone decides" : name, before)
        try check("configuration", before["reason"]?.string != "bypass", "it lets responses be stored", before)
        let isHeld = ["wait", "refuse"].contains(before["decision"]?.string)
        if isOffline(known, name), !isHeld {
            guard before["decision"]?.string == "answer" else {
                try fail("permission", "offline: the origin is not asked", cure: "larder offline off").stop()
            }
            pass("permission", "offline: the origin is not asked, and need not be")
            return try examineStored(before)
        }
        try check("permission", !isHeld, "the origin may be asked", before)

        // Load the URL as a client would, with the daemon's names, routes and certificates.
        let loaded = try answer(of: try ask(.post, target("/-/resource/load")), as: "origin")
        let status = loaded["status"]?.int ?? 200
        guard status < 400 else {
            try fail(
                "origin", "it answered \(status)",
                cure: "see whether it says so without Larder: curl -i '\(before["url"]?.string ?? url)'"
            ).stop()
        }
        pass("origin", loaded["result"]?.string ?? "it answered")

        try examineStored(try answer(of: try ask(.get, target("/-/explain")), as: "storage"))
    }

    /// True if the mode says so, for all or for the service.
    private func isOffline(_ status: JSONValue, _ service: String) -> Bool {
        status["offline"]?["mode"]?.string == "on"
            || (status["services"]?.array ?? []).contains {
                $0["name"]?.string == service && $0["offline"]?.bool == true
            }
    }

    private mutating func examineStored(_ after: JSONValue) throws {
        let unmet = (after["storage"]?["conditions"]?.array ?? []).filter { $0["met"]?.bool == false }
        let isStored = !(after["stored"]?.array ?? []).isEmpty
        guard isStored else {
            try fail(
                "storage",
                "not stored: "
                    + (unmet.isEmpty ? "there is no room" : unmet.map(Diagnosis.words).joined(separator: "; ")),
                cure: unmet.isEmpty
                    ? "make room: raise `cache.disk` or `cache.memory`, or free the disk; the daemon's log says which is full"
                    : after["toChangeThat"]?[0]?.string
            ).stop()
        }
        pass("storage", after["stored"]?[0]?["response"]?.string ?? "kept")
        try check("answer", after["decision"]?.string == "answer", after["outcome"]?.string ?? "from the cache", after)
    }

    private mutating func examineDaemon(_ status: JSONValue) throws {
        let state = status["state"]?.string ?? "?"
        guard state == "serving" else {
            try fail("daemon", "it is \(state)", cure: "ask again in a moment; its log says why").stop()
        }
        let addresses = status["addresses"]?.array?.compactMap(\.string).joined(separator: ", ") ?? "?"
        pass("daemon", "\(status["version"]?.string ?? "?"), serving on \(addresses)")
        guard let store = status["store"]?["state"]?.string else { return }
        if store.hasPrefix("reading only") {
            try fail(
                "store", store, cure: "make room on its disk: the daemon then writes again by itself; else see its log"
            ).stop()
        }
        pass("store", store)
    }

    /// The real requests of clients: through a tunnel they do not reach the cache.
    private mutating func examineTunnels(_ status: JSONValue, to url: String) throws {
        guard let uri = try? TargetURI(url), uri.scheme == .https else { return }
        let interception = status["interception"]
        if interception?["authority"]?["endsSoon"]?.bool == true {
            let end = interception?["authority"]?["notAfter"]?.string ?? "soon"
            try fail("local CA", "it ends \(end)", cure: "larder trust --renew").stop()
        }
        let host = uri.authority.contains(":") && !uri.authority.hasSuffix("]") ? uri.authority : uri.authority + ":443"
        let tunnel = (interception?["tunnels"]?.array ?? []).first {
            $0["host"]?.string == host && $0["lasts"]?.bool == true
        }
        guard let tunnel else { return pass("tunnels", "no client went to \(host) unseen") }
        let count = tunnel["requests"]?.int ?? 0
        let ways = (tunnel["toChangeThat"]?.array ?? []).compactMap(\.string)
        // Other clients may come through the cache: the other checks are about those.
        fail(
            "tunnels",
            "\(Quantity.plural(count, "request")) to \(host) passed unseen: \(tunnel["why"]?.string ?? "?") "
                + "(last: \(tunnel["client"]?.string ?? "?"))",
            cure: ways.isEmpty ? nil : ways.joined(separator: "   or   "))
    }

    /// The content of a successful response, as JSON.
    private mutating func answer(of answer: AdminAnswer, as name: String) throws -> JSONValue {
        let value = try? JSONValue(parsing: answer.content)
        guard (200...299).contains(answer.status) else {
            let title = value?["title"]?.string ?? CommandFailure.noLarder(answer.status)
            try fail(
                name, title + (value?["detail"]?.string.map { ": \($0)" } ?? ""),
                cure: answer.advice ?? value?["advice"]?.string
            ).stop()
        }
        guard let value else {
            throw CommandFailure.notJSON
        }
        return value
    }

    /// Adds a check with the advice in `explanation`.
    private mutating func check(_ name: String, _ isGood: Bool, _ found: String, _ explanation: JSONValue) throws {
        if isGood { return pass(name, found) }
        try fail(name, explanation["outcome"]?.string ?? "?", cure: explanation["toChangeThat"]?[0]?.string).stop()
    }

    private mutating func pass(_ name: String, _ found: String) {
        checks.append(Check(name: name, isGood: true, found: found, cure: nil))
    }

    @discardableResult
    private mutating func fail(_ name: String, _ found: String, cure: String?) -> Ill {
        checks.append(Check(name: name, isGood: false, found: found, cure: cure))
        return Ill()
    }

    /// The URL for `text`: https for a host, unless it has a port other than 443; a path of the gateway for a word
    /// and a path, as `shop/products`, because the names of hosts have a dot. Letters that no URL has are escaped.
    static func meantURL(_ text: String) -> String {
        let text = PercentText.encoded(text) { (0x21...0x7E).contains($0) }
        guard !text.contains("://"), !text.hasPrefix("/") else { return text }
        // A slash too few.
        for scheme in ["https", "http"] where text.hasPrefix(scheme + ":") {
            let rest = text.dropFirst(scheme.count + 1).drop { $0 == "/" }
            if rest.contains(where: { $0.isLetter }) { return "\(scheme)://\(rest)" }
        }
        let authority = text.prefix { $0 != "/" && $0 != "?" }
        let isHost = authority.contains { ".:]".contains($0) } || authority == "localhost"
        if !isHost, text.dropFirst(authority.count).first == "/" { return "/" + text }
        let port = authority.last == "]" ? nil : authority.lastIndex(of: ":").map { authority[$0...].dropFirst() }
        let scheme = port == nil || port == "443" ? "https" : "http"
        return "\(scheme)://\(text)" + (authority.count == text.count ? "/" : "")
    }

    // MARK: Words

    func text(_ style: TextStyle, width: Int? = nil) -> String {
        checks.map { check in
            let mark = check.isGood ? "ok  " : "FAIL"
            let found = Diagnosis.line("\(mark)  \(check.name)", check.found, width).dropFirst(mark.count)
            let cure = check.cure.map { Diagnosis.line("      cure", $0, width).dropFirst(10) }
            return (check.isGood ? style.good(mark) : style.bad(mark)) + found
                + (cure.map { "      \(style.bold("cure"))\($0)" } ?? "")
        }.joined()
    }

    /// A name, and its text in the next column.
    private static func line(_ name: String, _ text: String, _ width: Int?) -> String {
        let gap = String(repeating: " ", count: max(1, 21 - name.count))
        return WrappedLine.text(name + gap + Outline.printable(text), width: width, hang: name.count + gap.count) + "\n"
    }

    func json(of url: String) -> JSONValue {
        [
            "url": .string(url), "isWell": .bool(isWell),
            "checks": .array(
                checks.map { check in
                    [
                        "check": .string(check.name), "ok": .bool(check.isGood), "found": .string(check.found),
                        "cure": check.cure.map { .string($0) } ?? .null,
                    ]
                }),
        ]
    }
}

extension Error {
    /// Ends the diagnosis with this error.
    fileprivate func stop() throws -> Never { throw self }
}
