// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How to answer a request with stored parts and the missing ones (RFC 9111 §3.3, §3.4).
package struct Filling: Sendable, Hashable {
    /// The range that answers; nil for everything up to an end that is not known yet.
    package let wanted: ByteRange?
    /// The first byte that is missing.
    package let first: Int64
    /// The last missing one; nil for everything up to that end.
    package let last: Int64?
    /// True if the client asked for a range, and so gets a 206.
    package let isRange: Bool
    /// The value of `Range` for the request to the origin.
    package let range: String
    /// The value of `If-Range`: the strong validator of the stored response.
    package let ifRange: [UInt8]

    package init(
        wanted: ByteRange?, first: Int64, last: Int64?, isRange: Bool, range: String, ifRange: [UInt8]
    ) {
        self.wanted = wanted
        self.first = first
        self.last = last
        self.isRange = isRange
        self.range = range
        self.ifRange = ifRange
    }
}

/// Whether to request less than the client does.
package enum FillDecision: Sendable, Hashable {
    case ask(Filling)
    /// The request is forwarded unchanged.
    case asItIs(AsItIsReason)

    package enum AsItIsReason: String, Sendable, Hashable, CaseIterable {
        /// The stored response is not partial, or cannot be cut.
        case notPartial = "not-partial"
        /// No strong validator shows that the rest would be of the same representation.
        case noStrongValidator = "no-strong-validator"
        /// The origin said that it does not support ranges.
        case noRanges = "no-ranges"
        /// The client has conditions of its own, or is about another representation.
        case conditional
        /// The client has said `no-store`.
        case requestNoStore = "request-no-store"
        /// The range cannot be determined from the head, or there are several.
        case range
        /// The stored parts save nothing.
        case nothingHeld = "nothing-held"
        case nothingMissing = "nothing-missing"
    }
}

extension PartialContent {
    /// The most ranges that are stored of one representation.
    package static let partLimit = 16

    /// Decides what to request, so that with it the parts of `stored` answer `request`, which they do not cover.
    package static func fill(_ stored: StoredResponse, for request: RequestHead, policy: CachePolicy) -> FillDecision {
        guard case .parts(let held, let completeLength) = stored.extent, !held.isEmpty else {
            return .asItIs(.notPartial)
        }
        let isPersonal = policy.personalField(of: request.fields) != nil
        guard stored.place == nil, let validator = strongValidator(stored, isPersonal: isPersonal) else {
            return .asItIs(.noStrongValidator)
        }
        if stored.fields["Accept-Ranges"]?.lowercased() == "none" { return .asItIs(.noRanges) }
        guard request.method == .get, FieldSet(of: request.fields).isDisjoint(with: notFilled),
            Preconditions.ifRangeHolds(request.fields, for: stored)
        else { return .asItIs(.conditional) }
        if CacheControl.Request(request.fields).noStore { return .asItIs(.requestNoStore) }
        let isRange = request.fields.contains(.range)
        let end = completeLength.map { $0 - 1 }
        var wanted = end.map { ByteRange(first: 0, last: $0) }
        if isRange {
            guard let specifier = RangeSpecifier(request.fields), specifier.specs.count == 1,
                let range = specifier.specs[0].resolved(completeLength: completeLength)
            else { return .asItIs(.range) }
            wanted = range
        }
        let first = firstMissing(from: wanted?.first ?? 0, held)
        guard let wanted else {
            // The length of the whole is unknown, so everything after the first run is requested.
            guard first > 0 else { return .asItIs(.nothingHeld) }
            return .ask(
                Filling(
                    wanted: nil, first: first, last: nil, isRange: false, range: "bytes=\(first)-", ifRange: validator))
        }
        if first > wanted.last { return .asItIs(.nothingMissing) }
        let last = lastMissing(to: wanted.last, held)
        if first == wanted.first, last == wanted.last { return .asItIs(.nothingHeld) }
        return .ask(
            Filling(
                wanted: wanted, first: first, last: last, isRange: isRange,
                range: last == end ? "bytes=\(first)-" : "bytes=\(first)-\(last)", ifRange: validator))
    }

    /// The result of combining `stored` with `response` to a request for `filling`, provided that all content arrives.
    /// Nil unless it is exactly the requested part, of the same representation: bytes are never combined on less
    /// evidence (RFC 9110 §15.3.7.3).
    package static func filled(
        _ stored: StoredResponse, _ filling: Filling, by response: ResponseHead, contentLength: Int64?,
        to request: RequestHead, requestTime: Timestamp, responseTime: Timestamp, policy: CachePolicy
    ) -> (stored: StoredResponse, isForAll: Bool, range: ByteRange, completeLength: Int64?)? {
        guard response.status == 206, case .range(let range, let newLength) = ContentRange(response.fields),
            range.first == filling.first, contentLength ?? range.count == range.count
        else { return nil }
        // An open-ended range must extend to the end.
        guard let last = filling.last ?? newLength.map({ $0 - 1 }), range.last == last else { return nil }
        let decision = combine(
            stored, with: response, to: request, contentLength: range.count, requestTime: requestTime,
            responseTime: responseTime, policy: policy)
        guard case .combined(let combined, let isForAll) = decision else { return nil }
        guard case .parts(_, let heldLength) = stored.extent else { return nil }
        return (combined, isForAll, range, heldLength ?? newLength)
    }

    /// The response `stored`, a 200 or a 206 whose content was cut off after `count` bytes; nil when the bytes are of
    /// no use, because nothing could be appended to them.
    package static func cut(_ stored: StoredResponse, after count: Int64, policy: CachePolicy) -> StoredResponse? {
        guard count > 0, stored.place == nil, strongValidator(stored) != nil,
            stored.fields["Accept-Ranges"]?.lowercased() != "none"
        else {
            return nil
        }
        let extent: StoredResponse.Extent
        switch (stored.status, stored.extent) {
        case (200, .whole):
            guard count < stored.contentLength ?? .max else { return nil }
            extent = .parts([ByteRange(first: 0, last: count - 1)], completeLength: stored.contentLength)
        case (206, .parts(let parts, let completeLength)):
            guard parts.count == 1, count <= parts[0].count else { return nil }
            let range = ByteRange(first: parts[0].first, last: parts[0].first + count - 1)
            extent = .parts([range], completeLength: completeLength)
        default: return nil
        }
        var fields = stored.fields
        fields.remove(.contentLength)
        fields.remove(.contentRange)
        return StoredResponse(
            requestMethod: stored.requestMethod, traces: stored.traces, place: stored.place, variance: stored.variance,
            status: 200, fields: fields, requestTime: stored.requestTime,
            responseTime: stored.responseTime, contentLength: count, extent: extent, standing: stored.standing,
            policy: policy)
    }

    /// Conditions and content that only the origin can judge.
    private static let notFilled = FieldSet([
        .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince, .contentLength, .transferEncoding,
    ])

    private static func firstMissing(from position: Int64, _ held: [ByteRange]) -> Int64 {
        held.reduce(position) { $1.first <= $0 && $0 <= $1.last ? $1.last + 1 : $0 }
    }

    private static func lastMissing(to position: Int64, _ held: [ByteRange]) -> Int64 {
        held.reversed().reduce(position) { $1.first <= $0 && $0 <= $1.last ? $1.first - 1 : $0 }
    }
}

extension StoredResponse.Extent {
    /// The offset of the byte at `position` of the representation in the stored content, which is the stored ranges
    /// one after the other; nil when it is not stored.
    package func offset(of position: Int64) -> Int64? {
        guard case .parts(let parts, _) = self else { return self == .whole ? position : nil }
        var offset: Int64 = 0
        for part in parts {
            if part.first <= position, position <= part.last { return offset + position - part.first }
            offset += part.count
        }
        return nil
    }
}
