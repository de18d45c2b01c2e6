// SPDX-License-Identifier: Apache-2.0

extension NaiveCache {
    // MARK: §4.1 Vary

    func vary(_ response: NaiveMessage, _ request: NaiveMessage) -> [String: String?]? {
        var values: [String: String?] = [:]
        for line in response.all("vary") {
            for name in line.split(separator: ",").map({ trim(String($0)).lowercased() }) where !name.isEmpty {
                if !NaiveDirective.isToken(name) || name == "*" { return nil }
                values[name] = .some(value(name, request))
            }
        }
        return values
    }

    /// The value as it is compared: lines joined; languages without case and blanks.
    func value(_ name: String, _ request: NaiveMessage) -> String? {
        let lines = request.all(name)
        if lines.isEmpty { return nil }
        let joined = lines.joined(separator: ", ")
        guard name == "accept-language" else { return joined }
        // The generator's languages have no weights.
        return joined.lowercased().split(separator: ",").map { trim(String($0)) }.joined(separator: ",")
    }

    func matches(_ entry: NaiveEntry, _ request: NaiveMessage) -> Bool {
        guard let vary = entry.vary else { return false }
        return vary.allSatisfy { name, stored in value(name, request) == stored }
    }

    // MARK: RFC 9110 §14

    /// The octets and the length of the whole in Content-Range; nil when it is absent or wrong.
    func contentRange(_ response: NaiveMessage) -> (ClosedRange<Int>, Int?)? {
        guard let value = response.only("content-range"), value.hasPrefix("bytes ") else { return nil }
        let parts = value.dropFirst(6).split(separator: "/")
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-").compactMap { Int($0) }
        guard ends.count == 2, ends[0] <= ends[1] else { return nil }
        if parts[1] == "*" { return (ends[0]...ends[1], nil) }
        guard let complete = Int(parts[1]), ends[1] < complete else { return nil }
        return (ends[0]...ends[1], complete)
    }

    /// The octets each part of a Range asks for; nil when the field is to be ignored. A part is nil when the length
    /// is not known, and empty when there are no such octets.
    func ranges(_ request: NaiveMessage, of length: Int?) -> [Set<Int>?]? {
        guard let value = request.only("range"), value.hasPrefix("bytes=") else { return nil }
        var sets: [Set<Int>?] = []
        for text in value.dropFirst(6).split(separator: ",") {
            let ends = text.split(separator: "-", omittingEmptySubsequences: false).map(String.init)
            guard ends.count == 2 else { return nil }
            if ends[0].isEmpty {
                guard let count = Int(ends[1]) else { return nil }
                sets.append(length.map { Set((0..<$0).suffix(count)) })
            } else {
                guard let first = Int(ends[0]) else { return nil }
                if ends[1].isEmpty {
                    sets.append(length.map { Set((0..<$0).filter { $0 >= first }) })
                } else {
                    guard let last = Int(ends[1]), first <= last else { return nil }
                    sets.append(Set((first...last).filter { $0 < length ?? .max }))
                }
            }
        }
        return sets
    }

    func ifRangeHolds(_ request: NaiveMessage, _ entry: NaiveEntry) -> Bool {
        guard request.has("if-range") else { return true }
        guard let value = request.only("if-range") else { return false }
        if value.contains("\"") { return entry.response.only("etag") == value && !value.hasPrefix("W/") }
        guard let asked = dates[value], let modified = date(entry.response, "last-modified"), asked == modified,
            let date = date(entry.response, "date")
        else { return false }
        return date - modified >= 60_000
    }

    func covers(_ entry: NaiveEntry, _ request: NaiveMessage) -> Bool {
        guard let held = entry.held else { return true }
        guard request.method == "GET", request.has("range"), ifRangeHolds(request, entry) else { return false }
        if let range = entry.range, request.only("range") == range { return true }
        if entry.isUncuttable { return false }
        guard let sets = ranges(request, of: entry.completeLength), sets.count == 1, let asked = sets[0], !asked.isEmpty
        else { return false }
        return asked.isSubset(of: held)
    }

    /// The part of an answering entry that is sent.
    func range(_ request: NaiveMessage, _ entry: NaiveEntry, length: Int) -> String {
        guard request.method == "GET", request.has("range") else { return "whole" }
        if entry.held != nil {
            if let range = entry.range, request.only("range") == range { return "whole" }
            let asked = ranges(request, of: entry.completeLength)?[0] ?? []
            return "\(asked.min() ?? -1)-\(asked.max() ?? -1)"
        }
        guard entry.response.status == 200, ifRangeHolds(request, entry) else { return "whole" }
        guard let sets = ranges(request, of: length) else { return "whole" }
        let asked = sets.compactMap { $0 }.reduce(into: Set<Int>()) { $0.formUnion($1) }
        if asked.isEmpty { return "unsatisfiable" }
        // Everything is so short that gaps are always sent along.
        return "\(asked.min() ?? -1)-\(asked.max() ?? -1)"
    }

    // MARK: §4 Choosing and deciding

    func choose(_ entries: [NaiveEntry], _ request: NaiveMessage) -> Int? {
        let suitable = entries.indices.filter { index in
            let entry = entries[index]
            let mayShare =
                !policy.isShared || policy.storesAuthorized || !entry.wasAuthorized
                || allowsAuthorized(directives(entry.response))
            return mayShare && matches(entry, request)
        }
        return suitable.sorted { a, b in
            let (x, y) = (entries[a], entries[b])
            if covers(x, request) != covers(y, request) { return covers(x, request) }
            let (xv, yv) = (!(x.vary ?? [:]).isEmpty, !(y.vary ?? [:]).isEmpty)
            if xv != yv { return xv }
            let (xd, yd) = (date(x.response, "date") ?? x.responseTime, date(y.response, "date") ?? y.responseTime)
            if xd != yd { return xd > yd }
            if x.responseTime != y.responseTime { return x.responseTime > y.responseTime }
            return a > b
        }.first
    }

    func decide(_ entries: [NaiveEntry], _ request: NaiveMessage, _ now: Int) -> String {
        if request.method != "GET", request.method != "HEAD" {
            return policy.isOffline ? "refuse offline" : "forward method"
        }
        let lines = request.all("cache-control")
        let wishes = NaiveDirectives(list: NaiveDirective.parse(lines), source: nil)
        let noCache =
            wishes.has("no-cache")
            || (lines.isEmpty && NaiveDirective.parse(request.all("pragma")).contains { $0.name == "no-cache" })
        func milliseconds(_ name: String) -> Int? {
            if case .value(let seconds) = wishes.number(name) { seconds * 1000 } else { nil }
        }
        func orRefuse(_ text: String) -> String {
            policy.isOffline ? "refuse offline" : wishes.has("only-if-cached") ? "refuse only-if-cached" : text
        }
        guard let index = choose(entries, request) else {
            if entries.isEmpty { return orRefuse("forward uri-miss") }
            return orRefuse(entries.contains { matches($0, request) } ? "forward miss" : "forward vary-miss")
        }
        let entry = entries[index]
        if !covers(entry, request) { return orRefuse("forward partial") }
        let age = age(entry, now)
        let lifetime = lifetime(entry)
        let name = "#\(index) age \(age) ttl \(lifetime - age)"
        let fresh =
            lifetime > age && entry.standing == "asReceived"
            && (isOverridden(entry) || !alwaysValidates(entry.response))
        if policy.isOffline {
            if fresh { return "answer \(name)" }
            return prohibition(entry) == nil ? "stale offline \(name)" : "refuse offline"
        }
        let reason = fresh ? "request" : "stale"
        let goesToOrigin =
            wishes.has("no-store") || request.has("if-match") || request.has("if-unmodified-since")
            || (request.has("content-length") && request.only("content-length") != "0")
        if goesToOrigin { return orRefuse("forward \(reason) \(name)") }
        let youngEnough = age <= milliseconds("max-age") ?? .max
        if !noCache, youngEnough {
            if fresh, lifetime - age >= milliseconds("min-fresh") ?? .min { return "answer \(name)" }
            if !fresh, entry.standing == "asReceived", prohibition(entry) == nil, milliseconds("min-fresh") == nil {
                let first = wishes.list.first { $0.name == "max-stale" && !$0.isSpaced }
                let accepted: Int? =
                    first.map { $0.value == nil && !$0.isMalformed } == true ? naiveInfinity : milliseconds("max-stale")
                if let accepted, age - lifetime <= accepted { return "stale max-stale \(name)" }
                var window = policy.staleWhileRevalidate
                switch directives(entry.response).number("stale-while-revalidate") {
                case .absent: break
                case .broken: window = 0
                case .value(let seconds): window = seconds * 1000
                }
                if window > 0, age - lifetime <= window, milliseconds("max-age") == nil {
                    return "stale stale-while-revalidate \(name)"
                }
            }
        }
        let hasValidator =
            entry.response.only("etag") != nil || date(entry.response, "last-modified") != nil && !isForOne(entry)
        if request.method == "HEAD" || !hasValidator { return orRefuse("forward \(reason) \(name)") }
        return orRefuse("validate \(reason) \(name)")
    }

    /// §4.2.4.
    func prohibition(_ entry: NaiveEntry) -> String? {
        let directives = directives(entry.response)
        if entry.standing == "invalid" { return "invalidated" }
        if alwaysValidates(entry.response) { return "no-cache" }
        if directives.has("must-revalidate") { return "must-revalidate" }
        guard policy.isShared else { return nil }
        if directives.has("proxy-revalidate") { return "proxy-revalidate" }
        if case .absent = directives.number("s-maxage") { return isForOne(entry) ? "personal" : nil }
        return "s-maxage"
    }
}
