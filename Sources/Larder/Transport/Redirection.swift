// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules

/// Decides how a request follows a redirect (RFC 9110 §15.4).
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
        let target: TargetURI
        switch Redirect(response, at: request.url) {
        case nil: return .final
        case .unreadable(let location):
            return .refuse("the response's Location, '\(location.prefix(200))', is not an http or https URL")
        case .unencrypted(let target):
            return .refuse("it leads from https to \(target.origin), which anyone on the way could read")
        case .to(let next): target = next
        }
        var next = request
        next.url = target
        next.fields.removeConditionsForRedirect()
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
        .accept, .acceptEncoding, .acceptLanguage, .acceptCharset, .userAgent, .range, .ifMatch,
        .ifUnmodifiedSince, .cacheControl, .pragma, .contentType, .contentEncoding,
        .contentLanguage, "Prefer", "DNT", "Traceparent", "Tracestate",
    ]
}
