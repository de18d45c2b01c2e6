// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How a stored response changes when the origin has sent newer information about it (RFC 9111 §4.3.4, §4.3.5).
package enum FresheningDecision: Sendable {
    /// It is kept with these fields and a new age.
    case updated(StoredResponse)
    /// It answers this request with these fields, and is then dropped: the new fields forbid storing it.
    case discard(StoredResponse, StorageCondition)
    /// It answers this request with these fields, which are for this client alone, and stays as it is.
    case unstored(StoredResponse)
    /// The same, and it is kept, with a new age and those of the fields that are not this client's.
    case confirmed(StoredResponse, by: Fields, own: StoredResponse)
    /// It is another representation than the origin's current one, and counts as stale.
    case stale(StoredResponse, StaleReason)
    /// The response says nothing about it.
    case untouched(UntouchedReason)

    /// Why a response to HEAD shows that another representation is stored.
    package enum StaleReason: String, Sendable, Hashable, CaseIterable {
        case eTag = "ETag"
        case lastModified = "Last-Modified"
        case contentLength = "Content-Length"
    }

    package enum UntouchedReason: String, Sendable, Hashable, CaseIterable {
        /// Only a 200 to HEAD says something about a stored 200.
        case status
        /// The merged head would be longer than a received one may be.
        case size
        /// The stored response may be one user's, and nothing shows that this one is about the same representation.
        case user
    }
}

package enum Freshening {
    /// Updates `stored`, which a 304 was matched to, with that response.
    ///
    /// - Parameters:
    ///   - response: as received, with the cookies it sets.
    ///   - request: the request that it answered, whose values count if `Vary` changes.
    package static func freshen(
        _ stored: StoredResponse, with response: ResponseHead, to request: RequestHead, requestTime: Timestamp,
        responseTime: Timestamp, policy: CachePolicy
    ) -> FresheningDecision {
        let update = Update(response.fields, to: request, at: responseTime, policy: policy)
        let fields = merged(stored.fields, with: update.fields)
        guard isBounded(fields, mergedFrom: stored.fields, update.fields) else { return .untouched(.size) }
        func freshened(_ fields: Fields) -> StoredResponse {
            let variance =
                response.fields.contains(.vary)
                ? policy.variance(of: fields, to: request.fields) : stored.variance
            return StoredResponse(
                requestMethod: stored.requestMethod, requestedRange: stored.requestedRange,
                traces: stored.traces.union(policy.traces(of: request.fields).subtracting(.credentialBesideKey)),
                place: stored.place, variance: variance, status: stored.status, fields: fields,
                requestTime: requestTime,
                responseTime: responseTime, contentLength: stored.contentLength, extent: stored.extent, policy: policy)
        }
        let updated = freshened(fields)
        if let obstacle = obstacle(to: updated, policy) {
            // Credentials in the request do not take a response from all whom it was for.
            return obstacle == .authorization && !stored.requestWasAuthorized
                ? .unstored(updated) : .discard(updated, obstacle)
        }
        switch update.audience(beside: stored) {
        case .all: return .updated(updated)
        case .client: return .unstored(updated)
        case .clientBut(let shared):
            return .confirmed(freshened(merged(stored.fields, with: shared)), by: shared, own: updated)
        }
    }

    /// Updates `stored`, which a GET with the fields of `request` would select, with a response to HEAD.
    package static func freshenByHead(
        _ stored: StoredResponse, with response: ResponseHead, to request: RequestHead, requestTime: Timestamp,
        responseTime: Timestamp, policy: CachePolicy
    ) -> FresheningDecision {
        guard response.status == 200, stored.status == 200 || stored.status == 206 else { return .untouched(.status) }
        if let reason = difference(stored, response.fields, now: responseTime) {
            return .stale(stored.marked(.stale, policy: policy), reason)
        }
        // One user's representation is another's only if the origin names it.
        let isSame = stored.facts.eTag.map { response.fields.singleEntityTag == $0 } ?? false
        guard !stored.facts.isForOne || isSame else { return .untouched(.user) }
        return freshen(
            stored, with: response, to: request, requestTime: requestTime, responseTime: responseTime, policy: policy)
    }

    /// The stored fields, replaced by those of a newer response where it has them (RFC 9111 §3.2).
    ///
    /// Besides `Content-Length`, the fields that say how to read the content stay too: the content is the stored one.
    /// `Age` and `Date` belong to a response, not to the representation, so the older response's never stay.
    package static func merged(_ stored: Fields, with response: Fields) -> Fields {
        var update = response
        HopByHop.strip(&update, for: .store)
        update.removeAll { name, _, _ in name.map { ofTheContent.contains($0) } ?? false }
        var replaced: Set<FieldName> = [.age, .date]
        update.forEachLine { name, spelling, _ in replaced.insert(name ?? FieldName(token: spelling)) }
        var merged = stored
        merged.removeAll { name, spelling, _ in replaced.contains(name ?? FieldName(token: spelling)) }
        update.forEachLine { _, spelling, value in merged.appendReceived(spelling: spelling, value: value) }
        return merged
    }

    /// True if merged fields are within the default limits of a received head. They may exceed these where one of the
    /// two heads did: otherwise each response could add its own fields, without end.
    private static func isBounded(_ merged: Fields, mergedFrom stored: Fields, _ response: Fields) -> Bool {
        merged.octetCount <= max(sizeLimit, stored.octetCount, response.octetCount)
            && merged.count <= max(lineLimit, stored.count, response.count)
    }

    private static let sizeLimit = 64 << 10
    private static let lineLimit = 200

    private static let ofTheContent = FieldSet([.contentLength, .contentEncoding, .contentType, .contentRange])

    /// The condition in the merged fields that forbids storing the response; the stored ones may have lacked it.
    private static func obstacle(to stored: StoredResponse, _ policy: CachePolicy) -> StorageCondition? {
        let directives = stored.facts.directives
        if directives.flags.contains(.noStore), !directives.flags.contains(.mustUnderstand) { return .noStore }
        if policy.role == .shared {
            if directives.flags.contains(.isPrivate) { return .notPrivate }
            if stored.requestWasAuthorized, !policy.storesAuthorized, !stored.facts.allowsAuthorized,
                !policy.ignoredResponse.isForEveryone
            {
                return .authorization
            }
        }
        return stored.variance.matchesNothing ? .vary : nil
    }

    private static func difference(
        _ stored: StoredResponse, _ head: Fields, now: Timestamp
    ) -> FresheningDecision.StaleReason? {
        if let tag = head.entityTag, tag != stored.facts.eTag { return .eTag }
        if head.contains(.lastModified), head.date(.lastModified, now: now) != stored.facts.lastModified {
            return .lastModified
        }
        guard let length = head.withFirst(.contentLength, { Int64(decimal: $0) }) else { return nil }
        let known: Int64? = if case .parts(_, let complete) = stored.extent { complete } else { stored.contentLength }
        return known == nil || known == length ? nil : .contentLength
    }
}
