// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Where a response sends its request (RFC 9110 §15.4).
package enum Redirect: Hashable, Sendable {
    case to(TargetURI)
    /// From https to http, which anyone on the way could read. It is never followed.
    case unencrypted(TargetURI)
    /// Its `Location` means no http or https URL.
    case unreadable(String)

    /// Nil for a response that is no redirect.
    ///
    /// - Parameter place: the URI that was asked for.
    package init?(_ response: ResponseHead, at place: TargetURI) {
        guard [301, 302, 303, 307, 308].contains(response.status), let location = response.fields[first: .location]
        else { return nil }
        guard let target = place.resolving(PercentText.reference(inField: location)) else {
            self = .unreadable(location)
            return
        }
        self = place.scheme == .https && target.scheme == .http ? .unencrypted(target) : .to(target)
    }
}

extension Fields {
    /// Removes the conditions that a request to the target of a redirect does not have: they were about another URL
    /// (RFC 9110 §15.4). Without its condition, a range could be one of another representation than the client has.
    package mutating func removeConditionsForRedirect() {
        if contains(.ifRange) { remove(.range) }
        for name: FieldName in [.ifNoneMatch, .ifModifiedSince, .ifRange] { remove(name) }
    }
}
