// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderSettings

/// The arithmetic of RFC 9111 §4.2 with its numbers.
enum ExplainedFreshness {
    typealias Fact = Explanation.Fact

    static func facts(_ stored: StoredResponse, _ situation: Situation) -> [Fact] {
        let facts = stored.facts
        let age = Age.currentAge(of: stored, at: situation.now)
        let remaining = facts.lifetime.duration - age
        var list = [
            fact("lifetime", facts.lifetime.duration, source(stored, situation.policy)),
            fact("age on receipt", facts.correctedInitialAge, receipt(stored, situation.policy)),
            fact(
                "time here", max(.zero, situation.now - stored.responseTime),
                "since \(ISOTime.string(stored.responseTime))"),
            situation.now < facts.usableFrom
                ? Fact(name: "age now", value: "unknown", note: "the clock stands before the receipt of the response")
                : fact("age now", age, "age on receipt + time here"),
            fact("left", remaining, "lifetime - age now"),
        ]
        list += unused(stored, situation.policy)
        switch stored.standing {
        case .asReceived: break
        case .stale:
            list.append(Fact(name: "standing", value: "invalidated", note: "treated as stale whatever is left"))
        case .invalid:
            list.append(
                Fact(name: "standing", value: "invalidated", note: "a request changed the resource (RFC 9111 §4.4)"))
        }
        if facts.validatesAlways, stored.standing == .asReceived {
            list.append(Fact(name: "no-cache", value: "yes", note: "the origin wants each use validated"))
        }
        list += stale(stored, situation)
        list += wishes(situation)
        list.append(
            Fact(
                name: "validators", value: VariantReport.validators(of: stored).joined(separator: ", ").ifEmpty("none"),
                note: facts.hasValidator ? nil : "the origin cannot be asked whether it changed, only for all of it"))
        return list
    }

    /// The source of the lifetime, with its inputs.
    private static func source(_ stored: StoredResponse, _ policy: CachePolicy) -> String {
        let lifetime = stored.facts.lifetime
        if lifetime.isInvalid { return "\(lifetime.source.words), which cannot be read and so counts as over" }
        let explicit = Freshness.explicit(
            stored.fields, stored.facts.directives, date: stored.facts.date, responseTime: stored.responseTime,
            policy: policy)
        let origin =
            explicit.map { "the origin's \($0.source.words) is \(text($0.duration))" } ?? "the origin names none"
        switch lifetime.source {
        case .expires: return "Expires - Date"
        case .heuristic:
            let since = stored.facts.lastModified.map { text(stored.facts.date - $0) } ?? "0 s"
            return "the origin names none: \(Int((Freshness.heuristicFraction * 100).rounded())) % of the \(since) "
                + "between Last-Modified and Date, at most \(text(Freshness.heuristicMaximum))"
        case .expirationTime:
            return "expirationTime of the configuration, mode \(policy.expirationMode.rawValue): \(origin)"
        case .none: return "neither the origin nor the configuration names one, and nothing to guess it from"
        case .sMaxage, .maxAge, .retryTime: return lifetime.source.words
        }
    }

    /// A configured lifetime that does not count.
    private static func unused(_ stored: StoredResponse, _ policy: CachePolicy) -> [Fact] {
        guard let time = SuggestedBlock.unusedTime(of: stored, policy) else { return [] }
        return [
            Fact(
                name: "not used", value: "expirationTime \(UnitText.write(time))",
                note: "without a `mode`, it counts only where the origin names no lifetime")
        ]
    }

    /// RFC 9111 §4.2.3, up to the corrected initial age.
    private static func receipt(_ stored: StoredResponse, _ policy: CachePolicy) -> String {
        if policy.expirationMode == .override, policy.expirationTime != nil {
            return "mode override counts from receipt"
        }
        let apparent = max(.zero, Timestamp(seconds: stored.responseTime.seconds) - stored.facts.date)
        let delay = max(.zero, stored.responseTime - stored.requestTime)
        return "the larger of \(text(apparent)) since its Date, and Age \(text(Age.ageValue(stored.fields))) + "
            + "\(text(delay)) in flight"
    }

    private static func stale(_ stored: StoredResponse, _ situation: Situation) -> [Fact] {
        let facts = stored.facts
        if let prohibition = facts.staleProhibition {
            let note =
                prohibition == .oneUsers
                ? "it came with a client's credentials or a cookie, and the origin lets nobody use it unasked"
                : "forbidden by \(prohibition.rawValue)"
            return [Fact(name: "stale use", value: "never", note: note)]
        }
        let onError = facts.staleIfError ?? situation.policy.staleIfError
        return [
            Fact(
                name: "stale use", value: "allowed",
                note:
                    "\(text(facts.staleWhileRevalidate)) while it is validated, \(text(onError)) while the origin answers "
                    + "with errors, and when it cannot be reached")
        ]
    }

    /// The directives of the request itself.
    private static func wishes(_ situation: Situation) -> [Fact] {
        let wishes = CacheControl.Request(situation.request.fields)
        var words: [String] = []
        if wishes.noCache { words.append("no-cache: validate whatever the age") }
        if wishes.noStore { words.append("no-store: do not use or keep anything") }
        if wishes.onlyIfCached { words.append("only-if-cached: do not ask the origin") }
        if let maxAge = wishes.maxAge { words.append("max-age: no older than \(text(maxAge))") }
        if let minFresh = wishes.minFresh { words.append("min-fresh: fresh for another \(text(minFresh))") }
        if let maxStale = wishes.maxStale {
            words.append(
                "max-stale: \(maxStale >= .foreverInRFC9111 ? "however stale" : "stale by \(text(maxStale)) at most")")
        }
        return words.isEmpty ? [] : [Fact(name: "request", value: words.joined(separator: "; "))]
    }

    /// To the millisecond, in the unit that reads best.
    static func text(_ duration: Duration) -> String {
        if duration >= .foreverInRFC9111 { return "68 years or more" }
        let milliseconds = duration.wholeNanoseconds / 1_000_000
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        if milliseconds == 0 { return "0 s" }
        if seconds == 0 || rest == 0 { return UnitText.write(.milliseconds(milliseconds)) }
        let digits = String(1_000 + rest).dropFirst()
        return "\(seconds).\(digits) s"
    }

    /// In the two largest units, as in a sentence.
    static func roughly(_ duration: Duration) -> String {
        duration >= .foreverInRFC9111 ? text(duration) : UnitText.roughly(duration)
    }

    private static func fact(_ name: String, _ duration: Duration, _ note: String) -> Fact {
        Fact(
            name: name, value: duration < .zero ? "-" + text(.zero - duration) : text(duration), note: note,
            seconds: duration)
    }
}

extension String {
    func ifEmpty(_ other: String) -> String { isEmpty ? other : self }
}
