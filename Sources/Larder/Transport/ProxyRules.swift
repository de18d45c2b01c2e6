// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderUpstream

/// Decides which proxy, if any, requests to an origin use.
struct ProxyRules: Sendable {
    /// One entry of `no_proxy`.
    private enum Exemption: Sendable {
        /// A domain and all its subdomains, perhaps for one port only.
        case domain(String, port: UInt16?)
        /// An address, or all with the same leading bits.
        case network(SocketAddress, bits: Int)
        case everything
    }

    private var http: ParentAddress?
    private var https: ParentAddress?
    private var exemptions: [Exemption] = []

    /// No proxies.
    init() {}

    /// The same proxy for everything but this machine.
    init(url: String) throws(TransportError) {
        let proxy = try ProxyRules.proxy(url, named: "the proxy of the transport's options")
        (http, https) = (proxy, proxy)
    }

    /// The settings of the environment, read as curl reads them: lower-case names first, and `HTTP_PROXY` not at all,
    /// which a client of a CGI program could set.
    init(environment: (String) -> String?) throws(TransportError) {
        func value(_ names: String...) -> (name: String, text: String)? {
            for name in names {
                if let text = environment(name), !text.isEmpty { return (name, text) }
            }
            return nil
        }
        if let (name, text) = value("http_proxy") { http = try ProxyRules.proxy(text, named: name) }
        if let (name, text) = value("https_proxy", "HTTPS_PROXY") { https = try ProxyRules.proxy(text, named: name) }
        if let (_, text) = value("no_proxy", "NO_PROXY") {
            exemptions = text.split { $0 == "," || $0 == " " }.compactMap(ProxyRules.exemption)
        }
    }

    /// The proxy for a URL; nil to connect to its origin directly.
    func proxy(for url: TargetURI) -> ParentAddress? {
        guard let proxy = url.scheme == .https ? https : http else { return nil }
        let host = ProxyRules.bare(url.host)
        let address = SocketAddress(host: host, port: url.port)
        if host == "localhost" || host.hasSuffix(".localhost") || address?.isLoopback == true { return nil }
        let isExempt = exemptions.contains { exemption in
            switch exemption {
            case .everything: true
            case .domain(let name, let port):
                (port == nil || port == url.port) && (host == name || host.hasSuffix("." + name))
            case .network(let network, let bits): address?.isIn(network, bits: bits) ?? false
            }
        }
        return isExempt ? nil : proxy
    }

    // MARK: Reading

    private static func exemption(_ entry: Substring) -> Exemption? {
        if entry == "*" { return .everything }
        var name = entry.lowercased()[...]
        if let slash = name.lastIndex(of: "/") {
            guard let bits = Int(name[name.index(after: slash)...]), bits >= 0,
                let network = SocketAddress(host: bare(String(name[..<slash])), port: 0), bits <= network.bitCount
            else { return nil }
            return .network(network, bits: bits)
        }
        if let address = SocketAddress(host: bare(String(name)), port: 0) {
            return .network(address, bits: address.bitCount)
        }
        if name.hasPrefix("*.") { name = name.dropFirst(2) } else if name.hasPrefix(".") { name = name.dropFirst() }
        var port: UInt16?
        if let colon = name.lastIndex(of: ":") {
            port = UInt16(name[name.index(after: colon)...])
            if port == nil { return nil }
            name = name[..<colon]
        }
        return name.isEmpty ? nil : .domain(String(name), port: port)
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

    /// An IPv6 address without its brackets.
    private static func bare(_ host: String) -> String {
        host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    }
}
