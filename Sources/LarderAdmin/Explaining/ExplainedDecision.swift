// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// The outcome of a request, in words, and how to change it.
struct ExplainedDecision {
    let word: String
    let reason: String?
    let outcome: String
    let cacheStatus: String?
    let advice: [String]

    /// The sentence about the outcome, and how to change it.
    private typealias Wording = (outcome: String, advice: [String])

    init(_ situation: Situation, _ plan: Plan) {
        if !situation.service.allows(situation.uri) {
            (word, reason, cacheStatus) = ("refuse", "host-not-allowed", nil)
            outcome = "It would be refused with 403: the host is not one of the service's."
            advice = ["Add the host to `allowHosts` of `\(situation.service.name)`."]
            return
        }
        if let answer = situation.hardWiredAnswer {
            (word, reason) = ("answer", "hard-wired")
            cacheStatus = CacheStatus(.unused, detail: "hard-wired").member()
            (outcome, advice) = ExplainedEffects.hardWired(answer, situation)
            return
        }
        var status = ExplainedDecision.status(plan, situation)?.member()
        if let wait = plan.wait {
            (word, cacheStatus) = ("wait", status)
            (reason, outcome, advice) = ExplainedWait.explain(wait, situation)
            return
        }
        if let passing = situation.passing, case .forward = plan.action {
            (word, reason, cacheStatus) = ("forward", passing.rawValue, status)
            (outcome, advice) = ExplainedDecision.passed(passing, situation)
            return
        }
        if situation.isLoading, plan.asksOrigin { status = status.map { $0 + "; collapsed" } }
        cacheStatus = status
        let loading = situation.isLoading ? " A load is under way; the request would wait for its answer." : ""
        switch plan.action {
        case .answer(let selection):
            (word, reason) = ("answer", "fresh")
            (outcome, advice) = ExplainedDecision.answered(situation, selection)
        case .answerStale(let selection, let why):
            (word, reason) = ("answer-stale", why.rawValue)
            (outcome, advice) = ExplainedDecision.answeredStale(situation, selection, why, refreshes: plan.refreshes)
        case .validate(let selection, let why):
            (word, reason) = ("validate", why.rawValue)
            (outcome, advice) = ExplainedDecision.validated(situation, selection, why, loading: loading)
        case .forward(let why, let fallback):
            (word, reason) = ("forward", why.rawValue)
            (outcome, advice) = ExplainedDecision.forwarded(situation, why, fallback: fallback, loading: loading)
        case .refuse(let why):
            (word, reason) = ("refuse", why.rawValue)
            (outcome, advice) = ExplainedDecision.refused(situation, why)
        }
    }

    private static func answered(_ situation: Situation, _ selection: ReuseDecision.Selection) -> Wording {
        let variant = situation.variants[selection.index]
        let time = ExplainedFreshness.roughly(selection.ttl)
        let advice: [String]
        if variant.isOverride {
            advice = ["To end the override: `larder wipe URL`; to put there what the origin says: `larder load URL`."]
        } else {
            advice = [
                "To have the origin asked now: `larder invalidate URL`, or send `Cache-Control: no-cache`.",
                variant.stored.facts.lifetime.source == .expirationTime
                    ? "To keep it for another time: change `expirationTime` in the configure block that sets it."
                    : keepingLonger(situation, variant.stored),
            ]
        }
        return (
            "It would be answered from the cache: the stored response is fresh for another \(time)."
                + form(situation, selection) + source(variant),
            advice + (ExplainedCoding(situation, variant)?.advice.map { [$0] } ?? [])
        )
    }

    private static func keepingLonger(_ situation: Situation, _ stored: StoredResponse) -> String {
        if let personal = ExplainedPersonality(of: stored, askedBy: situation.request.fields) {
            return personal.remedy(situation, where: "wants to be asked each time")
        }
        return SuggestedBlock(situation).keepingLonger(stored)
    }

    private static func answeredStale(
        _ situation: Situation, _ selection: ReuseDecision.Selection, _ why: StaleReason, refreshes: Bool
    ) -> Wording {
        let over = ExplainedFreshness.roughly(.zero - selection.ttl)
        switch why {
        case .offline:
            return (
                "It would be answered from the cache although the lifetime ended \(over) ago: "
                    + "`\(situation.service.name)` is offline."
                    + (refreshes ? " The origin would be asked in the background whether it is back." : ""),
                ["To have the origin asked: `larder offline off`, or take `offline` out of the configuration."]
            )
        case .staleWhileRevalidate:
            return (
                "It would be answered from the cache at once, stale by \(over)"
                    + (refreshes ? ", and the origin asked in the background." : "; the origin is left alone for now."),
                [
                    "To have clients wait for the origin's answer: `staleWhileRevalidate: 0` where the origin names no window."
                ]
            )
        case .maxStale, .staleIfError, .disconnected:
            return (
                "It would be answered from the cache, stale by \(over): the request accepts that (\(why.rawValue)).",
                ["Leave `max-stale` out of the request's Cache-Control to have the origin asked."]
            )
        }
    }

    private static func validated(
        _ situation: Situation, _ selection: ReuseDecision.Selection, _ why: ForwardReason, loading: String
    ) -> Wording {
        let stored = situation.variants[selection.index].stored
        let asked = "The origin would be asked whether the stored response is still good"
        if why == .request {
            return (
                asked + ": the request demands it." + loading,
                ["Leave `Cache-Control` and `Pragma` out of the request to be answered from the cache."]
            )
        }
        if stored.standing != .asReceived {
            return (
                asked + ": it was invalidated." + loading, ["The next request, or `larder load URL`, settles it."]
            )
        }
        if stored.facts.validatesAlways {
            let personal = ExplainedPersonality(of: stored, askedBy: situation.request.fields)
            return (
                asked + ", as it is each time: it says no-cache." + loading,
                personal.map { [$0.remedy(situation, where: "wants to be asked each time")] } ?? [
                    "To answer without asking against the origin's word: "
                        + SuggestedBlock(situation).adding("expirationTime: { time: 10 min, mode: override }")
                ]
            )
        }
        return (
            asked + ": its lifetime ended \(ExplainedFreshness.roughly(.zero - selection.ttl)) ago." + loading,
            [
                keepingLonger(situation, stored),
                "To answer at once and ask in the background: "
                    + SuggestedBlock(situation).adding("staleWhileRevalidate: 1 min"),
            ]
        )
    }

    private static func refused(_ situation: Situation, _ why: RefusalReason) -> Wording {
        switch why {
        case .onlyIfCached:
            return (
                "It would be answered 504: nothing stored may answer it, and it says only-if-cached.",
                ["Leave `only-if-cached` out of the request's Cache-Control."]
            )
        case .offline:
            let lack = situation.isRead ? "nothing stored may answer it" : "\(situation.method) needs the origin"
            return (
                "It would be answered 504: \(lack), and `\(situation.service.name)` is offline.",
                ["To have the origin asked: `larder offline off`, or take `offline` out of the configuration."]
            )
        }
    }

    /// For requests that bypass the cache.
    private static func passed(_ reason: ForwardReason, _ situation: Situation) -> Wording {
        if reason == .bypass {
            return (
                "It would be passed to the origin, and nothing would be kept: the configuration says `cache: none`.",
                ["Take `cache: none` out of the configure block to have responses kept."]
            )
        }
        if situation.policy.keyedByContent {
            return (
                "It would be answered by what is stored for its content, if that is found: `keyedByContent`.",
                ["`larder list` has what is stored for each content; `larder explain` takes its URLs too."]
            )
        }
        return (
            "It would be passed to the origin, and the answer back."
                + (situation.method.isSafe
                    ? "" : " If that succeeds, what is stored for this URL is not used any more."),
            []
        )
    }

    private static func status(_ plan: Plan, _ situation: Situation) -> CacheStatus? {
        var status = CacheStatus(plan)
        guard let selection = plan.answering else { return status }
        let variant = situation.variants[selection.index]
        if variant.isOverride {
            status?.detail = "override"
        } else {
            let words = [
                status?.detail, variant.isWritten ? Variant.written : nil,
                ExplainedCoding(situation, variant)?.word, variant.stored.facts.ignored,
            ]
            .compactMap(\.self)
            status?.detail = words.isEmpty ? nil : words.joined(separator: ", ")
        }
        return status
    }

    /// A sentence where the content is not the origin's response to GET.
    private static func source(_ variant: Variant) -> String {
        if variant.isOverride { return " It is an override: an operator put it there, the origin did not say it." }
        guard variant.isWritten else { return "" }
        return " It is what a client sent with a PUT that succeeded (`afterWrite: override`), not what the origin "
            + "answered to a GET."
    }

    /// The part of the stored response that is sent, if it is not all of it (RFC 9110 §13.2, §14.2).
    private static func form(_ situation: Situation, _ selection: ReuseDecision.Selection) -> String {
        let stored = situation.variants[selection.index].served
        if case .notModified(let field) = Preconditions.evaluate(situation.request, against: stored) {
            return " The client has it already, as \(field) says, and gets 304."
        }
        let coding = ExplainedCoding(situation, situation.variants[selection.index])
        if let coding, coding.word != nil {
            return coding.sentence
                + (coding.ignoresRange ? " It gets the whole and not a range of another coding." : "")
        }
        switch Ranges.evaluate(situation.request, against: stored) {
        case .whole(.notAsked): return ""
        case .whole(let why): return " It gets the whole and not a range (\(why.rawValue))."
        case .single(let range, let length):
            return " It gets octets \(range.first) to \(range.last)\(length.map { " of \($0)" } ?? ""), as 206."
        case .multiple(let ranges, _): return " It gets \(ranges.count) ranges in one 206."
        case .unsatisfiable(let length): return " It gets 416: there are \(length) octets only."
        }
    }

    /// How a response to the request gets into the cache.
    private static func wayIn(_ situation: Situation) -> String {
        let unmet = ExplainedStorage.conditions(situation, selected: nil).1.first { !$0.isMet }
        return unmet.flatMap { StorageCondition(rawValue: $0.name) }
            .map { ExplainedStorage.remedy($0, situation) }
            ?? (situation.failure?.isOfPipeline == true
                ? ExplainedWait.mending : "`larder load URL` brings it into the cache, if it may be stored.")
    }

    private static func missed(_ situation: Situation, loading: String) -> Wording {
        guard let unstored = situation.unstored else {
            return ("The origin would be asked: nothing is stored for this URL." + loading, [wayIn(situation)])
        }
        return (
            "The origin would be asked: its last response, at \(ISOTime.string(unstored.at)), was not stored "
                + "(\(unstored.reason.word))." + loading,
            [ExplainedStorage.remedy(for: unstored, situation)]
        )
    }

    private static func forwarded(
        _ situation: Situation, _ why: ForwardReason, fallback: ReuseDecision.Selection?, loading: String
    ) -> Wording {
        switch why {
        case .uriMiss: return missed(situation, loading: loading)
        case .varyMiss:
            let names = Set(situation.variants.flatMap { $0.stored.variance.selectors.map(\.name.description) })
                .sorted()
            return (
                "The origin would be asked: what is stored is for other values of \(names.joined(separator: ", "))."
                    + loading,
                ["Send the same \(names.joined(separator: ", ")) as the request that was stored; `-H` tries one here."]
            )
        case .miss:
            return (
                "The origin would be asked: what is stored was given to a request with Authorization." + loading,
                [ExplainedStorage.remedy(.authorization, situation)]
            )
        case .request:
            let conditions = [FieldName.ifMatch, .ifUnmodifiedSince].filter(situation.request.fields.contains)
            if let condition = conditions.first {
                return (
                    "The origin would be asked: only it can tell whether \(condition) holds." + loading,
                    ["Leave `\(condition)` out of the request to be answered from the cache."]
                )
            }
            return (
                "The origin would be asked, and for all of it: the request demands it." + loading,
                ["Leave `Cache-Control` and `Pragma` out of the request to be answered from the cache."]
            )
        case .stale:
            let over = fallback.map { ExplainedFreshness.roughly(.zero - $0.ttl) } ?? ""
            return (
                "The origin would be asked for all of it: the stored response is no longer fresh"
                    + (fallback.map { $0.ttl < .zero ? " (for \(over) now)" : "" } ?? "") + " and has no validator."
                    + loading,
                fallback.map { [keepingLonger(situation, situation.variants[$0.index].stored)] } ?? []
            )
        case .partial:
            return ("The origin would be asked: only a part is stored, and not what is asked for." + loading, [])
        case .bypass, .method:
            return ("It would be passed to the origin." + loading, [])
        }
    }
}

/// The coding in which a stored response would be sent, where the configuration offers a choice.
struct ExplainedCoding {
    /// The detail in `Cache-Status`; nil for the stored bytes.
    let word: String?
    let sentence: String
    let advice: String?
    /// True if a range would be ignored.
    let ignoresRange: Bool

    /// Nil where every client gets the stored bytes.
    init?(_ situation: Situation, _ variant: Variant) {
        guard let recoding = variant.served.recoding else { return nil }
        let decision = recoding.decide(
            situation.request.fields, eTag: variant.served.facts.eTag, length: variant.content.length)
        ignoresRange = decision.ignoresRange
        let asked = situation.request.fields.contains(.acceptEncoding) ? "what it accepts" : "it names no coding"
        guard decision.coding != recoding.stored else {
            word = nil
            sentence = ""
            let offered = recoding.offered.map(\.rawValue).joined(separator: ", ")
            advice =
                recoding.stored == .identity && variant.content.length >= Recoding.shortest
                ? "To get it in a coding (\(offered)): send `Accept-Encoding`; `-H` tries one here." : nil
            return
        }
        word = Rendition.Form.coded(decision.coding).word
        if decision.coding == .identity {
            sentence = " Its \(recoding.stored.rawValue) coding would be undone for this client (\(asked))."
            advice = "To get the octets that came: send `Accept-Encoding: \(recoding.stored.rawValue)`."
        } else {
            sentence = " Its content would go out in \(decision.coding.rawValue), by what the client accepts."
            advice =
                "To get the octets that came: leave \(decision.coding.rawValue) out of `Accept-Encoding`, or take "
                + "`codings` out of the \(situation.service.base == nil ? "configuration" : "configure block")."
        }
    }
}
