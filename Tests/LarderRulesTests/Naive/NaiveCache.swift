// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// RFC 9111 read from top to bottom, for one URI. Times are milliseconds; dates are looked up in a table of those
/// that exist.
struct NaiveCache {
    var policy: NaivePolicy
    var dates: [String: Int]

    // MARK: §5.2 and RFC 9213

    func directives(_ response: NaiveMessage) -> NaiveDirectives {
        for target in policy.targets where response.has(target) {
            let value = response.all(target).joined(separator: ", ")
            // The generator uses members that mean the same in both grammars, and one value that is no dictionary.
            if value.isEmpty || value.contains(" =") { continue }
            return NaiveDirectives(list: NaiveDirective.parse([value]), source: target)
        }
        let lines = response.all("cache-control")
        return NaiveDirectives(list: NaiveDirective.parse(lines), source: lines.isEmpty ? nil : "cache-control")
    }

    func date(_ message: NaiveMessage, _ name: String) -> Int? { message.only(name).flatMap { dates[$0] } }

    // MARK: §4.2 Freshness

    var isOverridden: Bool { policy.mode == "override" && policy.expirationTime != nil }

    func explicitLifetime(_ response: NaiveMessage, _ responseTime: Int) -> Int? {
        let directives = directives(response)
        func lifetime(_ number: NaiveDirectives.Number) -> Int? {
            switch number {
            case .absent: nil
            case .broken: 0
            case .value(let seconds): seconds * 1000
            }
        }
        if policy.isShared, let found = lifetime(directives.number("s-maxage")) { return found }
        if let found = lifetime(directives.number("max-age")) { return found }
        if directives.source == nil || directives.source == "cache-control", response.has("expires") {
            guard let expires = date(response, "expires") else { return 0 }
            return min(max(0, expires - (date(response, "date") ?? responseTime)), naiveInfinity)
        }
        return nil
    }

    /// A response that may be one user's, and that the origin lets nobody use unasked.
    func isForOne(_ entry: NaiveEntry) -> Bool {
        guard policy.isShared, entry.isPersonal(policy), !directives(entry.response).permits("public") else {
            return false
        }
        if alwaysValidates(entry.response) { return true }
        var named = explicitLifetime(entry.response, entry.responseTime) ?? 0
        if case .value(let seconds) = directives(entry.response).number("stale-while-revalidate") {
            named += seconds * 1000
        }
        return named <= ageOnArrival(entry)
    }

    func isOverridden(_ entry: NaiveEntry) -> Bool { isOverridden && !isForOne(entry) }

    func lifetime(_ entry: NaiveEntry) -> Int {
        isForOne(entry)
            ? explicitLifetime(entry.response, entry.responseTime) ?? 0
            : lifetime(entry.response, entry.responseTime)
    }

    func heuristicsAllowed(_ response: NaiveMessage) -> Bool {
        let directives = directives(response)
        let isMarked = directives.permits("public") || (!policy.isShared && directives.isUnqualified("private"))
        guard [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(response.status) || isMarked else {
            return false
        }
        return !NaiveDirective.parse(response.all("pragma")).contains { $0.name == "no-cache" }
    }

    func lifetime(_ response: NaiveMessage, _ responseTime: Int) -> Int {
        let isError = response.status >= 400
        if let configured = policy.expirationTime, policy.mode == "override" {
            return isError ? policy.retryTime : configured
        }
        if let explicit = explicitLifetime(response, responseTime) {
            guard let configured = policy.expirationTime else { return explicit }
            if policy.mode == "cap" { return min(configured, explicit) }
            if policy.mode == "floor", !isError { return max(configured, explicit) }
            return explicit
        }
        guard heuristicsAllowed(response) else { return 0 }
        if let configured = policy.expirationTime, !isError { return configured }
        let date = date(response, "date") ?? responseTime
        if let modified = self.date(response, "last-modified"), modified < date {
            return min((date - modified) / 10, 86_400_000)
        }
        return isError ? policy.retryTime : 0
    }

    func age(_ entry: NaiveEntry, _ now: Int) -> Int {
        if now < entry.responseTime - 1000 { return naiveInfinity }
        let resident = max(0, now - entry.responseTime)
        if isOverridden(entry) { return min(resident, naiveInfinity) }
        return min(ageOnArrival(entry) + resident, naiveInfinity)
    }

    private func ageOnArrival(_ entry: NaiveEntry) -> Int {
        var apparent = 0
        if let date = date(entry.response, "date") {
            let receivedSecond = Int((Double(entry.responseTime) / 1000).rounded(.down)) * 1000
            apparent = max(0, receivedSecond - date)
        }
        var ageValue = 0
        if let first = entry.response.all("age").first {
            let member = trim(String(first.split(separator: ",", omittingEmptySubsequences: false)[0]))
            if !member.isEmpty, member.allSatisfy({ "0123456789".contains($0) }) {
                ageValue = min(Int(member) ?? 2_147_483_648, 2_147_483_648) * 1000
            }
        }
        return min(max(apparent, ageValue + (entry.responseTime - entry.requestTime)), naiveInfinity)
    }

    // MARK: §3 Storing

    func storability(_ request: NaiveMessage, _ response: NaiveMessage, _ responseTime: Int) -> String {
        let directives = directives(response)
        let explicit = explicitLifetime(response, responseTime) != nil
        let isOwnLocation = ["/a", "a", "http://origin.example/a"].contains(response.only("content-location") ?? "")
        guard
            request.method == "GET"
                || (request.method == "POST" && (200..<300).contains(response.status) && explicit && isOwnLocation)
        else { return "method" }
        if response.status < 200 || [304, 407, 408, 412, 416, 417, 421, 425, 426, 431].contains(response.status) {
            return "status"
        }
        let mustUnderstand = directives.permits("must-understand")
        if mustUnderstand, response.status == 299 || response.status == 599 { return "must-understand" }
        if NaiveDirective.parse(request.all("cache-control")).contains(where: { $0.name == "no-store" }) {
            return "request-no-store"
        }
        if directives.has("no-store"), !mustUnderstand { return "no-store" }
        if policy.isShared, directives.isUnqualified("private") { return "private" }
        if policy.isShared, !policy.storesAuthorized, request.has("authorization"), !allowsAuthorized(directives) {
            return "authorization"
        }
        if request.method == "GET", let length = request.only("content-length"), length != "0" {
            return "request-content"
        }
        if response.status == 206, !request.has("range") || contentRange(response) == nil { return "content-range" }
        if vary(response, request) == nil { return "vary" }
        let isCacheable =
            isOverridden && !looksPersonal(request, response)
            || explicit
            || directives.permits("public")
            || (!policy.isShared && directives.isUnqualified("private"))
            || (!looksPersonal(request, response)
                && [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501].contains(response.status))
        if !isCacheable { return "cacheable" }
        let isTransient =
            response.status >= 400
            && (response.status >= 500 || isOverridden || (!explicit && isRetryTimed(response, responseTime)))
        return isTransient ? "store memory" : "store durable"
    }

    /// Whether a shared cache takes a response for one user's, where nobody says how long it lasts.
    private func looksPersonal(_ request: NaiveMessage, _ response: NaiveMessage) -> Bool {
        guard policy.isShared else { return false }
        return request.has("cookie") || request.has("authorization") && !policy.storesAuthorized
            || response.has("set-cookie")
    }

    private func isRetryTimed(_ response: NaiveMessage, _ responseTime: Int) -> Bool {
        guard policy.retryTime > 0, heuristicsAllowed(response) else { return false }
        let date = date(response, "date") ?? responseTime
        return (self.date(response, "last-modified") ?? .max) >= date
    }

    func allowsAuthorized(_ directives: NaiveDirectives) -> Bool {
        if directives.permits("public") || directives.has("must-revalidate") { return true }
        if case .value = directives.number("s-maxage") { return true }
        return false
    }

    /// The part of a response that is kept (§3.1).
    func kept(_ response: NaiveMessage, _ responseTime: Int) -> NaiveMessage {
        var kept = response
        let directives = directives(response)
        kept.drop(Set(directives.qualified("no-cache")))
        if policy.isShared {
            kept.drop(Set(directives.qualified("private")))
            kept.drop(["set-cookie"])
        }
        kept.drop(["connection", "keep-alive", "transfer-encoding", "x-hop"])
        if date(kept, "date") == nil {
            kept.drop(["date"])
            let second = (Double(responseTime) / 1000).rounded(.down)
            kept.headers.append(("date", Timestamp.at(second).httpDate))
        }
        return kept
    }

    func entry(
        _ request: NaiveMessage, _ response: NaiveMessage, _ requestTime: Int, _ responseTime: Int, length: Int
    ) -> NaiveEntry {
        var entry = NaiveEntry(
            request: request, response: kept(response, responseTime), requestTime: requestTime,
            responseTime: responseTime,
            vary: vary(response, request), wasAuthorized: request.has("authorization"),
            setCookie: response.has("set-cookie"))
        if response.status == 206, let (range, complete) = contentRange(response) {
            entry.range = request.only("range")
            entry.completeLength = complete
            entry.held = Set(range)
            entry.isUncuttable = range.count != length
        }
        return entry
    }

    /// `no-cache` for the whole response, or for its cookie: a response that sets one is somebody's own.
    func alwaysValidates(_ response: NaiveMessage) -> Bool {
        directives(response).isUnqualified("no-cache")
            || directives(response).qualified("no-cache").contains("set-cookie")
    }
}
