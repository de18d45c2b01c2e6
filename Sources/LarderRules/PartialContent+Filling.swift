// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// How to answer a request with stored parts and what is missing of them (RFC 9111 §3.3, §3.4).
package struct Filling: Sendable, Hashable {
    /// What the answer consists of; nil for everything up to an end that is not known yet.
    package let wanted: ByteRange?
    /// The first octet that is missing.
    package let first: Int64
    /// The last one; nil for everything up to that end.
    package let last: Int64?
    /// Whether the client asked for a range, and so gets a 206.
    package let isRange: Bool
    /// The value of `Range` to ask with.
    package let range: String
    /// The value of `If-Range`: the strong validator of what is stored.
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

/// Whether to ask for less than the client does.
package enum FillDecision: Sendable, Hashable {
    case ask(Filling)
    /// The request goes out as the client made it.
    case asItIs(AsItIsReason)

    package enum AsItIsReason: String, Sendable, Hashable, CaseIterable {
        /// There is nothing to complete, or it cannot be cut.
        case notPartial = "not-partial"
        /// Nothing says that what comes would be of the same representation.
        case noStrongValidator = "no-strong-validator"
        /// The origin said that it has no ranges.
        case noRanges = "no-ranges"
        /// The client has conditions of its own, or is about another representation.
        case conditional
        /// The client wants nothing to do with what is stored.
        case requestNoStore = "request-no-store"
        /// It asks for something that cannot be told from the head, or for several ranges.
        case range
        /// What is held saves nothing.
        case nothingHeld = "nothing-held"
        case nothingMissing = "nothing-missing"
    }
}

extension PartialContent {
    /// More ranges than this are not kept of one representation.
    package static let partLimit = 16

    /// Decides what to ask for, so that with it the parts of `stored` answer `request`, which they do not cover.
    package static func fill(_ stored: StoredResponse, for request: RequestHead) -> FillDecision {
        guard case .parts(let held, let completeLength) = stored.extent, !held.isEmpty else {
            return .asItIs(.notPartial)
        }
        guard let validator = strongValidator(stored) else { return .asItIs(.noStrongValidator) }
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
            // Where the whole ends is not known, so what follows the first run is all asked for.
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

    /// What `response` to a request for `filling` makes of `stored`, provided that all of its content arrives.
    ///
    /// Nil unless it is exactly what was asked for, of the same representation: octets are never put together on
    /// less (RFC 9110 §15.3.7.3).
    package static func filled(
        _ stored: StoredResponse, _ filling: Filling, by response: ResponseHead, contentLength: Int64?,
        to request: RequestHead, requestTime: Timestamp, responseTime: Timestamp, policy: CachePolicy
    ) -> (stored: StoredResponse, range: ByteRange, completeLength: Int64?)? {
        guard response.status == 206, case .range(let range, let newLength) = ContentRange(response.fields),
            range.first == filling.first, contentLength ?? range.count == range.count
        else { return nil }
        // To the end means to the end.
        guard let last = filling.last ?? newLength.map({ $0 - 1 }), range.last == last else { return nil }
        let decision = combine(
            stored, with: response, to: request, contentLength: range.count, requestTime: requestTime,
            responseTime: responseTime, policy: policy)
        guard case .combined(let combined) = decision else { return nil }
        guard case .parts(_, let heldLength) = stored.extent else { return nil }
        return (combined, range, heldLength ?? newLength)
    }

    /// The response `stored`, a 200 or a 206 whose content broke off after `count` octets; nil when they are of no
    /// use, because nothing could be put behind them.
    package static func cut(_ stored: StoredResponse, after count: Int64, policy: CachePolicy) -> StoredResponse? {
        guard count > 0, strongValidator(stored) != nil, stored.fields["Accept-Ranges"]?.lowercased() != "none" else {
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
            requestMethod: stored.requestMethod, requestWasAuthorized: stored.requestWasAuthorized,
            requestWasPersonal: stored.requestWasPersonal,
            variance: stored.variance, status: 200, fields: fields, requestTime: stored.requestTime,
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
    /// Where the octet at `position` of the representation lies in the content that is kept, which is the held
    /// ranges one behind the other; nil when it is not held.
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
