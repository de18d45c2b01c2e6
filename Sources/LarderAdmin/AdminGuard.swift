// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderProxy
import LarderRules

/// Who may look, and who may change something (product: the status endpoints).
///
/// Looking is open to whoever is on this machine, or connects to a listener that is the admin surface's own, and names
/// this machine as the host: what clients here had fetched is not for others to read about. Changing needs the Unix socket, whose
/// permissions say who may, or the admin token. A browser on behalf of another site gets neither; all it may do is
/// follow a link to the first page, which that site cannot look into.
struct AdminGuard {
    /// The admin token, if there is one.
    let token: Secret?

    enum Verdict: Equatable {
        case allowed
        case refused(Problem)
    }

    func judge(_ request: OwnRequest) -> Verdict {
        if request.isOverSocket { return .allowed }
        guard mayLook(request) else {
            return .refused(
                Problem(
                    status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
                    detail: "Larder's own pages are for clients on this machine.",
                    advice: "Add an address to `admin.listen` in Larder's configuration and ask there."))
        }
        guard namesThisMachine(request) else {
            return .refused(
                Problem(
                    status: 421, title: "Misdirected request", proxyError: .httpRequestDenied,
                    detail: "Larder's own pages answer only when the request's Host is a loopback name.",
                    advice: "Use http://localhost with Larder's port, or an address of `admin.listen`."))
        }
        guard !isFromAnotherSite(request.fields) || followsLinkToFirstPage(request) else {
            return .refused(
                Problem(
                    status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
                    detail: "The request was made by a page of another site, or by one that came through the gateway.",
                    advice: "Open Larder's own page, or use the command line."))
        }
        guard changes(request) else { return .allowed }
        guard hasToken(request.fields) else {
            var problem = Problem(
                status: 403, title: "Forbidden", proxyError: .httpRequestDenied,
                detail: "Changing something over TCP needs the admin token.",
                advice: "Use the `larder` command, which speaks over the Unix socket, or send "
                    + "`Authorization: Bearer <admin.token>`.")
            problem.fields["WWW-Authenticate"] = "Bearer realm=\"larder\""
            return .refused(problem)
        }
        return .allowed
    }

    /// Whether Larder is ready is no secret from those it serves.
    private func mayLook(_ request: OwnRequest) -> Bool {
        request.isLoopback || request.adminHost != nil || request.path == "/-/ready"
    }

    /// Recordings are content that was one user's own, so they are read by those who may change something.
    private func changes(_ request: OwnRequest) -> Bool {
        !request.method.isSafe || request.path.hasPrefix("/-/recordings/")
    }

    /// A loopback name, or the very address of a listener of our own: names that somebody else's name server turns
    /// into this machine's address are neither.
    private func namesThisMachine(_ request: OwnRequest) -> Bool {
        guard request.fields.count(of: .host) == 1, let value = request.fields[first: .host] else { return false }
        let octets = Array(value.utf8)
        return octets.withUnsafeBytes { bytes in
            guard let authority = try? Authority(bytes, defaultPort: 80) else { return false }
            return Router.isLoopbackName(authority.host) || authority.host == request.adminHost
        }
    }

    /// Whether a browser says that another site caused the request, or a document that came through the gateway: some
    /// have the same address as these pages. Clients that are no browsers say nothing.
    private func isFromAnotherSite(_ fields: Fields) -> Bool {
        if fields[all: .secFetchSite].contains(where: { $0 != "same-origin" && $0 != "none" }) { return true }
        if fields.contains(.serviceWorker) { return true }
        let own = "http://\(fields[first: .host] ?? "")"
        if fields[all: .origin].contains(where: { $0 != own }) { return true }
        return fields[all: .referer].contains { !isOwnPage($0, at: own) }
    }

    /// Whether a URL is that of one of these pages.
    private func isOwnPage(_ url: String, at origin: String) -> Bool {
        guard url.hasPrefix(origin + "/") else { return false }
        let path = url.dropFirst(origin.count).prefix { $0 != "?" && $0 != "#" }
        return path == "/" || path == "/-" || path.hasPrefix("/-/")
    }

    /// A click on a link to the first page, which the page with the link cannot look into.
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
