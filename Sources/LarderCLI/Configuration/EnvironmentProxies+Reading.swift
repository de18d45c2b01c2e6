// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderSettings
import LarderUpstream

extension EnvironmentProxies {
    /// Reads `http_proxy`, `https_proxy` and `no_proxy` as curl does: the lower-case name wins, and `HTTP_PROXY` is
    /// ignored because a CGI client could set it.
    ///
    /// A proxy that is Larder itself is left out, since a shell configured to use Larder may well start it; a note
    /// reports it.
    init(
        environment: [String: String], listening: [SocketAddress], problems: inout [SettingsProblem],
        notes: inout [String]
    ) {
        self.init()
        http = EnvironmentProxies.proxy(["http_proxy"], environment, listening, &problems, &notes)
        https = EnvironmentProxies.proxy(["https_proxy", "HTTPS_PROXY"], environment, listening, &problems, &notes)
        let exempt = environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""
        for entry in exempt.split(whereSeparator: { $0 == "," || $0 == " " }) {
            if entry == "*" {
                bypassesAll = true
                continue
            }
            // A domain matches itself and all below it, with or without a leading dot.
            let name = entry.hasPrefix("*.") ? entry.dropFirst(2) : entry.hasPrefix(".") ? entry.dropFirst() : entry
            guard let host = HostPattern(String(name)) else {
                notes.append("no_proxy: `\(entry)` is neither a host nor an address and is not looked at")
                continue
            }
            bypass.append(host)
            if let below = HostPattern("*." + name) { bypass.append(below) }
        }
    }

    private static func proxy(
        _ names: [String], _ environment: [String: String], _ listening: [SocketAddress],
        _ problems: inout [SettingsProblem], _ notes: inout [String]
    ) -> ParentAddress? {
        guard let name = names.first(where: { environment[$0]?.isEmpty == false }), let text = environment[name] else {
            return nil
        }
        guard let proxy = try? ParentAddress(reading: text, needsScheme: false) else {
            problems.append(
                SettingsProblem(
                    at: .environment(name), setting: "upstream.parent", found: "a text that is not a proxy URL",
                    expected: "a proxy as `http://proxy.example.com:3128`",
                    advice: "correct the variable, or set `upstream.parent: none`"))
            return nil
        }
        guard !isOwn(proxy, listening) else {
            notes.append("\(name) names Larder itself (\(proxy.url)) and is not used")
            return nil
        }
        return proxy
    }

    private static func isOwn(_ proxy: ParentAddress, _ listening: [SocketAddress]) -> Bool {
        HostPattern.isLoopbackName(proxy.host) && listening.contains { $0.port == proxy.port }
    }
}
