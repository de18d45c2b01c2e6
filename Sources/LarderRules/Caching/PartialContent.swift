// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Whether a part and a stored response make one stored response (RFC 9111 §3.4, RFC 9110 §15.3.7.3).
package enum CombineDecision: Sendable {
    /// The result. It is whole if nothing is missing any more. The new content replaces the old where the two overlap.
    /// Where it is not for all, its fields are one user's, and it answers that user alone.
    case combined(StoredResponse, isForAll: Bool)
    case separate(SeparateReason)

    package enum SeparateReason: String, Sendable, Hashable, CaseIterable {
        /// The response is not a 206 with one range in bytes, or does not have the length it states.
        case notAPart = "not-a-part"
        /// The stored response is whole already, or cannot be cut.
        case notPartial = "not-partial"
        /// The two do not share a strong validator.
        case validator
        /// They name different lengths of the whole.
        case completeLength = "complete-length"
        /// Redirects were followed to the stored response: they may lead elsewhere by now, where its tag means another
        /// representation.
        case place
    }
}

package enum PartialContent {
    /// Decides whether `response`, a 206 to `request` with `contentLength` bytes of content, completes `stored`.
    package static func combine(
        _ stored: StoredResponse, with response: ResponseHead, to request: RequestHead, contentLength: Int64,
        requestTime: Timestamp, responseTime: Timestamp, policy: CachePolicy
    ) -> CombineDecision {
        guard case .parts(let held, let heldLength) = stored.extent else { return .separate(.notPartial) }
        guard stored.place == nil else { return .separate(.place) }
        guard response.status == 206, case .range(let range, let newLength) = ContentRange(response.fields),
            range.count == contentLength
        else { return .separate(.notAPart) }
        let update = Update(response.fields, to: request, at: responseTime, policy: policy)
        guard sharesStrongValidator(stored, update, now: responseTime) else { return .separate(.validator) }
        if let heldLength, let newLength, heldLength != newLength { return .separate(.completeLength) }
        let completeLength = heldLength ?? newLength
        let parts = union(held, range)
        guard parts.last.map({ $0.last < completeLength ?? .max }) ?? true else { return .separate(.completeLength) }
        let isWhole = parts == completeLength.flatMap { $0 > 0 ? [ByteRange(first: 0, last: $0 - 1)] : nil }
        var fields = Freshening.merged(stored.fields, with: response.fields)
        fields.remove(.contentRange)
        // They may be about the bytes of one message (RFC 9530 §2).
        fields.remove(.contentDigest)
        fields.remove(.contentMD5)
        fields[.contentLength] = isWhole ? completeLength.map(String.init) : nil
        return .combined(
            StoredResponse(
                requestMethod: stored.requestMethod,
                traces: stored.traces.union(policy.traces(of: request.fields)), variance: stored.variance, status: 200,
                fields: fields, requestTime: requestTime,
                responseTime: responseTime,
                contentLength: isWhole ? completeLength : parts.reduce(0) { $0 + $1.count },
                extent: isWhole ? .whole : .parts(parts, completeLength: completeLength), policy: policy),
            isForAll: update.audience(beside: stored) == .all)
    }

    /// The union of `parts` and `range`, ascending and disjoint, as `parts` are.
    package static func union(_ parts: [ByteRange], _ range: ByteRange) -> [ByteRange] {
        var merged = range
        var result: [ByteRange] = []
        for part in parts {
            if part.last < merged.first - 1 || merged.last < part.first - 1 {
                result.append(part)
            } else {
                merged = ByteRange(first: min(part.first, merged.first), last: max(part.last, merged.last))
            }
        }
        let position = result.firstIndex { $0.first > merged.first } ?? result.count
        result.insert(merged, at: position)
        return result
    }

    /// Both have the same strong tag; or neither has a tag, and the same modification date is strong for both. The date
    /// of one user's representation says nothing of others'.
    private static func sharesStrongValidator(_ stored: StoredResponse, _ update: Update, now: Timestamp) -> Bool {
        let response = update.fields
        if response.contains(.eTag) {
            guard let tag = response.singleEntityTag else { return false }
            return tag.isStrong && tag == stored.facts.eTag
        }
        guard stored.facts.eTag == nil, stored.facts.validatesByDate, !update.isForOne,
            let lastModified = response.date(.lastModified, now: now),
            lastModified == stored.facts.lastModified
        else { return false }
        return Validation.isStrong(lastModified: lastModified, date: stored.facts.date)
            && Validation.isStrong(lastModified: lastModified, date: response.date(.date, now: now))
    }

    /// The value of `If-Range` for the stored representation (RFC 9110 §13.1.5); nil if it has no strong validator.
    ///
    /// - Parameter isPersonal: whether the answer to it may be one user's, which no date shows to be the same.
    static func strongValidator(_ stored: StoredResponse, isPersonal: Bool = false) -> [UInt8]? {
        if let tag = stored.facts.eTag { return tag.isStrong ? tag.octets : nil }
        guard !isPersonal, let lastModified = stored.facts.lastModified, stored.facts.validatesByDate,
            Validation.isStrong(lastModified: lastModified, date: stored.facts.date)
        else { return nil }
        return stored.fields.withFirst(.lastModified) { Array($0) }
    }
}
