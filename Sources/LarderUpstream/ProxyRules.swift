// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP
import LarderIO

/// Decides which proxy of the environment, if any, requests to an origin use.
package struct ProxyRules: Sendable {
    /// One entry of `no_proxy`, perhaps for one port only.
    private enum Exemption: Sendable {
        /// A domain and all its subdomains.
        case domain(String, port: UInt16?)
        /// An address, or all with the same leading bits.
        case network(SocketAddress, bits: Int, port: UInt16?)
        case everything
    }

    private var http: ParentAddress?
    private var https: ParentAddress?
    private var exemptions: [Exemption] = []
    /// The entries of `no_proxy` that are neither a host nor a network.
    package private(set) var unread: [String] = []

    /// No proxies.
    package init() {}

    /// The same proxy for everything but this machine.
    package init(everything proxy: ParentAddress) { (http, https) = (proxy, proxy) }

    /// Reads the environment as curl does: lower-case names first, a variable without text as none, and `HTTP_PROXY` not
    /// at all, which a client of a CGI program could set.
    ///
    /// - Parameter proxy: The proxy that a variable's text names, or nil to use none.
    package init<Failure: Error>(
        environment: (String) -> String?,
        proxy: (_ text: String, _ name: String) throws(Failure) -> ParentAddress?
    ) throws(Failure) {
        func value(_ names: String...) -> (text: String, name: String)? {
            for name in names {
                if let text = environment(name), !text.isEmpty { return (text, name) }
            }
            return nil
        }
        if let (text, name) = value("http_proxy") { http = try proxy(text, name) }
        if let (text, name) = value("https_proxy", "HTTPS_PROXY") { https = try proxy(text, name) }
        for entry in value("no_proxy", "NO_PROXY")?.text.split(whereSeparator: { $0 == "," || $0 == " " }) ?? [] {
            if let exemption = ProxyRules.exemption(entry) {
                exemptions.append(exemption)
            } else {
                unread.append(String(entry))
            }
        }
    }

    /// The proxy for a URL; nil to connect to its origin directly.
    package func proxy(for url: TargetURI) -> ParentAddress? {
        guard let proxy = url.scheme == .https ? https : http else { return nil }
        let host = url.host
        let address = SocketAddress(host: host, port: url.port)
        if host == "localhost" || host.hasSuffix(".localhost") || address?.isLoopback == true { return nil }
        let isExempt = exemptions.contains { exemption in
            switch exemption {
            case .everything: true
            case .domain(let name, let port):
                (port == nil || port == url.port) && (host == name || host.hasSuffix("." + name))
            case .network(let network, let bits, let port):
                (port == nil || port == url.port) && address?.isIn(network, bits: bits) == true
            }
        }
        return isExempt ? nil : proxy
    }

    private static func exemption(_ entry: Substring) -> Exemption? {
        if entry == "*" { return .everything }
        if let slash = entry.lastIndex(of: "/") {
            guard let bits = SocketAddress.port(entry[slash...].dropFirst()).map(Int.init),
                let network = SocketAddress(host: entry[..<slash], port: 0), bits <= network.bitCount
            else { return nil }
            return .network(network, bits: bits, port: nil)
        }
        var name = entry.lowercased()[...]
        var port: UInt16?
        // The last group of an IPv6 address without brackets looks like a port.
        if SocketAddress(host: name, port: 0) == nil, let colon = name.lastIndex(of: ":") {
            port = SocketAddress.port(name[colon...].dropFirst())
            if port == nil { return nil }
            name = name[..<colon]
        }
        if let address = SocketAddress(host: name, port: 0) {
            return .network(address, bits: address.bitCount, port: port)
        }
        if name.hasPrefix("*.") { name = name.dropFirst(2) } else if name.hasPrefix(".") { name = name.dropFirst() }
        if name.hasSuffix(".") { name = name.dropLast() }
        return name.isEmpty ? nil : .domain(String(name), port: port)
    }
}
