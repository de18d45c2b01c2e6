// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// Decides where a response redirects the request (RFC 9110 §15.4).
enum Redirection {
    /// How to handle a response.
    enum Decision: Equatable {
        /// It is the answer.
        case final
        /// Send this request instead. `repeatsContent` when the content is sent there too.
        case follow(OutgoingRequest, repeatsContent: Bool)
        /// It cannot be followed, and why.
        case refuse(String)
    }

    /// Decides how to handle a response.
    static func decision(about response: ResponseHead, to request: OutgoingRequest) -> Decision {
        guard [301, 302, 303, 307, 308].contains(response.status.rawValue),
            let location = response.fields[first: .location]
        else { return .final }
        guard let target = target(of: location, from: request.url) else {
            return .refuse("the response's Location, '\(shown(location))', is not an http or https URL")
        }
        if request.url.scheme == .https, target.scheme == .http {
            return .refuse("it leads from https to \(target.origin), which anyone on the way could read")
        }
        var next = request
        next.url = target
        let becomesGet =
            response.status == 303 && request.method != .head
            || [301, 302].contains(response.status.rawValue) && request.method == .post
        if becomesGet {
            next.method = .get
            next.body = nil
            for name in ofContent { next.fields.remove(name) }
        }
        if !target.hasSameOrigin(as: request.url) { keepOnlyHarmless(&next.fields) }
        return .follow(next, repeatsContent: !becomesGet)
    }

    private static func target(of location: String, from url: TargetURI) -> TargetURI? {
        guard let found = ResourceURL(url).relative(location).target else { return nil }
        // A received target has no dot segments (RFC 3986 §5.2.4).
        return try? TargetURI(found.string)
    }

    private static func shown(_ location: String) -> String { String(location.prefix(200)) }

    /// Fields about content that is no longer sent.
    private static let ofContent: [FieldName] = [
        .contentType, .contentLength, .contentEncoding, .contentLanguage, .contentLocation, .contentMD5, .digest,
        .contentDigest, .reprDigest, .expect,
    ]

    /// Another origin only gets fields that any origin may know. Credentials have many names; all others are removed.
    private static func keepOnlyHarmless(_ fields: inout Fields) {
        fields.removeAll { name, spelling, _ in !harmless.contains(name ?? FieldName(token: spelling)) }
    }

    private static let harmless: Set<FieldName> = [
        .accept, .acceptEncoding, .acceptLanguage, .acceptCharset, .userAgent, .range, .ifRange, .ifNoneMatch,
        .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .cacheControl, .pragma, .contentType, .contentEncoding,
        .contentLanguage, "Prefer", "DNT", "Traceparent", "Tracestate",
    ]
}
