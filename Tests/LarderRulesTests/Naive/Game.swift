// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// One URI, one policy, two caches: each step is a request with whatever it leads to.
struct Game {
    /// How long the content of every complete response is.
    private static let length = 10

    private var messages: RandomMessages
    private var naivePolicy: NaivePolicy
    private var policy: CachePolicy
    private var now = 0
    private var naive: [NaiveEntry] = []
    private var stored: [StoredResponse] = []
    private(set) var stepCount = 0
    /// The kinds of decisions that have occurred.
    private(set) var kinds: Set<String> = []

    init(seed: UInt64) {
        messages = RandomMessages(seed: seed)
        naivePolicy = messages.policy()
        policy = CachePolicy(naivePolicy)
    }

    /// Plays one request; what the two caches disagree about, or nil.
    mutating func step() -> String? {
        stepCount += 1
        now += messages.random.pick([0, 250, 1000, 1500, 2000, 3000, 5000, 10_000, 60_000, 100_000])
        if messages.random.chance(1) { now -= 2000 }
        if stored.count > 6 || messages.random.chance(3) { removeAll() }
        // These two may change without anything stored being made anew.
        naivePolicy.isOffline = messages.random.chance(5)
        naivePolicy.storesAuthorized = messages.random.chance(10)
        policy = CachePolicy(naivePolicy)
        let request = messages.request(now: now)
        let head = RequestHead(request)
        let expected = cache.decide(naive, request, now)
        let decision = Reuse.decide(request: head, candidates: stored, policy: policy, now: timestamp(now))
        guard expected == decision.text else { return report("decision", request, expected, decision.text) }
        kinds.insert(decision.kind)
        switch decision {
        case .answer(let selection), .answerStale(let selection, _): return answer(selection.index, request, head)
        case .validate(let selection, _): return validate(selection.index, request, head)
        case .forward(_, let fallback):
            return messages.random.chance(25) ? fail(fallback?.index, request, head) : forward(request, head)
        case .refuse: return nil
        }
    }

    private var cache: NaiveCache { NaiveCache(policy: naivePolicy, dates: messages.dates) }

    private func timestamp(_ milliseconds: Int) -> Timestamp {
        Timestamp(nanoseconds: epoch.nanoseconds + Int64(milliseconds) * 1_000_000)
    }

    private mutating func removeAll() {
        naive = []
        stored = []
    }

    // MARK: What decisions lead to

    private func answer(_ index: Int, _ request: NaiveMessage, _ head: RequestHead) -> String? {
        let condition = cache.precondition(request, naive[index])
        let evaluated = Preconditions.evaluate(head, against: stored[index])
        guard condition == evaluated.text else { return report("precondition", request, condition, evaluated.text) }
        let range = cache.range(request, naive[index], length: Game.length)
        let ranged = Ranges.evaluate(head, against: stored[index])
        return range == ranged.text ? nil : report("range", request, range, ranged.text)
    }

    private mutating func validate(_ index: Int, _ request: NaiveMessage, _ head: RequestHead) -> String? {
        var conditional = Fields()
        if head.fields.contains(.range) { conditional.append(.range, "bytes=0-4") }
        Validation.makeConditional(&conditional, for: stored[index])
        conditional.remove(.range)
        let conditions = cache.conditions(naive[index], request)
        guard Fields(lines: conditions) == conditional else {
            return report("conditions", request, "\(conditions)", "\(conditional)")
        }
        switch messages.random.pick([304, 304, 304, 200, 0]) {
        case 304: return notModified(index, request, head)
        case 200: return forward(request, head)
        default: return fail(index, request, head)
        }
    }

    private mutating func notModified(_ index: Int, _ request: NaiveMessage, _ head: RequestHead) -> String? {
        let requestTime = now
        now += messages.random.pick([0, 250, 2000])
        var response = messages.response(to: request, now: now, status: 304)
        // Often the origin means what it was asked about.
        if messages.random.chance(50), let tag = naive[index].response.only("etag") {
            response.drop(["etag"])
            response.headers.append(("etag", tag))
        }
        let expected = cache.updated(naive, by: response, request, validated: index)
        let match = Validation.match(
            Fields(lines: response.lines), request: head.fields, candidates: stored, validated: index)
        let found: [Int] = if case .update(let indexes, _) = match { indexes } else { [] }
        guard expected == found else { return report("304", request, "\(expected)", "\(match)\n\(response.lines)") }
        kinds.insert(found.isEmpty ? "304 matches nothing" : "304 updates")
        var discarded: [Int] = []
        for index in found {
            let (keeping, update) = cache.keeping(response, beside: naive[index], request, now)
            let whole = cache.freshened(naive[index], response, request, requestTime, now)
            let obstacle = cache.discarded(whole)
            let entry =
                obstacle == nil ? cache.freshened(naive[index], update, request, requestTime, now) : whole
            let isUnstored = obstacle == "authorization" && !naive[index].wasAuthorized
            let decision = Freshening.freshen(
                stored[index], with: ResponseHead(response), to: head, requestTime: timestamp(requestTime),
                responseTime: timestamp(now), policy: policy)
            let expected = isUnstored ? "unstored" : obstacle ?? keeping
            guard expected == decision.text else { return report("freshening", request, expected, decision.text) }
            if let difference = adopt(decision, entry, at: index) {
                return report("freshened", request, "", difference)
            }
            if obstacle != nil, !isUnstored { discarded.append(index) }
        }
        if !discarded.isEmpty { kinds.insert("304 discards") }
        for index in discarded.reversed() {
            naive.remove(at: index)
            stored.remove(at: index)
        }
        return nil
    }

    private mutating func adopt(_ decision: FresheningDecision, _ entry: NaiveEntry, at index: Int) -> String? {
        switch decision {
        case .updated(let updated), .discard(let updated, _), .confirmed(let updated, _, _):
            let lines = Fields(lines: entry.response.lines)
            guard updated.fields == lines else { return "\(updated.fields)\n-- but naively --\n\(lines)" }
            naive[index] = entry
            stored[index] = updated
        case .stale(let marked, _):
            naive[index].standing = "stale"
            stored[index] = marked
        case .unstored, .untouched: break
        }
        return nil
    }

    private mutating func fail(_ index: Int?, _ request: NaiveMessage, _ head: RequestHead) -> String? {
        guard let index else { return nil }
        let status = messages.random.pick([nil, nil, 500, 503, 504, 501, 404])
        let expected = cache.afterFailure(naive[index], status: status, request, now)
        let decision = StaleUse.onError(
            stored[index], failure: status.map { .status(Status($0)) } ?? .disconnected, request: head, policy: policy,
            now: timestamp(now))
        kinds.insert(expected.hasPrefix("yes") ? "stale after failure" : "no stale after failure")
        return expected == decision.text
            ? nil : report("failure \(String(describing: status))", request, expected, decision.text)
    }

    private mutating func forward(_ request: NaiveMessage, _ head: RequestHead) -> String? {
        let requestTime = now
        now += messages.random.pick([0, 0, 250, 2000])
        let response = messages.response(to: request, now: now)
        if request.method == "HEAD", response.status == 200 {
            return headResponse(request, head, response, requestTime)
        }
        let paths = cache.invalidated(request, response)
        let invalidation = Invalidation.decide(
            method: head.method, target: target, status: Status(response.status),
            response: Fields(lines: response.lines))
        guard paths == invalidation.paths else { return report("invalidation", request, "\(paths)", "\(invalidation)") }
        if !paths.isEmpty { invalidate() }
        let expected = cache.storability(request, response, now)
        let decision = Storability.decide(
            request: head, target: target, response: ResponseHead(response), policy: policy,
            responseTime: timestamp(now))
        guard expected == decision.text else {
            return report(
                "storability", request, expected, decision.text + "\n" + response.lines.joined(separator: "\n"))
        }
        guard expected.hasPrefix("store") else { return nil }
        kinds.insert(expected)
        let length = response.status == 206 ? 5 : Game.length
        return store(
            cache.entry(request, response, requestTime, now, length: length),
            StoredResponse(
                ResponseHead(response), to: head, requestTime: timestamp(requestTime), responseTime: timestamp(now),
                contentLength: Int64(length), policy: policy), request)
    }

    private mutating func store(_ entry: NaiveEntry, _ response: StoredResponse, _ request: NaiveMessage) -> String? {
        guard response.fields == Fields(lines: entry.response.lines) else {
            return report("stored fields", request, "\(entry.response.lines)", "\(response.fields)")
        }
        // The newer response takes the place of those that the same requests select.
        let replacedNaively = naive.indices.filter {
            naive[$0].vary == entry.vary && naive[$0].held == nil && entry.held == nil
        }
        let replaced = stored.indices.filter {
            stored[$0].variance == response.variance && !stored[$0].isPartial && !response.isPartial
        }
        guard replacedNaively == replaced else {
            return report("variance", request, "\(replacedNaively)", "\(replaced)")
        }
        for index in replaced.reversed() {
            naive.remove(at: index)
            stored.remove(at: index)
        }
        naive.append(entry)
        stored.append(response)
        return nil
    }

    private mutating func headResponse(
        _ request: NaiveMessage, _ head: RequestHead, _ response: NaiveMessage, _ requestTime: Int
    ) -> String? {
        var response = response
        if messages.random.chance(50) {
            response.headers.append(("content-length", messages.random.pick(["10", "11"])))
        }
        var discarded: [Int] = []
        for index in naive.indices
        where cache.matches(naive[index], request) && [200, 206].contains(naive[index].response.status) {
            let length = naive[index].held == nil ? Game.length : 5
            let isSame = response.only("etag") != nil && response.only("etag") == naive[index].response.only("etag")
            let difference =
                cache.difference(naive[index], response, length: length)
                ?? (cache.isForOne(naive[index]) && !isSame ? "user" : nil)
            let (keeping, update) = cache.keeping(response, beside: naive[index], request, now)
            let whole = cache.freshened(naive[index], response, request, requestTime, now)
            let obstacle = cache.discarded(whole)
            let entry =
                obstacle == nil ? cache.freshened(naive[index], update, request, requestTime, now) : whole
            let isUnstored = obstacle == "authorization" && !naive[index].wasAuthorized
            let decision = Freshening.freshenByHead(
                stored[index], with: ResponseHead(response), to: head, requestTime: timestamp(requestTime),
                responseTime: timestamp(now), policy: policy)
            let expected =
                difference ?? (isUnstored ? "unstored" : obstacle ?? keeping)
            guard expected == decision.text else { return report("HEAD", request, expected, decision.text) }
            kinds.insert(difference == nil ? "HEAD updates" : "HEAD shows a difference")
            if let difference = adopt(decision, entry, at: index) {
                return report("updated by HEAD", request, "", difference)
            }
            if difference == nil, obstacle != nil, !isUnstored { discarded.append(index) }
        }
        for index in discarded.reversed() {
            naive.remove(at: index)
            stored.remove(at: index)
        }
        return nil
    }

    private mutating func invalidate() {
        if messages.random.chance(50) { return removeAll() }
        for index in naive.indices {
            naive[index].standing = "invalid"
            stored[index] = stored[index].marked(.invalid, policy: policy)
        }
    }

    private func report(_ what: String, _ request: NaiveMessage, _ expected: String, _ actual: String) -> String {
        let entries = naive.enumerated().map {
            "#\($0) \($1.response.status) \($1.standing) received \($1.responseTime)\n  "
                + $1.response.lines.joined(separator: "\n  ")
        }
        return
            "\(what): naively '\(expected)', but '\(actual)' at \(now)\n\(request.method) \(request.lines)\n\(naivePolicy)\n"
            + entries.joined(separator: "\n")
    }
}
