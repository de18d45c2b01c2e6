// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
package import LarderRules

/// The pipeline's output for a response, or an operator's override: the head that clients get instead of the origin's.
///
/// Its validators are its own and go to clients only; freshness and `Vary` are the origin's.
package struct Rendition: Sendable {
    package let status: Status
    package let fields: Fields
    /// The status the origin answered with.
    package let originStatus: Status
    /// True if it is data although that status is an error: it counts as if it had come with 200.
    package let isPromoted: Bool
    /// True if no origin said any of it (T-17).
    package let isOverride: Bool
    /// Set where it is only another form of a stored response for clients.
    package var form: Form?

    package enum Form: Sendable, Hashable {
        /// The same bytes, in a response that says that there are others.
        case asItCame
        /// In another coding, or in none.
        case coded(ServedCoding)

        /// Its name in `Cache-Status` and explanations; nil for an untransformed response.
        package var word: String? {
            switch self {
            case .asItCame: nil
            case .coded(.identity): "decoded"
            case .coded(let coding): "coded-\(coding.rawValue)"
            }
        }
    }

    package init(
        status: Status, fields: Fields, originStatus: Status, isPromoted: Bool, isOverride: Bool = false
    ) {
        self.status = status
        self.fields = fields
        self.originStatus = originStatus
        self.isPromoted = isPromoted
        self.isOverride = isOverride
    }

    /// The response as clients get it, in place of `stored`.
    func served(for stored: StoredResponse, length: Int64) -> StoredResponse {
        // The fields have been reduced to what may be kept, by the policy of the time and by what `stored` has now.
        var policy = CachePolicy()
        policy.role = .private
        policy.codings = stored.recoding?.offered ?? []
        return StoredResponse(
            requestMethod: stored.requestMethod, traces: stored.traces, variance: stored.variance, status: status,
            fields: stored.sharable(fields), requestTime: stored.requestTime,
            responseTime: stored.responseTime, contentLength: length, policy: policy)
    }

    /// After a 304 about the origin's response: what it says of the bytes is about others than these.
    func freshened(by update: Fields) -> Rendition {
        var update = update
        WireFields.removeThoseOfOriginalOctets(from: &update)
        return Rendition(
            status: status, fields: Freshening.merged(fields, with: update), originStatus: originStatus,
            isPromoted: isPromoted, isOverride: isOverride)
    }
}
