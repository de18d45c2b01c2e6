// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The caching options of a service or block: every input of the rules besides the messages themselves and the time.
///
/// The defaults are those of RFC 9111 for a shared cache and change nothing that an origin said.
package struct CachePolicy: Sendable, Hashable {
    /// For whom responses are kept (RFC 9111 §1): any number of users, or one.
    package enum Role: String, Sendable, CaseIterable {
        case shared, `private`
    }

    /// How `expirationTime` and the origin's freshness information combine.
    package enum ExpirationMode: String, Sendable, CaseIterable {
        /// The origin's explicit lifetime; `expirationTime` where it names none and heuristics are allowed.
        case fallback
        /// The shorter of the two.
        case cap
        /// The longer of the two. `no-cache` still asks for validation.
        case floor
        /// `expirationTime` alone, counted from receipt, for every status; ignores `max-age`, `Expires` and `no-cache`.
        case override
    }

    package var role: Role = .shared
    /// The lifetime of responses for which the origin names none; nil leaves it to the heuristics of RFC 9111 §4.2.2.
    package var expirationTime: Duration?
    package var expirationMode: ExpirationMode = .fallback
    /// The lifetime of error responses for which the origin names none. They are kept in memory only.
    package var retryTime: Duration = .zero
    /// The most that an error's `Retry-After` makes of it.
    package var retryAfterLimit: Duration = .seconds(60)
    /// The window of RFC 5861 §3 where the origin names none.
    package var staleWhileRevalidate: Duration = .zero
    /// The window of RFC 5861 §4 where the origin names none: how stale a response to serve instead of a 5xx.
    package var staleIfError: Duration = .zero
    /// The target list of RFC 9213 §2.2, most applicable first. Empty for a proxy that is no part of a CDN.
    package var targets: [FieldName] {
        get { lists.values.targets }
        set { change { $0.targets = newValue } }
    }
    /// Never ask the upstream: stored responses whatever their age, else 504.
    package var offline = false
    /// True if responses to requests with `Authorization` are stored although no directive allows it, because the key
    /// separates the users (a partition). Without effect for a private cache, which may do so anyway.
    package var storesAuthorized = false
    /// True if the configuration adds credentials to requests, by fields, a certificate, a token or a program.
    package var addsCredentials = false
    /// True if the key includes the request content, which makes QUERY and POST storable like GET.
    package var keyedByContent = false
    /// The codings in which stored content is sent to clients that accept them, the preferred one first; where there
    /// are none, it is sent as received.
    package var codings: [ServedCoding] {
        get { lists.values.codings }
        set { change { $0.codings = newValue } }
    }
    /// The field in which origins name further groups, separated by blanks or commas: `Surrogate-Key`, `xkey`.
    package var surrogateKey: FieldName? {
        get { lists.values.surrogateKey }
        set { change { $0.surrogateKey = newValue } }
    }
    /// The directives of clients that are ignored.
    package var ignoredRequest: IgnoredRequest = []
    /// The directives of the origin that are ignored.
    package var ignoredResponse: IgnoredResponse {
        get { lists.values.ignoredResponse }
        set { change { $0.ignoredResponse = newValue } }
    }
    /// The lifetimes of responses with these statuses; they replace `expirationTime` and `retryTime`.
    package var expirationTimes: [Status: Duration] {
        get { lists.values.expirationTimes }
        set { change { $0.expirationTimes = newValue } }
    }
    /// How users are identified, where they have separate parts of the cache; nil where they do not.
    package var identity: Identity? {
        get { lists.values.identity }
        set { change { $0.identity = newValue } }
    }
    /// True if that field is hidden from clients.
    package var hidesSurrogateKey = false

    private var lists = Lists.none

    package init() {}

    /// The configured lifetime of a response with that status, if there is one.
    package func expirationTime(for status: Status) -> Duration? {
        expirationTimes.isEmpty ? expirationTime : expirationTimes[status] ?? expirationTime
    }

    private mutating func change(_ body: (inout Lists.Values) -> Void) {
        var values = lists.values
        body(&values)
        lists = Lists(values)
    }

    /// Everything in a policy that is larger than a number: behind one reference, as each request copies the policy.
    private final class Lists: Sendable, Hashable {
        struct Values: Hashable {
            var targets: [FieldName] = []
            var codings: [ServedCoding] = []
            var surrogateKey: FieldName?
            var identity: Identity?
            var ignoredResponse = IgnoredResponse()
            var expirationTimes: [Status: Duration] = [:]
        }

        static let none = Lists(Values())

        let values: Values

        init(_ values: Values) { self.values = values }

        static func == (a: Lists, b: Lists) -> Bool { a === b || a.values == b.values }

        func hash(into hasher: inout Hasher) { hasher.combine(values) }
    }
}
