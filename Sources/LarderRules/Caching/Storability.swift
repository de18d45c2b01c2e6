// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Whether a response is stored, and why (RFC 9111 §3).
package enum StorabilityDecision: Sendable, Hashable {
    case store(StorageReason, Durability)
    /// The first condition that failed; `Storability.conditions` returns all.
    case doNotStore(StorageCondition)

    /// Where a stored response may be kept.
    package enum Durability: String, Sendable, Hashable, CaseIterable {
        case durable
        /// In memory only: an error without an explicit lifetime.
        case memory
    }
}

/// Why a response is storable; the raw values are used in explanations and logs.
package enum StorageReason: Sendable, Hashable {
    /// It has a freshness lifetime of its own.
    case explicit(Freshness.Source)
    /// `public`, or `private` in a private cache.
    case marked
    /// Its status is defined as heuristically cacheable (RFC 9110 §15.1).
    case heuristicallyCacheable
    /// The configuration says so.
    case configured
}

/// The conditions for a response to be stored, in the order of evaluation. The raw values are used in `detail`, logs
/// and explanations.
package enum StorageCondition: String, Sendable, Hashable, CaseIterable, BitwiseCopyable {
    /// Responses to the method can be reused.
    case method
    /// The status is final, and does not depend on parts of the request that are not in the key.
    case status
    /// With `must-understand`: the status is known here.
    case mustUnderstand = "must-understand"
    /// Each redirect that was followed on the way to it may be kept, too.
    case redirect
    /// The request has no `no-store`.
    case requestNoStore = "request-no-store"
    /// The response has no `no-store`.
    case noStore = "no-store"
    /// Not `private`, or the cache is.
    case notPrivate = "private"
    /// No `Authorization`, or a directive that allows sharing the response anyway.
    case authorization
    /// Where users have separate parts of the cache: no credentials outside the identity, or a directive that allows
    /// sharing the response anyway.
    case credentials
    /// No content outside the key made the origin choose this response.
    case requestContent = "request-content"
    /// A partial response says which part it is.
    case contentRange = "content-range"
    /// `Vary` tells which later requests match.
    case vary
    /// A cookie in the response does not prevent storing: this always holds.
    case setCookie = "set-cookie"
    /// It has a lifetime, or is marked or defined as cacheable.
    case cacheable
}

package enum Storability {
    /// Decides whether `response` to `request` is stored.
    ///
    /// - Parameter target: the target URI, which `Content-Location` is compared with.
    package static func decide(
        request: RequestHead, target: TargetURI, response: ResponseHead, policy: CachePolicy, responseTime: Timestamp
    ) -> StorabilityDecision {
        Trial(request: request, target: target, response: response, policy: policy, responseTime: responseTime)
            .decision
    }

    /// RFC 9111 §3.5: the directives that let a shared cache store a response to a request with `Authorization`.
    package static func allowsAuthorized(_ directives: CacheControl.Response) -> Bool {
        !directives.flags.isDisjoint(with: [.isPublic, .mustRevalidate]) || directives.sMaxage?.duration != nil
    }

    /// True if the request carries content, as far as its head says.
    package static func hasContent(_ request: RequestHead) -> Bool {
        if request.fields.contains(.transferEncoding) { return true }
        return request.fields.withFirst(.contentLength) { !$0.allSatisfy { $0 == 0x30 } } ?? false
    }

    /// The statuses whose rules for caching are all known and implemented (RFC 9111 §3): those of RFC 9110.
    package static func isUnderstood(_ status: Status) -> Bool {
        switch status.rawValue {
        case 200...206, 300...303, 305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }

    /// Statuses that depend on more than the method and the URI, so that another request with the same key may well get
    /// another response: proxy authentication, a connection's state, preconditions, ranges, expectations, upgrades, and
    /// the size of the header section.
    static func dependsOnMoreThanKey(_ status: Status) -> Bool {
        switch status.rawValue {
        case 304, 407, 408, 412, 416, 417, 421, 425, 426, 431: true
        default: false
        }
    }
}
