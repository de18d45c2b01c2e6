// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderRules
package import LarderSettings

/// The class of a request from a web page, as a function of the fields that browsers add (Fetch Metadata
/// Request Headers §2; RFC 6454 §7).
///
/// Larder adds credentials from the configuration, and at the gateway browsers add cookies. A page may use them only if
/// it is of the host name that the request is addressed to, or the service lists its origin. A request without any of these fields is a program's.
package enum PageRequest: Equatable, Sendable {
    /// Not caused by a page.
    case none
    /// A page of the same origin, or the user at the browser.
    case own
    /// A page of an origin that the service lists.
    case listed(WebOrigin)
    /// A preflight request for such a page (Fetch §4.8).
    case preflight(WebOrigin)
    case refused(Problem)

    /// - Parameters:
    ///   - service: the service that lists origins; nil where none is configured.
    ///   - allowed: the origins that it lists.
    package init(_ head: RequestHead, service: String?, allowed: [WebOrigin]) {
        let (sites, origins) = (head.fields[all: .secFetchSite], head.fields[all: .origin])
        if head.fields.contains(.serviceWorker) || head.fields[PageFields.destination] == "serviceworker" {
            self = .refused(.serviceWorker)
        } else if sites.isEmpty, origins.isEmpty {
            self = .none
        } else if sites.count > 1 || origins.count > 1 {
            self = .refused(.foreignPage(nil, service: service))
        } else if let origin = origins.first {
            self.init(from: origin, site: sites.first, head, service, allowed)
        } else if sites[0] == "none" || sites[0] == "same-origin" {
            self = .own
        } else {
            self.init(without: head, service, allowed)
        }
    }

    private init(
        from text: String, site: String?, _ head: RequestHead, _ service: String?, _ allowed: [WebOrigin]
    ) {
        guard let origin = WebOrigin(text) else {
            self = .refused(.foreignPage(text, service: service))
            return
        }
        if allowed.contains(origin) {
            let isPreflight = head.method == .options && head.fields.contains(PageFields.requestMethod)
            self = isPreflight ? .preflight(origin) : .listed(origin)
        } else if PageRequest.isAddressed(head, origin), site == nil || site == "none" || site == "same-origin" {
            self = .own
        } else {
            self = .refused(.foreignPage(text, service: service))
        }
    }

    /// A cross-site request without `Origin`, as for an image, a script or a link. A page cannot forge another origin
    /// as its referrer, so a listed referrer counts.
    private init(without head: RequestHead, _ service: String?, _ allowed: [WebOrigin]) {
        guard head.method.isSafe, !head.fields.contains(.upgrade), let referrer = PageRequest.referrer(head.fields),
            allowed.contains(referrer)
        else {
            self = .refused(.foreignPage(nil, service: service))
            return
        }
        self = .listed(referrer)
    }

    /// True if a page of `origin` has the host to which the request is addressed.
    private static func isAddressed(_ head: RequestHead, _ origin: WebOrigin) -> Bool {
        guard origin.scheme == "http" || origin.scheme == "https", head.fields.count(of: .host) == 1,
            let host = head.fields[first: .host]
        else { return false }
        return WebOrigin(host: host, scheme: origin.scheme) == origin
    }

    /// The origin of the page that `Referer` names (RFC 9110 §10.1.3).
    static func referrer(_ fields: Fields) -> WebOrigin? {
        guard fields.count(of: .referer) == 1, let text = fields[first: .referer] else { return nil }
        let parts = text.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count > 2, parts[1].isEmpty else { return nil }
        return WebOrigin("\(parts[0])//\(parts[2].prefix { !"?#".contains($0) })")
    }
}

extension Problem {
    static let serviceWorker = Problem(
        status: 403, title: "Service worker refused", proxyError: .httpRequestDenied,
        detail: "A service worker would answer for everything at this address from now on, in Larder's place.",
        advice: "Use the page without one; what Larder stores is there offline too.")

    /// - Parameter origin: as the browser wrote it; nil without one.
    static func foreignPage(_ origin: String?, service: String?) -> Problem {
        let page =
            switch origin {
            case nil: "a page of another site"
            case "null": "a page without an origin: sandboxed, or opened from a file"
            case .some(let origin): "a page of ‘\(origin.prefix(200))’"
            }
        let listing =
            service.map { "list it in `services.\($0).browsers.allow`" }
            ?? "describe the host as a service and list it in the service's `browsers.allow`"
        return Problem(
            status: 403, title: "Request of another site", proxyError: .httpRequestDenied,
            detail: "The request was caused by \(page), which may not use this service.",
            advice: (origin == "null"
                ? "Serve the page from an origin of its own, as http://localhost:5173, and \(listing)."
                : "If the page is yours, take its origin, as http://localhost:5173, and \(listing).")
                + " To look at the URL yourself, type it into the address bar.")
    }
}
