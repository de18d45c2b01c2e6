// SPDX-License-Identifier: Apache-2.0

import LarderDashboard
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderSettings

/// The response for `http://localhost:3128/`: a dashboard for browsers, a short text with examples for all others.
enum FirstPage {
    static func answer(_ request: OwnRequest, _ proxy: Proxy) -> OwnResponse {
        guard AcceptedType.preferred(by: request.fields, inOrder: [.html, .json, .text]) == .html else {
            return OwnResponse(text: text(request, proxy))
        }
        var response = file(.markup)
        response.fields[.contentSecurityPolicy] = policy
        response.fields[.referrerPolicy] = "no-referrer"
        response.fields["X-Frame-Options"] = "DENY"
        return response
    }

    static func file(_ file: DashboardFile) -> OwnResponse { OwnResponse(type: file.mediaType, file.octets) }

    /// The files that the page loads, by path.
    static var assets: [String: DashboardFile] {
        var assets = ["/favicon.ico": DashboardFile.icon]
        for file in DashboardFile.allCases where file != .markup { assets["/-/assets/\(file.rawValue)"] = file }
        return assets
    }

    /// Everything is same-origin, nothing is inline, and framing is forbidden.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    private static func text(_ request: OwnRequest, _ proxy: Proxy) -> String {
        let host = authority(request, proxy)
        let settings = proxy.configuration.settings
        let first = settings.services.first
        var text = """
            Larder \(LarderVersion.current) keeps your APIs at hand.

            Try
              curl http://\(host)/https/example.com/
                  any host, through the gateway
              curl -x http://\(host) http://example.com/
                  as a forward proxy
              curl http://\(host)\(first?.effectiveMount ?? "/-/status")
                  \(first.map { "the service `\($0.name)`" } ?? "how it is doing")


            """
        text += settings.services.isEmpty ? "Services: none yet; describe one in the configuration.\n" : "Services\n"
        let width = settings.services.map(\.effectiveMount.count).max() ?? 0
        for service in settings.services {
            let gap = String(repeating: " ", count: width - service.effectiveMount.count)
            text += "  http://\(host)\(service.effectiveMount)\(gap)  \(service.baseURL.shown)\n"
        }
        return text + """

            More
              http://\(host)/                        in a browser: the dashboard
              http://\(host)/-/status                counts and sizes, as JSON
              http://\(host)/-/metrics               the same for Prometheus
              http://\(host)/-/resources             what is stored
              http://\(host)/-/explain?url=URL       why a URL is or is not answered from the cache
              larder --help

            """
    }

    /// The authority by which the client addressed Larder, or that of a listener.
    private static func authority(_ request: OwnRequest, _ proxy: Proxy) -> String {
        if !request.isOverSocket, let host = request.fields[first: .host] { return host }
        return proxy.addresses.first { !$0.isUnix }.map { "localhost:\($0.port)" } ?? "localhost:3128"
    }
}
