// SPDX-License-Identifier: Apache-2.0

@testable import Larder
import LarderHTTP
@testable import LarderProxy
import LarderSettings
import LarderTesting

extension Scanner {
    /// URLs that responses contain, for clients of the gateway.
    static let gateway = [
        Scanner(
            "links in content", in: ["LarderProxy/Links/"],
            [
                "https://api.example/v1/../", "https://api.example/v1/%2e%2e/", "href=/v1/../", "://", "=", "\"url\":",
                "https://api.example/v1/../%", "https:\\/\\/api.example\\/v1\\/..\\/", "https://api.example/v1/",
                "https://api.example/v1/../v1/x ", "https://api.example/v1/x ", "src=/v1/", "\\",
            ]
        ) { input in
            for length in [input.count, 16] {
                var scanner = LinkScanner(gatewayMap)
                for start in stride(from: 0, to: input.count, by: length) {
                    _ = scanner.take(input[start..<min(start + length, input.count)])
                }
                _ = scanner.take([], isLast: true)
            }
        },
        Scanner(
            "fields with URLs, and cookies", in: ["LarderProxy/Routing/"],
            [
                "</1>,", "<", "<>", "\"", "\\\"", "/..", "..\\", " ", ";", "a=1; Path=/v1", "; path", "; Domain=a",
                "https://api.example/v1/../", "//", "%2e%2e/", "1; url=", "\t", "?", "#",
            ]
        ) { input in
            let text = String(decoding: input, as: UTF8.self)
            for (name, opening) in [
                (FieldName.location, ""), (.contentLocation, "/"), (.refresh, "1;"), (.link, ""), (.setCookie, ""),
                (.setCookie, "a=1; Path=/"),
            ] {
                _ = gatewayMapping.mapped([name: opening + text])
            }
        },
    ]

    private static let services: ServiceTable = {
        func routed(_ name: String, _ base: String?, _ number: UInt32) -> RoutedService {
            var settings = ServiceSettings()
            settings.name = name
            return RoutedService(
                Service(name, baseURL: base, transport: StubTransport()), number: number, settings: settings,
                targets: [], identities: .ephemeral(), parent: { _ in nil })
        }
        return ServiceTable(
            services: [routed("api", "https://api.example/v1/", 1), routed("web", "https://web.example/", 2)],
            unclaimed: routed("-", nil, 3))
    }()

    private static let page: TargetURI = {
        do { return try TargetURI("https://api.example/v1/users/7") } catch { return TargetURI() }
    }()

    private static let gatewayMap = LinkMap(
        of: services, for: services.services[0], .mount, authority: "localhost:3128", isSecure: false, at: page)

    private static let gatewayMapping = GatewayMapping(
        table: services, service: services.services[0], form: .mount, target: page, authority: "localhost:3128")
}
