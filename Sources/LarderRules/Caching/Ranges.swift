// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The answer to a range request from a stored response (RFC 9110 §14.2, §15.3.7).
package enum RangeDecision: Sendable, Hashable {
    /// All stored content, with the stored status: 200, or the 206 that was received.
    case whole(WholeReason)
    /// 206 with this range and `Content-Range`.
    case single(ByteRange, completeLength: Int64?)
    /// 206 with several parts, in this order.
    case multiple([ByteRange], completeLength: Int64)
    /// 416 with `Content-Range: bytes */length`.
    case unsatisfiable(completeLength: Int64)

    package enum WholeReason: String, Sendable, Hashable, CaseIterable {
        /// No `Range`, or one with a method that it does not apply to.
        case notAsked = "not-asked"
        /// The field is malformed, in another unit, or contradictory.
        case invalid
        /// Only a complete 200 response is cut into ranges.
        case status
        /// The content is still arriving, and its length was not announced.
        case lengthUnknown = "length-unknown"
        /// `If-Range` names another representation.
        case ifRange = "if-range"
        /// There is nothing to cut.
        case empty
        /// Many small or overlapping ranges: sending them would cost more than the whole does.
        case wasteful
        /// The request asks for the same part as the one that received it.
        case asReceived = "as-received"
    }
}

package enum Ranges {
    /// The approximate cost of one more part (RFC 9110 §15.3.7.2): smaller gaps are sent along.
    package static let partOverhead: Int64 = 80
    /// The most parts that are sent.
    package static let partLimit = 16

    /// Decides which part of `stored` answers `request`, which is known to be answerable from it.
    package static func evaluate(_ request: RequestHead, against stored: StoredResponse) -> RangeDecision {
        guard request.method == .get, request.fields.contains(.range) else { return .whole(.notAsked) }
        if stored.isPartial { return evaluatePart(request, stored) }
        guard stored.status == 200 else { return .whole(.status) }
        guard Preconditions.ifRangeHolds(request.fields, for: stored) else { return .whole(.ifRange) }
        guard let specifier = RangeSpecifier(request.fields) else { return .whole(.invalid) }
        guard let length = stored.contentLength else { return .whole(.lengthUnknown) }
        return evaluate(specifier, completeLength: length)
    }

    /// Decides which part of a complete representation of `length` bytes answers a range request.
    package static func evaluate(_ specifier: RangeSpecifier, completeLength length: Int64) -> RangeDecision {
        if length == 0 { return .whole(.empty) }
        let satisfiable = specifier.specs.compactMap { $0.resolved(length) }
        if satisfiable.isEmpty { return .unsatisfiable(completeLength: length) }
        return plan(satisfiable, completeLength: length)
    }

    /// True if the partial response `stored` has everything that `request` asks for (RFC 9111 §3.3).
    package static func covers(_ stored: StoredResponse, _ request: RequestHead) -> Bool {
        guard request.method == .get, request.fields.contains(.range),
            Preconditions.ifRangeHolds(request.fields, for: stored)
        else { return false }
        if isSameRange(request, stored) { return true }
        return held(request, stored) != nil
    }

    private static func evaluatePart(_ request: RequestHead, _ stored: StoredResponse) -> RangeDecision {
        if isSameRange(request, stored) { return .whole(.asReceived) }
        guard case .parts(_, let completeLength) = stored.extent, let range = held(request, stored) else {
            return .whole(.invalid)
        }
        return .single(range, completeLength: completeLength)
    }

    /// The stored range that answers the request. Requests for several ranges are forwarded: the stored ones seldom
    /// include all of them.
    private static func held(_ request: RequestHead, _ stored: StoredResponse) -> ByteRange? {
        guard case .parts(let parts, let completeLength) = stored.extent,
            let specifier = RangeSpecifier(request.fields),
            specifier.specs.count == 1, let range = specifier.specs[0].resolved(completeLength: completeLength)
        else { return nil }
        return parts.contains { $0.contains(range) } ? range : nil
    }

    private static func isSameRange(_ request: RequestHead, _ stored: StoredResponse) -> Bool {
        guard let requested = stored.requestedRange, request.fields.count(of: .range) == 1 else { return false }
        return request.fields.withFirst(.range) { $0.elementsEqual(requested) } ?? false
    }

    /// Joins ranges that overlap or nearly touch, and limits the response: never more than the whole would be.
    private static func plan(_ ranges: [ByteRange], completeLength: Int64) -> RangeDecision {
        var joined: [ByteRange] = []
        for range in ranges {
            var merged = range
            var position = joined.count
            while let index = joined.lastIndex(where: { isNear($0, merged) }) {
                merged = ByteRange(
                    first: min(joined[index].first, merged.first), last: max(joined[index].last, merged.last))
                joined.remove(at: index)
                position = index
            }
            joined.insert(merged, at: min(position, joined.count))
        }
        if joined.count == 1 { return .single(joined[0], completeLength: completeLength) }
        let octets = joined.reduce(0) { $0 + $1.count }
        guard joined.count <= partLimit, octets <= completeLength - Int64(joined.count) * partOverhead else {
            return .whole(.wasteful)
        }
        return .multiple(joined, completeLength: completeLength)
    }

    private static func isNear(_ a: ByteRange, _ b: ByteRange) -> Bool {
        a.first - b.last <= partOverhead && b.first - a.last <= partOverhead
    }
}
