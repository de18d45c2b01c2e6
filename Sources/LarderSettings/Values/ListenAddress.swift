// SPDX-License-Identifier: Apache-2.0

/// An address and port to listen on.
package struct ListenAddress: Hashable, Sendable {
    package var address: IPAddress
    /// 0 lets the system choose.
    package var port: UInt16

    package init(address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    package static func loopback4(_ port: UInt16) -> ListenAddress {
        ListenAddress(address: IPAddress(v4: [127, 0, 0, 1]), port: port)
    }

    package static func loopback6(_ port: UInt16) -> ListenAddress {
        ListenAddress(address: IPAddress(v6: [UInt8](repeating: 0, count: 15) + [1]), port: port)
    }

    /// The addresses of `host:port`: one, or both loopback addresses for `localhost`; nil when it is neither that nor
    /// an IP address with a port (IPv6 in brackets).
    package static func read(_ text: String) -> [ListenAddress]? {
        guard let (host, port) = HostAndPort.split(text), let port else { return nil }
        if host.lowercased() == "localhost" { return [loopback4(port), loopback6(port)] }
        guard let address = IPAddress(host) else { return nil }
        return [ListenAddress(address: address, port: port)]
    }
}

extension ListenAddress: CustomStringConvertible {
    package var description: String { address.isV6 ? "[\(address)]:\(port)" : "\(address):\(port)" }
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
            guard IPAddress(host)?.isV6 == true else { return nil }
        } else {
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            host = text[..<colon]
            rest = text[colon...]
        }
        guard !host.isEmpty else { return nil }
        if rest.isEmpty { return (String(host), nil) }
        guard rest.first == ":", let port = decimalPort(rest.dropFirst()) else { return nil }
        return (String(host), port)
    }

    static func decimalPort(_ text: some StringProtocol) -> UInt16? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return UInt16(text)
    }
}
