// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// A response as a cache stores it (RFC 9111 §3), without its content: the request, the response, the times, and
/// everything derived from these that each use needs.
///
/// It is immutable; freshening and invalidating make new values. Properties that depend on the configuration are
/// computed at initialisation, so it is recreated when the configuration changes.
package final class StoredResponse: Sendable {
    /// The bytes of the representation that are stored.
    package enum Extent: Sendable, Hashable {
        /// All of them.
        case whole
        /// These ranges, ascending and disjoint, of a representation of that length, if it is known.
        case parts([ByteRange], completeLength: Int64?)
        /// A partial response whose content cannot be cut: several parts in one, or one whose length differs from the
        /// stated one. It answers the same request again, and no other.
        case asReceived
    }

    /// How far the response may be trusted, apart from its age.
    package enum Standing: String, Sendable, Hashable {
        case asReceived
        /// To be treated as stale (RFC 9111 §4.3.5).
        case stale
        /// In need of validation before any use (RFC 9111 §4.4).
        case invalid
    }

    package let requestMethod: Method
    /// The value of `Range` in the request, if that is why the response is partial.
    package let requestedRange: [UInt8]?
    package let traces: UserTraces
    /// The URL it came from, where redirects were followed there; nil for the requested one. Its validators are about
    /// that URL, and its bytes are never combined with others.
    package let place: String?
    package let variance: Variance
    package let status: Status
    /// The stored header section: without hop-by-hop fields, and those that the origin or the configuration excludes
    /// from caches; always with a `Date`.
    package let fields: Fields
    package let requestTime: Timestamp
    package let responseTime: Timestamp
    /// The bytes of stored content; nil while the number is unknown.
    package let contentLength: Int64?
    package let extent: Extent
    package let standing: Standing
    package let facts: Facts
    /// The codings in which its content can be sent; nil when it is sent as received.
    package let recoding: Recoding?

    /// Makes a stored response of its parts, as a store returns them. `fields` are reduced to those that may be stored.
    package init(
        requestMethod: Method = .get, requestedRange: [UInt8]? = nil, traces: UserTraces = [], place: String? = nil,
        variance: Variance = .none, status: Status, fields: Fields, requestTime: Timestamp, responseTime: Timestamp,
        contentLength: Int64? = nil, extent: Extent? = nil, standing: Standing = .asReceived, policy: CachePolicy
    ) {
        let directives = policy.directives(of: fields, isPersonal: traces.contains(.credentialBesideKey))
        self.requestMethod = requestMethod
        self.requestedRange = requestedRange
        // A shared cache does not keep the field.
        let traces = fields.contains(.setCookie) ? traces.union(.cookie) : traces
        self.traces = traces
        self.place = place
        self.status = status
        let (kept, date) = StoredResponse.kept(fields, directives, responseTime, policy)
        self.fields = kept
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.contentLength = contentLength
        let extent = extent ?? StoredResponse.extent(status: status, fields: kept, contentLength: contentLength)
        self.extent = extent
        recoding = Recoding(
            status: status, fields: kept, directives: directives, isWhole: extent == .whole, length: contentLength,
            offered: policy.codings)
        self.variance = variance.spanningCodings(recoding != nil)
        self.standing = standing
        facts = Facts(
            status: status, fields: kept, date: date, directives: directives, requestTime: requestTime,
            responseTime: responseTime, standing: standing, traces: traces, policy: policy)
    }

    /// Makes a stored response of a response to `request`.
    ///
    /// - Parameters:
    ///   - place: the URL that redirects were followed to; nil for the requested one.
    ///   - contentLength: the bytes of content received, if all have been.
    package convenience init(
        _ response: ResponseHead, to request: RequestHead, from place: String? = nil, requestTime: Timestamp,
        responseTime: Timestamp, contentLength: Int64? = nil, policy: CachePolicy
    ) {
        self.init(
            requestMethod: request.method,
            requestedRange: response.status == 206 ? request.fields.withFirst(.range) { Array($0) } : nil,
            traces: policy.traces(of: request.fields), place: place,
            variance: policy.variance(of: response.fields, to: request.fields),
            status: response.status, fields: response.fields, requestTime: requestTime, responseTime: responseTime,
            contentLength: contentLength, policy: policy)
    }

    /// The same response as if it had that status: an error that a configuration turns into data is data, whatever the
    /// origin's status.
    package func counting(as status: Status, policy: CachePolicy) -> StoredResponse {
        StoredResponse(
            requestMethod: requestMethod, requestedRange: requestedRange, traces: traces, place: place,
            variance: variance,
            status: status, fields: fields, requestTime: requestTime, responseTime: responseTime,
            contentLength: contentLength, extent: extent, standing: standing, policy: policy)
    }

    /// The same response with another standing.
    package func marked(_ standing: Standing, policy: CachePolicy) -> StoredResponse {
        StoredResponse(
            requestMethod: requestMethod, requestedRange: requestedRange, traces: traces, place: place,
            variance: variance,
            status: status, fields: fields, requestTime: requestTime, responseTime: responseTime,
            contentLength: contentLength, extent: extent, standing: standing, policy: policy)
    }

    package var requestWasAuthorized: Bool { traces.contains(.authorization) }

    /// Whether the content is not the whole representation.
    @inlinable
    package var isPartial: Bool { extent != .whole }

    /// `fields` without those that must not be stored (RFC 9111 §3.1), or not by this cache; always with a `Date`
    /// (RFC 9110 §6.6.1), and its value. The function is idempotent, so fields from a store have the same facts.
    private static func kept(
        _ fields: Fields, _ directives: CacheControl.Response, _ responseTime: Timestamp, _ policy: CachePolicy
    ) -> (Fields, date: Timestamp) {
        let hop = HopByHop(fields, for: .store)
        let isShared = policy.role == .shared
        let withheld = isShared ? directives.noCacheFields + directives.privateFields : directives.noCacheFields
        var kept = fields.filter { name, spelling, _ in
            if hop.ends(name, spelled: spelling) { return false }
            // No client gets the cookie of another (RFC 9111 §7.3).
            if isShared, name == .setCookie { return false }
            return withheld.isEmpty || !withheld.contains(name ?? FieldName(token: spelling))
        }
        if let date = kept.date(.date, now: responseTime) { return (kept, date) }
        kept[.date] = HTTPDate.string(responseTime)
        return (kept, Timestamp(seconds: responseTime.seconds))
    }

    /// The fields of the received response, or of a pipeline's output, for other clients than the first: without those
    /// that were not stored (RFC 9111 §5.2.2.4, §5.2.2.7, §7.3).
    package func sharable(_ received: Fields) -> Fields {
        let directives = facts.directives
        let withheld = directives.noCacheFields + directives.privateFields
        guard !withheld.isEmpty || received.contains(.setCookie) else { return received }
        return received.filter { name, spelling, _ in
            let name = name ?? FieldName(token: spelling)
            return name != .setCookie && !withheld.contains(name) || fields.contains(name)
        }
    }

    private static func extent(status: Status, fields: Fields, contentLength: Int64?) -> Extent {
        guard status == 206 else { return .whole }
        guard case .range(let range, let completeLength) = ContentRange(fields),
            contentLength ?? range.count == range.count
        else { return .asReceived }
        return .parts([range], completeLength: completeLength)
    }
}

extension StoredResponse {
    /// The same response, now with all of its content.
    package func complete(length: Int64, policy: CachePolicy) -> StoredResponse {
        if contentLength == length { return self }
        return StoredResponse(
            requestMethod: requestMethod, requestedRange: requestedRange, traces: traces, place: place,
            variance: variance,
            status: status, fields: fields, requestTime: requestTime, responseTime: responseTime,
            contentLength: length, standing: standing, policy: policy)
    }
}
