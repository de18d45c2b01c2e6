// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// The response to a request whose redirects were followed. It is stored for the URL that was requested, so each
/// response on the way has a say: a redirect may be for one user, or for this moment, and lead to content that says it
/// is for all and for long.
package struct FollowedRedirects {
    private let request: RequestHead
    private let target: TargetURI
    private let policy: CachePolicy
    private var hops: [(head: ResponseHead, time: Timestamp)] = []

    /// - Parameters:
    ///   - request: the client's, for `target`.
    ///   - policy: by which the final response is stored.
    package init(of request: RequestHead, to target: TargetURI, policy: CachePolicy) {
        self.request = request
        self.target = target
        self.policy = policy
    }

    /// Notes a redirect that was followed.
    package mutating func append(_ redirect: ResponseHead, at now: Timestamp) { hops.append((redirect, now)) }

    /// The fields of the final response, restricted to what each redirect allows:
    ///
    /// - `no-store`, `private`, `no-cache` and the like of any (RFC 9111 §5.2.2), and `no-store` if one of them is not
    ///   storable for this request (§3, §3.5). That goes for redirects that no cache stores without being told to,
    ///   unless the configuration names a lifetime.
    /// - The shortest of their lifetimes (§4.2).
    /// - The fields in any `Vary` (§4.1).
    ///
    /// - Parameter stored: the fields that a 304 is about.
    /// - Returns: also whether each redirect may be kept for other requests like this one, beside such a response.
    package func fields(
        of response: ResponseHead, validating stored: Fields? = nil, at now: Timestamp
    ) -> (fields: Fields, redirectsAreKept: Bool) {
        guard !hops.isEmpty else { return (response.fields, true) }
        var fields = response.fields
        if response.status == 304, let stored {
            for name in [.cacheControl, .expires, .vary] + policy.targets where !fields.contains(name) {
                stored.forEach(name) { fields.append(name, bytes: $0) }
            }
        }
        let areKept = restrict(&fields, status: response.status == 304 ? 200 : response.status, at: now)
        vary(&fields)
        return (fields, areKept)
    }

    // MARK: Cache-Control

    /// Returns whether each redirect allows it to be stored.
    private func restrict(_ fields: inout Fields, status: Status, at now: Timestamp) -> Bool {
        let isStored = isStorable(fields, status: status, at: now)
        var flags: CacheControl.Response.Flags = []
        var left: Duration?
        var isAllowed = true
        var dropped: Set<String> = []
        for hop in hops {
            let directives = CacheControl.Response(hop.head.fields, targets: policy.targets)
            flags.formUnion(directives.flags)
            if directives.noCacheFields.contains(.setCookie) { flags.insert(.noCache) }
            switch term(of: hop.head, beside: status, at: hop.time) {
            case .none: isAllowed = false
            case .unlimited: break
            case .asked(let duration):
                left = min(left ?? duration, duration)
                // The final response calls itself so, and not what led there.
                dropped.formUnion(["public", "stale-while-revalidate", "stale-if-error"])
            case .limited(let duration): left = min(left ?? duration, duration)
            }
        }
        var added: [String] = []
        if flags.contains(.noCache) { added.append("no-cache") }
        if flags.contains(.noTransform) { added.append("no-transform") }
        if !isAllowed || flags.contains(.isPrivate) { added.append("private") }
        if !isAllowed || flags.contains(.noStore) {
            added.append("no-store")
            dropped.insert("must-understand")
        }
        // Both would permit storing what the final response forbids.
        if isStored, flags.contains(.mustRevalidate) { added.append("must-revalidate") }
        if isStored, flags.contains(.proxyRevalidate) { added.append("proxy-revalidate") }
        if let limit = isAllowed ? limit(left, fields, status, at: now) : .zero, isStored {
            added.append("max-age=\(max(.zero, limit).wholeSeconds)")
            dropped.formUnion(["s-maxage", "immutable", "stale-while-revalidate", "stale-if-error"])
        }
        guard !added.isEmpty || !dropped.isEmpty else { return isAllowed }
        dropped.formUnion(added.map { String($0.prefix { $0 != "=" }) })
        for name in [.cacheControl] + policy.targets where name == .cacheControl || fields.contains(name) {
            let kept = IgnoredRequest.members(of: fields[name] ?? "").filter { member in
                !dropped.contains(FollowedRedirects.directive(member))
            }
            let members = kept.map(String.init) + added
            fields[name] = members.isEmpty ? nil : members.joined(separator: ", ")
        }
        return isAllowed
    }

    /// The name of a directive; with an argument only if it applies to the whole response nevertheless.
    private static func directive(_ member: Substring) -> String {
        let name = member.prefix { $0 != "=" }.lowercased()
        // `private="…"` concerns some fields, and stays beside `private`.
        return ["private", "no-cache"].contains(name) && member.contains("=") ? "" : name
    }

    /// The lifetime to be stated so that the response is not fresh for longer than `left`; nil where it is not anyway.
    private func limit(_ left: Duration?, _ fields: Fields, _ status: Status, at now: Timestamp) -> Duration? {
        guard let left else { return nil }
        let date = fields.date(.date, now: now)
        let own = Freshness.lifetime(
            status: status, fields: fields, directives: directives(of: fields), date: date, responseTime: now,
            policy: policy)
        let age = Age.correctedInitialAge(
            ageValue: Age.ageValue(fields), dateValue: date, requestTime: now, responseTime: now)
        return left + age < own.duration ? left + age : nil
    }

    /// How long a redirect lets the response be used.
    private enum Term {
        /// Not for another request.
        case none
        case unlimited
        case limited(Duration)
        /// The same, and by others than its user not without asking.
        case asked(Duration)
    }

    private func term(of redirect: ResponseHead, beside status: Status, at now: Timestamp) -> Term {
        // The redirect is judged as the part of a response that it is.
        let status = status.isError ? status : 200
        guard isStorable(redirect.fields, status: status, at: now) else { return .none }
        let directives = directives(of: redirect.fields)
        let date = redirect.fields.date(.date, now: now)
        let explicit = Freshness.explicit(
            redirect.fields, directives, date: date, responseTime: now, policy: policy)
        let age = Age.correctedInitialAge(
            ageValue: Age.ageValue(redirect.fields), dateValue: date, requestTime: now, responseTime: now)
        var traces = policy.traces(of: request.fields)
        if redirect.fields.contains(.setCookie) { traces.insert(.cookie) }
        if policy.isPersonal(traces), policy.mustBeAskedFor(directives, explicit, age: age) {
            // Nothing of a cookie is in the final response: nobody would know that it is one user's.
            return redirect.fields.contains(.setCookie) ? .none : .asked((explicit?.duration ?? .zero) - age)
        }
        let configured = policy.expirationTime(for: status)
        if explicit == nil, configured == nil {
            return Freshness.isHeuristicallyCacheable(redirect.status) ? .unlimited : .none
        }
        let lifetime = Freshness.lifetime(
            status: status, fields: redirect.fields, directives: directives, date: date, responseTime: now,
            policy: policy)
        return .limited(lifetime.source == .expirationTime ? lifetime.duration : lifetime.duration - age)
    }

    private func isStorable(_ fields: Fields, status: Status, at now: Timestamp) -> Bool {
        var request = request
        // Not about the response.
        request.fields.remove(.cacheControl)
        if request.method == .head { request.method = .get }
        let decision = Storability.decide(
            request: request, target: target, response: ResponseHead(status: status, fields: fields), policy: policy,
            responseTime: now)
        if case .store = decision { return true }
        return false
    }

    private func directives(of fields: Fields) -> CacheControl.Response {
        policy.directives(of: fields, isPersonal: policy.personalField(of: request.fields) != nil)
    }

    // MARK: Vary

    /// The longest `Vary` of several responses.
    private static let varyLimit = 4096

    private func vary(_ fields: inout Fields) {
        let heads = hops.map(\.head.fields).filter { $0.contains(.vary) }
        guard !heads.isEmpty else { return }
        var names: Set<FieldName> = []
        var isReadable = true
        for head in heads + [fields] {
            if let more = Variance.names(head) { names.formUnion(more) } else { isReadable = false }
        }
        let text = names.map(\.spelling).sorted().joined(separator: ", ")
        isReadable = isReadable && names.count <= Variance.fieldLimit && text.utf8.count <= FollowedRedirects.varyLimit
        fields.remove(.vary)
        if !isReadable { fields[.vary] = "*" } else if !text.isEmpty { fields[.vary] = text }
    }
}
