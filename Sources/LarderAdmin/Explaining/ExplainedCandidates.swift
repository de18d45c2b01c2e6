// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Which stored response would be used for a request, and why not the others (RFC 9111 §4, §4.1).
enum ExplainedCandidates {
    static func list(_ situation: Situation, selected: Int?) -> [Explanation.Candidate] {
        situation.variants.enumerated().map { index, variant in
            let stored = variant.stored
            let report = VariantReport(variant: variant, now: situation.now)
            let length = variant.content.length
            var parts = [
                "\(variant.served.status.rawValue)", length == 1 ? "1 octet" : "\(length) octets", report.state,
            ]
            if variant.isOverride {
                parts.append("an operator's override, in memory only")
            } else if variant.isWritten {
                parts.append("the content of a write, in memory only")
            } else if let rendition = variant.rendition {
                let origin = rendition.isPromoted ? " from the origin's \(rendition.originStatus.rawValue)" : ""
                parts.append("transformed by the pipeline" + origin)
            }
            parts.append("received \(ISOTime.string(stored.responseTime))")
            if !situation.isInMemory || report.place == "disk" {
                parts.append("on disk")
            } else {
                let isAlone = isKeptInMemoryAlone(variant, situation)
                parts.append(isAlone ? "in memory only, as the origin sent an error" : "in memory")
            }
            if !report.selectors.isEmpty { parts.append("for " + report.selectors.joined(separator: ", ")) }
            return Explanation.Candidate(
                text: parts.joined(separator: ", "), isChosen: index == selected,
                why: why(stored, index, selected, situation))
        }
    }

    /// True for an origin's error response that the store does not accept, regardless of the pipeline's output.
    private static func isKeptInMemoryAlone(_ variant: Variant, _ situation: Situation) -> Bool {
        guard !variant.isOverride, !variant.isWritten else { return false }
        let stored = variant.stored
        let origins = ResponseHead(status: variant.rendition?.originStatus ?? stored.status, fields: stored.fields)
        let decision = Storability.decide(
            request: situation.request, target: situation.uri, response: origins, policy: situation.keeping,
            responseTime: stored.responseTime)
        if case .store(_, .memory) = decision { return true }
        return false
    }

    private static func why(_ stored: StoredResponse, _ index: Int, _ selected: Int?, _ situation: Situation) -> String
    {
        if index == selected { return "the most recent that matches the request" }
        if stored.variance.matchesNothing { return "its Vary is *, so no request matches" }
        let other = stored.variance.selectors.first { selector in
            let own = Variance(selectors: [selector])
            return !own.matches(situation.request.fields)
        }
        if let other {
            let value = situation.request.fields[other.name].map { ShownFields.value($0, of: other.name) } ?? "absent"
            return "the request's \(other.name) is \(value)"
        }
        if stored.requestWasAuthorized, !stored.facts.allowsAuthorized {
            return "it was given to a request with Authorization, and nothing lets others have it"
        }
        return "an older one, or one that holds less of what is asked for"
    }
}
