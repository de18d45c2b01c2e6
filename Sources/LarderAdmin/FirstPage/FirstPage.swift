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

    /// A file that the page loads, by its name; nil for the page itself and for all others.
    static func asset(_ name: String) -> OwnResponse? {
        DashboardFile(rawValue: name).flatMap { $0 == .markup ? nil : file($0) }
    }

    /// Allows same-origin resources only, and forbids inline content and framing.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
        + "form-action 'none'; frame-ancestors 'none'"

    private static func text(_ request: OwnRequest, _ proxy: Proxy) -> String {
        let home = home(request, proxy)
        let settings = proxy.configuration.settings
        var text = "Larder \(LarderVersion.current) keeps your APIs at hand.\n\n"
        // The admin surface's own address leads to no service and to no other host.
        if request.adminHost == nil {
            text += "Try\n"
            for example in examples(settings, at: home, isLoopback: request.isLoopback) {
                text += "  \(example.command)\n      \(example.meaning)\n"
            }
            if settings.access.users != nil { text += "  NAME and PASSWORD are those of a user of this Larder.\n" }
            text += "\n"
        }
        text += settings.services.isEmpty ? "Services: none yet; describe one in the configuration.\n" : "Services\n"
        let names = settings.services.map { request.adminHost == nil ? home + $0.effectiveMount : $0.name }
        let width = names.map(\.count).max() ?? 0
        for (name, service) in zip(names, settings.services) {
            text += "  \(name)\(String(repeating: " ", count: width - name.count))  \(service.baseURL.shown)\n"
        }
        return text + """

            More
              \(home)/                        in a browser: the dashboard
              \(home)/-/status                counts and sizes, as JSON
              \(home)/-/metrics               the same for Prometheus
              \(home)/-/resources             what is stored
              \(home)/-/explain?url=URL       why a URL is or is not answered from the cache
              larder --help

            """
    }

    /// The commands that work for this client, with what each is for.
    ///
    /// - Parameters:
    ///   - home: the URL of this page, without its path.
    ///   - isLoopback: whether the client is on this machine, as the gateway to any host is for those alone.
    static func examples(
        _ settings: Settings, at home: String, isLoopback: Bool
    ) -> [(command: String, meaning: String)] {
        let hasUsers = settings.access.users != nil
        // Gateway clients say who they are by the proxy's field, as `Authorization` is for the API.
        let gateway = hasUsers ? "curl -H \"Proxy-Authorization: Basic $(printf NAME:PASSWORD | base64)\"" : "curl"
        var examples: [(command: String, meaning: String)] = []
        if settings.gateway.anyHost, isLoopback {
            examples.append(("\(gateway) \(home)/https/example.com/", "any host, through the gateway"))
        }
        if settings.forward.anyHost {
            let proxy = hasUsers ? "curl -U NAME -x" : "curl -x"
            let meaning = hasUsers ? "as a forward proxy; curl asks for the password" : "as a forward proxy"
            examples.append(("\(proxy) \(home) http://example.com/", meaning))
        }
        if let service = settings.services.first {
            let command = "\(gateway) \(home)\(service.effectiveMount)"
            examples.append((command, "the service `\(service.name)`"))
        } else {
            examples.append(("curl \(home)/-/status", "how it is doing"))
        }
        return examples
    }

    /// The scheme and authority by which the client addressed Larder, or the URL of a listener.
    private static func home(_ request: OwnRequest, _ proxy: Proxy) -> String {
        if !request.isOverSocket, let host = request.fields[first: .host] {
            return (request.isSecure ? "https://" : "http://") + host
        }
        return "http://" + (proxy.addresses.first { !$0.isUnix }.map { "localhost:\($0.port)" } ?? "localhost:3128")
    }
}
