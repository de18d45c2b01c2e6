// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// Authorises requests to the admin surface (product: the status endpoints).
///
/// Reading is allowed to clients on this machine, or of a listener for the admin surface alone, that name this machine
/// as the host: responses fetched here are not for others to read about. Changes need the Unix socket, whose
/// permissions decide, or the admin token. Browsers get neither on behalf of another site, except to follow a link to
/// the first page, which that site cannot read.
struct AdminGuard {
    /// The admin token, if there is one.
    let token: Secret?

    /// The reason why the request is refused; nil if it is allowed.
    func refusal(of request: OwnRequest) -> Problem? {
        if request.isOverSocket { return nil }
        let permission = AdminRoute.permission(for: request)
        guard request.isLoopback || request.adminHost != nil || permission == .anyone else {
            return Problem(
                status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
                detail: "Larder's own pages are for clients on this machine.",
                advice: "Add an address to `admin.listen` in Larder's configuration and ask there.")
        }
        guard namesThisMachine(request) || !request.isLoopback && permission == .anyone else {
            return Problem(
                status: 421, title: "Misdirected request", proxyError: .httpRequestDenied,
                detail: "Larder's own pages answer only when the request's Host is a loopback name.",
                advice: "Use http://localhost with Larder's port, or an address of `admin.listen`.")
        }
        guard !isFromAnotherSite(request) || followsLinkToFirstPage(request) else {
            return Problem(
                status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
                detail: "The request was made by a page of another site, or by one that came through the gateway.",
                advice: "Open Larder's own page, or use the command line.")
        }
        let changes = permission == .change || permission == .lanes && !request.isForLanes
        guard !changes || mayChange(request) else {
            return Problem(
                status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
                detail: request.isForLanes
                    ? "This socket is for opening lanes, and for reading."
                    : request.fields.contains(.authorization)
                        ? "The token in `Authorization` is not the admin token."
                        : "Changing something over TCP needs the admin token.",
                advice: "Use the `larder` command, which speaks over the Unix socket, or send "
                    + "`Authorization: Bearer <admin.token>`.",
                fields: ["WWW-Authenticate": "Bearer realm=\"larder\""])
        }
        return nil
    }

    /// True if the request has the permission for changes.
    func mayChange(_ request: OwnRequest) -> Bool { request.isOverSocket || hasToken(request.fields) }

    /// True if the answer is for authenticated users only, if there are users (`access.users`): it shows URLs, content,
    /// or the clients' requests. Requests that are refused anyway are refused before authentication, above all requests
    /// that another site makes through a browser.
    func isForUsers(_ request: OwnRequest) -> Bool {
        let permission = AdminRoute.permission(for: request)
        return ![.anyone, .open].contains(permission) && !mayChange(request)
            && !(permission == .lanes && request.isForLanes) && refusal(of: request) == nil
    }

    /// A loopback name, or the address of one of our own listeners: not names that another's name server resolves to
    /// this machine's address.
    private func namesThisMachine(_ request: OwnRequest) -> Bool {
        guard request.fields.count(of: .host) == 1, let value = request.fields[first: .host] else { return false }
        let octets = Array(value.utf8)
        return octets.withUnsafeBytes { bytes in
            guard let authority = try? Authority(bytes, defaultPort: 80) else { return false }
            return Router.isLoopbackName(authority.host) || authority.host == request.adminHost
        }
    }

    /// True if a browser reports that another site caused the request, or a document received through the gateway: some
    /// have the same address as these pages. Other clients report nothing.
    private func isFromAnotherSite(_ request: OwnRequest) -> Bool {
        let fields = request.fields
        if fields[all: .secFetchSite].contains(where: { $0 != "same-origin" && $0 != "none" }) { return true }
        if fields.contains(.serviceWorker) { return true }
        let own = "\(request.isSecure ? "https" : "http")://\(fields[first: .host] ?? "")"
        if fields[all: .origin].contains(where: { $0 != own }) { return true }
        return fields[all: .referer].contains { !isOwnPage($0, at: own) }
    }

    /// True if a URL belongs to the admin pages.
    private func isOwnPage(_ url: String, at origin: String) -> Bool {
        guard url.hasPrefix(origin + "/") else { return false }
        let path = url.dropFirst(origin.count).prefix { $0 != "?" && $0 != "#" }
        return path == "/" || path == "/-" || path.hasPrefix("/-/")
    }

    /// A click on a link to the first page, which the linking page cannot read.
    private func followsLinkToFirstPage(_ request: OwnRequest) -> Bool {
        request.method == .get && request.path == "/" && !request.fields.contains(.origin)
            && request.fields["Sec-Fetch-Mode"] == "navigate" && request.fields["Sec-Fetch-Dest"] == "document"
            && request.fields["Sec-Fetch-User"] == "?1"
    }

    private func hasToken(_ fields: Fields) -> Bool {
        guard let token, let value = fields[first: .authorization] else { return false }
        let scheme = "bearer "
        guard value.lowercased().hasPrefix(scheme) else { return false }
        return token.matches(Array(value.utf8.dropFirst(scheme.utf8.count)))
    }
}

extension AdminGuard {
    init(of proxy: Proxy) { self.init(token: proxy.configuration.settings.admin.token) }
}
