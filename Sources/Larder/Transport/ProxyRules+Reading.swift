// SPDX-License-Identifier: Apache-2.0
import LarderUpstream

extension ProxyRules {
    /// The same proxy for everything but this machine.
    init(url: String) throws(TransportError) {
        self.init(everything: try ProxyRules.proxy(url, named: "the proxy of the transport's options"))
    }

    init(environment: (String) -> String?) throws(TransportError) {
        try self.init(environment: environment) { (text, name) throws(TransportError) -> ParentAddress? in
            try ProxyRules.proxy(text, named: name)
        }
    }

    private static func proxy(_ text: String, named name: String) throws(TransportError) -> ParentAddress {
        do {
            return try ParentAddress(reading: text, needsScheme: false)
        } catch .scheme(let scheme) {
            throw unusable(name, "it is reached over \(scheme.prefix(20)), and only http can be")
        } catch {
            throw unusable(name, "it should be written as http://proxy.example.com:3128")
        }
    }

    private static func unusable(_ name: String, _ problem: String) -> TransportError {
        TransportError(.configuration, "\(name) does not say which proxy to use: \(problem).")
    }
}
