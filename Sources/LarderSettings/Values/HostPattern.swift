// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// One host, or all hosts below a domain: `api.github.com`, `*.example.com`, `localhost:8080`.
///
/// Names are compared without case; without a port every port matches. `*.example.com` does not match `example.com`
/// itself.
package struct HostPattern: Hashable, Sendable {
    /// In lower case, without `*.`, brackets or port.
    package let host: String
    package let coversSubdomains: Bool
    package let port: UInt16?

    package init(host: String, coversSubdomains: Bool = false, port: UInt16? = nil) {
        self.host = HostPattern.bare(host)
        self.coversSubdomains = coversSubdomains
        self.port = port
    }

    /// Parses a pattern; nil when it is neither a host name nor an IP address (IPv6 in brackets).
    package init?(_ text: String) {
        let isWild = text.hasPrefix("*.")
        guard let (host, port) = HostAndPort.split(isWild ? text.dropFirst(2) : Substring(text)) else { return nil }
        guard SocketAddress(bare: host).map({ _ in !isWild }) ?? HostPattern.isHostName(host) else { return nil }
        self.init(host: host, coversSubdomains: isWild, port: port)
    }

    /// True if it matches a host, which may have brackets if it is an IPv6 address.
    package func matches(host candidate: String, port candidatePort: UInt16) -> Bool {
        if let port, port != candidatePort { return false }
        let candidate = HostPattern.bare(candidate)
        return coversSubdomains ? candidate.hasSuffix("." + host) : candidate == host
    }

    /// `host` in lower case, without brackets and without the dot that ends a fully qualified name.
    private static func bare(_ host: some StringProtocol) -> String {
        var text = host.lowercased()
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        if text.hasSuffix(".") { text.removeLast() }
        return text
    }

    /// True if `host` is `localhost`, a name below it, or a loopback address.
    package static func isLoopbackName(_ host: String) -> Bool {
        let name = bare(host)
        return name == "localhost" || name.hasSuffix(".localhost") || SocketAddress(bare: name)?.isLoopback == true
    }

    /// True if `text` consists of labels of letters, digits, `-` and `_`. Only a trailing label may be empty.
    static func isHostName(_ text: some StringProtocol) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        var labels = text.split(separator: ".", omittingEmptySubsequences: false)
        if labels.count > 1, labels.last?.isEmpty == true { labels.removeLast() }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20)
                        || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                }
        }
    }
}

extension HostPattern: CustomStringConvertible {
    package var description: String {
        let bracketed = host.contains(":") ? "[\(host)]" : host
        return (coversSubdomains ? "*." : "") + bracketed + (port.map { ":\($0)" } ?? "")
    }
}

/// Ports from one to another, both included: `443`, `8000-8099`.
package struct PortRange: Hashable, Sendable {
    package let first: UInt16
    package let last: UInt16

    package init(_ port: UInt16) {
        first = port
        last = port
    }

    /// Parses `443` or `8000-8099`; nil for anything else, port 0 and a range in descending order.
    package init?(_ text: String) {
        let parts = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = SocketAddress.port(parts[0]), first > 0 else { return nil }
        guard let last = parts.count == 1 ? first : SocketAddress.port(parts[1]), last >= first else { return nil }
        self.first = first
        self.last = last
    }

    package func contains(_ port: UInt16) -> Bool { first <= port && port <= last }
}

extension PortRange: CustomStringConvertible {
    package var description: String { first == last ? "\(first)" : "\(first)-\(last)" }
}
