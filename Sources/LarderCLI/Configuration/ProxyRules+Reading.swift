// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderSettings
import LarderUpstream

extension ProxyRules {
    /// Reads `http_proxy`, `https_proxy` and `no_proxy`.
    ///
    /// A proxy that is Larder itself is left out, since a shell configured to use Larder may well start it; a note
    /// reports it.
    init(
        environment: [String: String], listening: [SocketAddress], problems: inout [SettingsProblem],
        notes: inout [String]
    ) {
        self.init(environment: { environment[$0] }) { text, name -> ParentAddress? in
            guard let proxy = try? ParentAddress(reading: text, needsScheme: false) else {
                problems.append(
                    SettingsProblem(
                        at: .environment(name), setting: "upstream.parent", found: "a text that is not a proxy URL",
                        expected: "a proxy as `http://proxy.example.com:3128`",
                        advice: "correct the variable, or set `upstream.parent: none`"))
                return nil
            }
            if HostPattern.isLoopbackName(proxy.host), listening.contains(where: { $0.port == proxy.port }) {
                notes.append("\(name) names Larder itself (\(proxy.url)) and is not used")
                return nil
            }
            return proxy
        }
        notes += unread.map { "no_proxy: `\($0)` is neither a host nor an address and is not looked at" }
    }
}
