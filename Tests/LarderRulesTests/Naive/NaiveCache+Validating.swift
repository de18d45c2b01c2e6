// SPDX-License-Identifier: Apache-2.0

extension NaiveCache {
    /// §4.3.1: the conditions sent for an entry.
    func conditions(_ entry: NaiveEntry, _ request: NaiveMessage) -> [String] {
        var lines: [String] = []
        let tag = entry.response.only("etag")
        if let tag { lines.append("if-none-match: " + tag) }
        if let modified = entry.response.only("last-modified"), dates[modified] != nil,
            tag == nil || !request.has("range"), !isForOne(entry)
        {
            lines.append("if-modified-since: " + modified)
        }
        return lines
    }

    /// §4.3.4: the entries a 304 updates.
    func updated(_ entries: [NaiveEntry], by response: NaiveMessage, _ request: NaiveMessage, validated: Int) -> [Int] {
        let initial = entries.indices.filter { $0 == validated || matches(entries[$0], request) }
        func newest(_ found: [Int]) -> [Int] {
            var best: Int?
            for index in found {
                guard let current = best else { best = index; continue }
                let a = (date(entries[index].response, "date") ?? 0, entries[index].responseTime)
                let b = (date(entries[current].response, "date") ?? 0, entries[current].responseTime)
                if a > b { best = index }
            }
            return best.map { [$0] } ?? []
        }
        func bare(_ tag: String) -> String { tag.hasPrefix("W/\"") ? String(tag.dropFirst(2)) : tag }
        if let tag = response.all("etag").first {
            if tag.hasPrefix("W/") {
                return newest(initial.filter { entries[$0].response.only("etag").map(bare) == bare(tag) })
            }
            return initial.filter { entries[$0].response.only("etag") == tag }
        }
        guard response.has("last-modified") else { return [validated] }
        guard let modified = date(response, "last-modified") else { return [] }
        let found = initial.filter {
            date(entries[$0].response, "last-modified") == modified && ($0 == validated || !isForOne(entries[$0]))
        }
        if let date = date(response, "date"), date - modified >= 60_000 { return found }
        return newest(found)
    }

    /// §3.2: the stored header section after an update.
    func merged(_ stored: NaiveMessage, _ response: NaiveMessage) -> NaiveMessage {
        var update = response
        update.drop([
            "content-length", "content-type", "content-encoding", "content-range", "connection", "keep-alive",
            "transfer-encoding", "x-hop",
        ])
        var merged = stored
        merged.drop(Set(update.headers.map(\.name)).union(["age", "date"]))
        merged.headers += update.headers
        return merged
    }

    func freshened(
        _ entry: NaiveEntry, _ response: NaiveMessage, _ request: NaiveMessage, _ requestTime: Int, _ responseTime: Int
    ) -> NaiveEntry {
        var fresh = entry
        var response = response
        if policy.isShared { response.drop(["set-cookie"]) }
        fresh.response = merged(entry.response, response)
        if response.has("vary") { fresh.vary = vary(fresh.response, request) }
        fresh.response = kept(fresh.response, responseTime)
        fresh.requestTime = requestTime
        fresh.responseTime = responseTime
        fresh.standing = "asReceived"
        fresh.wasAuthorized = entry.wasAuthorized || request.has("authorization")
        return fresh
    }

    /// What of an update by a 304 or a HEAD is kept: all of it ("kept"), nothing ("unstored") since its client has
    /// credentials and the origin does not let others use it, or, where the origin says nothing of that, what is not new
    /// ("confirmed").
    func keeping(
        _ response: NaiveMessage, beside entry: NaiveEntry, _ request: NaiveMessage, _ responseTime: Int
    ) -> (String, NaiveMessage) {
        var update = response
        if policy.isShared { update.drop(["set-cookie"]) }
        let setsCookie = response.has("set-cookie")
        guard policy.isShared, setsCookie || request.isPersonal(policy) else { return ("kept", update) }
        let alone = NaiveEntry(
            request: request, response: update, requestTime: responseTime, responseTime: responseTime,
            vary: nil, wasAuthorized: false, setCookie: setsCookie)
        guard isForOne(alone) else { return ("kept", update) }
        let new = update.headers.filter { name, value in
            let isKnown = [
                "date", "age", "etag", "last-modified", "vary", "via", "connection", "keep-alive",
                "server", "content-length", "content-type", "content-encoding",
            ].contains(name)
            return !isKnown && !entry.response.all(name).contains(value)
        }
        var rest = update
        rest.drop(Set(new.map(\.name)))
        let isSilent = (["cache-control"] + policy.targets).allSatisfy { rest.all($0) == update.all($0) }
        if explicitLifetime(update, responseTime) != nil || !isSilent { return ("unstored", update) }
        return rest.headers.count == update.headers.count ? ("kept", update) : ("confirmed", rest)
    }

    /// Why an updated entry is not kept; nil when it is.
    func discarded(_ entry: NaiveEntry) -> String? {
        let directives = directives(entry.response)
        if directives.has("no-store"), !directives.permits("must-understand") { return "no-store" }
        if policy.isShared {
            if directives.isUnqualified("private") { return "private" }
            if entry.wasAuthorized, !policy.storesAuthorized, !allowsAuthorized(directives) { return "authorization" }
        }
        return entry.vary == nil ? "vary" : nil
    }

    /// §4.3.5: what a 200 to HEAD shows to be different.
    func difference(_ entry: NaiveEntry, _ response: NaiveMessage, length: Int) -> String? {
        if let tag = response.all("etag").first, tag != entry.response.only("etag") { return "ETag" }
        if response.has("last-modified"), date(response, "last-modified") != date(entry.response, "last-modified") {
            return "Last-Modified"
        }
        if let announced = response.only("content-length") {
            let known = entry.held == nil || entry.isUncuttable ? length : entry.completeLength
            if let known, Int(announced) != known { return "Content-Length" }
        }
        return nil
    }

    /// §4.2.4 and RFC 5861: what follows a failure. `status` is nil when there was no response.
    func afterFailure(_ entry: NaiveEntry, status: Int?, _ request: NaiveMessage, _ now: Int) -> String {
        if let status, ![500, 502, 503, 504].contains(status) { return "no: not an error" }
        let age = age(entry, now)
        let lifetime = lifetime(entry)
        let fresh =
            lifetime > age && entry.standing == "asReceived"
            && (isOverridden(entry) || !alwaysValidates(entry.response))
        if !fresh, let prohibition = prohibition(entry) { return "no: \(prohibition)" }
        let lines = request.all("cache-control")
        let wishes = NaiveDirectives(list: NaiveDirective.parse(lines), source: nil)
        if wishes.has("no-cache") || wishes.has("no-store") { return "no: request" }
        if lines.isEmpty, NaiveDirective.parse(request.all("pragma")).contains(where: { $0.name == "no-cache" }) {
            return "no: request"
        }
        var wished = 0
        var hasWish = false
        if case .value(let seconds) = wishes.number("stale-if-error") {
            wished = seconds * 1000
            hasWish = true
        }
        var acceptsStale = false
        if let first = wishes.list.first(where: { $0.name == "max-stale" && !$0.isSpaced }) {
            if case .value = wishes.number("max-stale") { acceptsStale = true }
            if first.value == nil, !first.isMalformed { acceptsStale = true }
        }
        if case .value(let seconds) = wishes.number("max-age"), age > seconds * 1000, !acceptsStale, !hasWish {
            return "no: request"
        }
        var bound = status == nil ? naiveInfinity : policy.staleIfError
        switch directives(entry.response).number("stale-if-error") {
        case .absent: break
        case .broken: bound = 0
        case .value(let seconds): bound = seconds * 1000
        }
        return age - lifetime <= max(bound, wished) ? "yes age \(age) ttl \(lifetime - age)" : "no: too stale"
    }

    // MARK: RFC 9110 §13

    func precondition(_ request: NaiveMessage, _ entry: NaiveEntry) -> String {
        guard entry.response.status == 200 || entry.response.status == 206 else { return "proceed" }
        func bare(_ tag: String) -> String { tag.hasPrefix("W/\"") ? String(tag.dropFirst(2)) : tag }
        if request.has("if-none-match") {
            let tags = request.all("if-none-match").flatMap { $0.split(separator: ",").map { trim(String($0)) } }
            if tags == ["*"] { return "304" }
            guard let stored = entry.response.only("etag") else { return "proceed" }
            return tags.contains { bare($0) == bare(stored) } ? "304" : "proceed"
        }
        guard let since = date(request, "if-modified-since") else { return "proceed" }
        let changed = date(entry.response, "last-modified") ?? date(entry.response, "date") ?? entry.responseTime
        return changed <= since ? "304" : "proceed"
    }

    /// §4.4, for the generator's locations.
    func invalidated(_ request: NaiveMessage, _ response: NaiveMessage) -> [String] {
        guard !["GET", "HEAD"].contains(request.method), (200..<400).contains(response.status) else { return [] }
        var paths = ["/a"]
        for name in ["location", "content-location"] {
            guard let value = response.only(name) else { continue }
            let path: String
            if value.hasPrefix("http://origin.example/") {
                path = String(value.dropFirst("http://origin.example".count))
            } else if value.contains("://") {
                continue
            } else {
                path = value.hasPrefix("/") ? value : "/" + value
            }
            if !paths.contains(path) { paths.append(path) }
        }
        return paths
    }
}
