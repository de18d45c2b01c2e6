// SPDX-License-Identifier: Apache-2.0

package import LarderIO

extension SocketAddress {
    /// A numeric address without brackets, zone or port.
    init?(bare text: some StringProtocol, port: UInt16 = 0) {
        guard !text.utf8.contains(where: { "[%".utf8.contains($0) }) else { return nil }
        self.init(host: text, port: port)
    }

    /// The addresses to listen on for `host:port`: one IP address (IPv6 in brackets), or both loopback addresses for
    /// `localhost`; nil if the host is neither.
    package static func listeners(_ text: String) -> [SocketAddress]? {
        guard let (host, port) = HostAndPort.split(text), let port else { return nil }
        if host.lowercased() == "localhost" { return [loopback(port: port), loopbackIPv6(port: port)] }
        return SocketAddress(bare: host, port: port).map { [$0] }
    }
}

/// Splits the `host[:port]` of an authority (RFC 3986 §3.2).
enum HostAndPort {
    /// The host without brackets, and the port if there is one; nil when the text does not have that form.
    static func split(_ text: some StringProtocol) -> (host: String, port: UInt16?)? {
        let host: Substring
        let rest: Substring
        let text = Substring(text)
        if text.first == "[" {
            guard let close = text.firstIndex(of: "]") else { return nil }
            host = text[text.index(after: text.startIndex)..<close]
            rest = text[text.index(after: close)...]
            guard SocketAddress(bare: host)?.isIPv6 == true else { return nil }
        } else {
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            host = text[..<colon]
            rest = text[colon...]
        }
        guard !host.isEmpty else { return nil }
        if rest.isEmpty { return (String(host), nil) }
        guard rest.first == ":", let port = SocketAddress.port(rest.dropFirst()) else { return nil }
        return (String(host), port)
    }
}
