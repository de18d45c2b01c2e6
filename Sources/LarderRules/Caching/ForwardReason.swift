// SPDX-License-Identifier: Apache-2.0

/// Why a request was forwarded; the raw values are the words of RFC 9211 §2.2.
package enum ForwardReason: String, Sendable, Hashable, CaseIterable {
    /// Caching is switched off for this request.
    case bypass
    /// The method's semantics require it.
    case method
    /// Nothing is stored for the URI.
    case uriMiss = "uri-miss"
    /// Something is stored for the URI, but for other values of the fields in `Vary`.
    case varyMiss = "vary-miss"
    /// Nothing usable is stored, for a reason that is none of the more specific ones.
    case miss
    /// A fresh response was selected, but the request does not accept it as it is.
    case request
    /// A response was selected, but it is stale, or must be validated before each use.
    case stale
    /// The stored parts do not cover the request.
    case partial
}

/// Why a stale response may be used (RFC 9111 §4.2.4); the raw values are used as `detail` and in logs.
package enum StaleReason: String, Sendable, Hashable, CaseIterable {
    /// The client accepts it (RFC 9111 §5.2.1.2).
    case maxStale = "max-stale"
    /// RFC 5861 §3. The response must be validated in the background.
    case staleWhileRevalidate = "stale-while-revalidate"
    /// RFC 5861 §4: the upstream answered with an error.
    case staleIfError = "stale-if-error"
    /// The upstream cannot be reached.
    case disconnected
    /// The configuration says not to ask the upstream.
    case offline
}

/// Why a response must not be used once it is stale (RFC 9111 §4.2.4).
package enum StaleProhibition: String, Sendable, Hashable, CaseIterable {
    case noCache = "no-cache"
    case mustRevalidate = "must-revalidate"
    case proxyRevalidate = "proxy-revalidate"
    case sMaxage = "s-maxage"
    /// It is one user's, and was stored by a private cache.
    case notPrivate = "private"
    /// It may have been made for one user of many, and the origin lets nobody else use it without asking.
    case oneUsers = "personal"
    /// It was invalidated by a state-changing request (RFC 9111 §4.4).
    case invalidated
}

/// Why a request is answered with 504 without asking the upstream.
package enum RefusalReason: String, Sendable, Hashable, CaseIterable {
    case onlyIfCached = "only-if-cached"
    case offline
}
