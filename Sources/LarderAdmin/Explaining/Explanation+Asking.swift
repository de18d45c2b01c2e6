// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

extension Explanation {
    /// Answers `/-/explain?url=…&method=…&header=…&user=…`, without any request upstream.
    init(of parameters: AdminParameters, _ proxy: Proxy) async throws(Problem) {
        let url = try parameters.required("url")
        let fields = try parameters.fields("header")
        let token = parameters.text("method")
        guard let method = token.map({ LarderHTTP.Method($0) }) ?? ContentMark.split(url).mark?.method ?? .get else {
            throw .badParameter(
                "‘\((token ?? "").prefix(60))’ is no method.", advice: "Use one like GET, HEAD or DELETE.")
        }
        if method == .connect || (token == nil && Explanation.isAuthority(url)) {
            let route = proxy.tunnel(to: url)
            let authority = (try? route.get()).flatMap { try? Authority($0, defaultPort: 443) }
            let verdict = authority.map { proxy.configuration.interception.verdict(on: $0) }
            let obstacle = authority.flatMap { proxy.interception.obstacle(of: $0, now: proxy.monotonicNow) }
            self.init(
                of: url, .connect, route, opens: verdict == .open && proxy.interception.authority != nil,
                obstacle: verdict == .open ? obstacle : nil)
            return
        }
        let subject = try proxy.subject(of: url)
        if subject.form.isGateway, let problem = Explanation.refusal(ofPage: url, method, fields, subject.service) {
            self.init(of: url, method, .failure(problem))
            return
        }
        self.init(
            await Situation(subject, method: method, fields: fields, user: parameters.text("user"), in: proxy))
    }

    /// `host:port` alone, as in CONNECT.
    private static func isAuthority(_ text: String) -> Bool {
        guard let colon = text.lastIndex(of: ":"), !text.contains("/"), !text.contains("?") else { return false }
        let port = text[text.index(after: colon)...]
        return !port.isEmpty && port.utf8.allSatisfy(ASCII.isDigit)
    }

    /// Why a browser that sends these fields to the gateway would be refused.
    private static func refusal(
        ofPage url: String, _ method: LarderHTTP.Method, _ fields: Fields, _ service: RoutedService
    ) -> Problem? {
        var head = RequestHead(method: method, target: url, fields: fields)
        let authority = url.hasPrefix("/") ? "localhost" : url.split(separator: "/").dropFirst().first.map(String.init)
        if !head.fields.contains(.host) { head.fields[.host] = authority }
        let allowed = service.settings.browsers.allow
        guard
            case .refused(let problem) = PageRequest(
                head, service: service.base == nil ? nil : service.name, allowed: allowed)
        else { return nil }
        return problem
    }

    /// A tunnel, or a request that is refused before any lookup.
    init(
        of target: String, _ method: LarderHTTP.Method, _ route: Result<String, Problem>, opens: Bool = false,
        obstacle: TunnelReason? = nil
    ) {
        self.method = method
        fields = []
        cacheStatus = nil
        (service, blocks, effects, key, candidates, freshness, notes, storage) = ([], [], [], [], [], [], [], [])
        storageSubject = "nothing passes that could be kept"
        switch route {
        case .success(let authority) where obstacle != nil:
            url = authority
            decision = ("tunnel", obstacle?.rawValue)
            outcome = "It would be a tunnel to \(authority), unseen by the cache: \(obstacle?.words ?? "")."
            advice = []
        case .success(let authority) where opens:
            url = authority
            decision = ("open", nil)
            outcome =
                "It would be opened: a client that trusts the local CA is answered as https://\(authority)/ is, from "
                + "the cache where that may be."
            advice = []
        case .success(let authority):
            url = authority
            decision = ("tunnel", nil)
            outcome =
                "It would be a tunnel to \(authority): what passes is between client and origin, mostly encrypted, and "
                + "the cache sees none of it."
            advice = [
                "To have it cached: name the host in `intercept.hosts`, send requests to the gateway, as http://localhost:3128/https/\(authority)/…, or "
                    + "describe the origin as a service."
            ]
        case .failure(let problem):
            url = target
            decision = ("refuse", problem.proxyError.rawValue)
            outcome = "It would be refused with \(problem.status): \(problem.detail)"
            advice = [problem.advice]
        }
    }
}
