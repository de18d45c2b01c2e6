// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Asking the origin whether a stored response is still good (RFC 9111 §4.3).
package enum Validation {
    /// Turns `request`, which is about to be forwarded, into one that validates `stored` (§4.3.1).
    /// The client's own conditions are replaced by ours: its tags may name responses that are not stored here, and a
    /// 304 for those could not be told from one for ours. The client's conditions are evaluated against the result.
    ///
    /// - Parameter place: the URL that the request is sent to, once redirects were followed. Without conditions of ours
    ///   it is asked for another URL than the stored response came from.
    package static func makeConditional(
        _ request: inout Fields, for stored: StoredResponse, at place: String? = nil
    ) {
        request.remove(.ifNoneMatch)
        request.remove(.ifModifiedSince)
        request.remove(.ifRange)
        guard stored.place == place else { return }
        if let eTag = stored.facts.eTag {
            eTag.octets.withUnsafeBytes { request.append(.ifNoneMatch, bytes: $0) }
        }
        // Parts are combined by their tag alone where there is one: a date is only as precise as a clock's second.
        guard stored.facts.validatesByDate, stored.facts.eTag == nil || !request.contains(.range) else { return }
        stored.fields.withFirst(.lastModified) { request.append(.ifModifiedSince, bytes: $0) }
    }

    /// True if a modification date is a strong validator (RFC 9110 §8.8.2.2): the response was generated long enough
    /// after it. A minute allows for clock skew.
    package static func isStrong(lastModified: Timestamp, date: Timestamp?) -> Bool {
        guard let date else { return false }
        return date - lastModified >= .seconds(60)
    }
}

/// The stored responses that a 304 confirms (RFC 9111 §4.3.4). Indexes are positions in the list of candidates.
package enum ValidationMatch: Sendable, Hashable {
    case update([Int], by: Evidence)
    /// No stored response matches: the request must be repeated without conditions.
    case none(NoneReason)

    package enum Evidence: String, Sendable, Hashable, CaseIterable {
        case strongTag = "strong-etag"
        case weakTag = "weak-etag"
        case lastModified = "last-modified"
        /// The 304 has no validator, and exactly one response was validated.
        case onlyCandidate = "only-candidate"
    }

    package enum NoneReason: String, Sendable, Hashable, CaseIterable {
        /// It names a representation that is not stored.
        case unknownRepresentation = "unknown-representation"
    }
}

extension Validation {
    /// Decides which of `candidates` the header section `response` of a 304 updates.
    ///
    /// If there is a tag, it decides alone, as it is the more accurate validator. A 304 without any validator confirms
    /// the one response whose validators were sent, which the RFC leaves open for stored responses that have some: the
    /// origin cannot have meant another.
    ///
    /// - Parameter request: the fields of the request; only candidates that it could select are considered.
    /// - Parameter validated: the candidate whose validators were sent.
    package static func match(
        _ response: Fields, request: Fields, candidates: [StoredResponse], validated: Int
    ) -> ValidationMatch {
        let place = candidates[validated].place
        let initialSet = candidates.indices.filter { index in
            index == validated || candidates[index].variance.matches(request) && candidates[index].place == place
        }
        if let tag = response.entityTag {
            let matching = initialSet.filter { index in
                guard let stored = candidates[index].facts.eTag else { return false }
                return tag.isWeak ? tag.weaklyMatches(stored) : tag.stronglyMatches(stored)
            }
            if tag.isWeak { return mostRecent(matching, candidates, .weakTag) }
            return matching.isEmpty ? .none(.unknownRepresentation) : .update(matching, by: .strongTag)
        }
        guard response.contains(.lastModified) else { return .update([validated], by: .onlyCandidate) }
        let time = candidates[validated].responseTime
        guard let lastModified = response.date(.lastModified, now: time) else { return .none(.unknownRepresentation) }
        let matching = initialSet.filter { index in
            let facts = candidates[index].facts
            return facts.lastModified == lastModified && (index == validated || facts.validatesByDate)
        }
        let date = response.date(.date, now: time)
        guard isStrong(lastModified: lastModified, date: date), !matching.isEmpty else {
            return mostRecent(matching, candidates, .lastModified)
        }
        return .update(matching, by: .lastModified)
    }

    private static func mostRecent(
        _ matching: [Int], _ candidates: [StoredResponse], _ evidence: ValidationMatch.Evidence
    ) -> ValidationMatch {
        let newest = matching.max {
            let (a, b) = (candidates[$0], candidates[$1])
            return (a.facts.date, a.responseTime) < (b.facts.date, b.responseTime)
        }
        return newest.map { .update([$0], by: evidence) } ?? .none(.unknownRepresentation)
    }
}
