// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Signs in a request and its response that the response may have been made for one user. They are facts of the messages:
/// the policy decides what follows from them, and may be another one later.
package struct UserTraces: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The request had `Authorization`.
    package static let authorization = UserTraces(rawValue: 1)
    /// The request had credentials that are not part of the key (`CachePolicy.credentialBesideKey`).
    package static let credentialBesideKey = UserTraces(rawValue: 2)
    /// The request reached the origin with any credentials: the client's, or those that the configuration adds. It says
    /// who else may be given the response, and does not decide who may reuse it.
    package static let anyCredential = UserTraces(rawValue: 4)
    /// The response set a cookie.
    package static let cookie = UserTraces(rawValue: 8)
}

extension CachePolicy {
    /// The traces of a client in its request.
    package func traces(of request: Fields) -> UserTraces {
        var traces: UserTraces = []
        if request.contains(.authorization) { traces.insert(.authorization) }
        if credentialBesideKey(of: request) != nil { traces.insert(.credentialBesideKey) }
        if sendsCredentials(with: request) { traces.insert(.anyCredential) }
        return traces
    }

    /// A credential of a request that is not part of the key, so that the response may be one user's.
    package func credentialBesideKey(of request: Fields) -> FieldName? {
        if let identity { return identity.unnamedCredential(in: request) }
        return Credentials.first(in: request) { storesAuthorized && $0 == .authorization }
    }

    /// The same where it matters: users share the cache, and the origin does not send the same to all.
    package func personalField(of request: Fields) -> FieldName? {
        keepsUsersApart ? credentialBesideKey(of: request) : nil
    }

    /// True if a response with these traces may be one user's among many.
    package func isPersonal(_ traces: UserTraces) -> Bool {
        keepsUsersApart && !traces.isDisjoint(with: [.credentialBesideKey, .cookie])
    }

    private var keepsUsersApart: Bool { role == .shared && !ignoredResponse.isForEveryone }

    /// True if the origin lets nobody use a response without asking, as far as it says itself: then a personal one is for
    /// its user alone, and neither a configured lifetime nor a failure of the origin makes it another's.
    ///
    /// - Parameters:
    ///   - explicit: the origin's lifetime.
    ///   - age: at the time of receipt.
    func mustBeAskedFor(
        _ directives: CacheControl.Response, _ explicit: Freshness.Lifetime?, age: Duration
    ) -> Bool {
        if directives.flags.contains(.isPublic) { return false }
        if directives.flags.contains(.noCache) || directives.noCacheFields.contains(.setCookie) { return true }
        let window = directives.staleWhileRevalidate?.duration ?? .zero
        return (explicit?.duration ?? .zero) + window <= age
    }
}
