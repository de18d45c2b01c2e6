// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The result of evaluating a request's preconditions (RFC 9110 §13.2.2).
package enum PreconditionDecision: Sendable, Hashable {
    /// Answer as if there were none.
    case proceed
    /// 304, because of this field.
    case notModified(by: FieldName)
    /// 412, because of this field.
    case preconditionFailed(by: FieldName)
}

package enum Preconditions {
    /// The role of the evaluator: a cache leaves to the origin what only an origin can know (RFC 9111 §4.3.2).
    package enum Evaluator: Sendable, CaseIterable {
        case cache
        /// For content that Larder makes itself.
        case origin
    }

    /// Evaluates the preconditions of `request` against a response that would answer it without them.
    ///
    /// - Parameter receivedAt: when the response was received, which stands in for a missing `Date`.
    package static func evaluate(
        _ request: RequestHead, against response: ResponseHead, receivedAt: Timestamp, as evaluator: Evaluator = .cache
    ) -> PreconditionDecision {
        evaluate(request, status: response.status, fields: response.fields, receivedAt: receivedAt, as: evaluator)
    }

    /// Evaluates the preconditions of `request` against the stored response chosen for it.
    package static func evaluate(_ request: RequestHead, against stored: StoredResponse) -> PreconditionDecision {
        evaluate(request, status: stored.status, fields: stored.fields, receivedAt: stored.responseTime, as: .cache)
    }

    private static func evaluate(
        _ request: RequestHead, status: Status, fields: Fields, receivedAt: Timestamp, as evaluator: Evaluator
    ) -> PreconditionDecision {
        guard FieldSet(of: request.fields).isDisjoint(with: conditional) == false, selectsRepresentation(request.method)
        else {
            return .proceed
        }
        // A cache answers conditions from stored 200 and 206 responses only; an origin from any success.
        guard evaluator == .origin ? status.isSuccess : status == 200 || status == 206 else { return .proceed }
        let eTag = fields.singleEntityTag
        let modified = LastModification(fields, receivedAt: receivedAt)
        if evaluator == .origin {
            if let tags = EntityTagList(.ifMatch, in: request.fields) {
                if !tags.contains(eTag, where: { $0.stronglyMatches($1) }) { return .preconditionFailed(by: .ifMatch) }
            } else if let limit = request.fields.date(.ifUnmodifiedSince, now: receivedAt),
                let lastModified = modified.field, lastModified > limit
            {
                return .preconditionFailed(by: .ifUnmodifiedSince)
            }
        }
        let isRead = request.method == .get || request.method == .head
        if let tags = EntityTagList(.ifNoneMatch, in: request.fields) {
            guard tags.contains(eTag, where: { $0.weaklyMatches($1) }) else { return .proceed }
            return isRead ? .notModified(by: .ifNoneMatch) : .preconditionFailed(by: .ifNoneMatch)
        }
        if isRead, let limit = request.fields.date(.ifModifiedSince, now: receivedAt), modified.instant <= limit {
            return .notModified(by: .ifModifiedSince)
        }
        return .proceed
    }

    /// True if a range request may be answered in part (RFC 9110 §13.1.5): there is no `If-Range`, or it names the
    /// stored representation by a strong validator.
    package static func ifRangeHolds(_ request: Fields, for stored: StoredResponse) -> Bool {
        guard request.contains(.ifRange) else { return true }
        guard request.count(of: .ifRange) == 1 else { return false }
        return request.withFirst(.ifRange) { octets in
            if octets.prefix(3).contains(0x22) {
                guard let eTag = stored.facts.eTag else { return false }
                return EntityTag(octets).stronglyMatches(eTag)
            }
            guard let date = HTTPDate.parse(octets, now: stored.responseTime),
                let lastModified = stored.facts.lastModified
            else {
                return false
            }
            return date == lastModified && Validation.isStrong(lastModified: lastModified, date: stored.facts.date)
        } ?? false
    }

    /// The fields of a stored response that a 304 made from it carries (RFC 9110 §15.4.5): those that a 200 would
    /// have had and that guide a cache, and nothing that describes content.
    package static func notModifiedFields(_ fields: Fields) -> Fields {
        var kept = fields
        kept.removeAll { name, _, _ in name.map { describesContent.contains($0) } ?? false }
        return kept
    }

    private static let conditional = FieldSet([.ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince])
    private static let describesContent = FieldSet([
        .contentLength, .contentType, .contentEncoding, .contentLanguage, .contentRange, .contentDisposition,
        .contentDigest,
        .contentMD5, .lastModified,
    ])

    /// RFC 9110 §13.2.1: methods that have nothing to do with a representation ignore preconditions.
    private static func selectsRepresentation(_ method: Method) -> Bool {
        method != .connect && method != .options && method != .trace
    }

    /// When the selected representation last changed, as far as is known.
    private struct LastModification {
        /// The value of `Last-Modified`.
        let field: Timestamp?
        /// That, else `Date`, else the time of receipt (RFC 9111 §4.3.2).
        let instant: Timestamp

        init(_ fields: Fields, receivedAt: Timestamp) {
            field = fields.date(.lastModified, now: receivedAt)
            instant = field ?? fields.date(.date, now: receivedAt) ?? receivedAt
        }
    }
}

extension EntityTagList {
    /// True if the list names the representation with that tag; `*` names any.
    fileprivate func contains(_ eTag: EntityTag?, where areEqual: (EntityTag, EntityTag) -> Bool) -> Bool {
        switch self {
        case .any: true
        case .tags(let tags): eTag.map { eTag in tags.contains { areEqual($0, eTag) } } ?? false
        }
    }
}
