// SPDX-License-Identifier: Apache-2.0
import CLibevent
import Glibc

extension SocketAddress {
    /// A numeric host, with or without the brackets of IPv6, and a port. Nil for anything else: names are the
    /// resolver's business, and forms like `127.1` or `0x7f000001` are refused.
    package init?(host: some StringProtocol, port: UInt16) {
        var text = Substring(host)
        let isBracketed = text.hasPrefix("[") && text.hasSuffix("]")
        if isBracketed { text = text.dropFirst().dropLast() }
        guard text.utf8.count <= 45 + 17, !text.utf8.contains(0) else { return nil }
        if !isBracketed {
            var number = in_addr()
            if inet_pton(AF_INET, String(text), &number) == 1 {
                self.init(ipv4: UInt32(bigEndian: number.s_addr), port: port)
                return
            }
        }
        var scope: UInt32 = 0
        if let percent = text.firstIndex(of: "%") {
            let zone = text[text.index(after: percent)...]
            guard let index = UInt32(zone) ?? Self.interfaceIndex(zone) else { return nil }
            scope = index
            text = text[..<percent]
        }
        var number = in6_addr()
        guard inet_pton(AF_INET6, String(text), &number) == 1 else { return nil }
        let (high, low) = withUnsafeBytes(of: number) {
            (
                UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
        self.init(ipv6: high, low, port: port, scope: scope)
    }

    /// `192.0.2.1:80`, `[2001:db8::1]:80`, or `unix:` and a path; what `description` gives.
    package init?(_ text: some StringProtocol) {
        if text.hasPrefix("unix:") {
            let path = String(text.dropFirst(5))
            guard !path.isEmpty, path.utf8.count <= Self.unixPathLimit, !path.utf8.contains(0) else { return nil }
            self.init(unixPath: path)
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = Self.port(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = text[..<colon]
        // An IPv6 address without brackets would make its last group look like the port.
        guard !host.contains(":") || host.hasPrefix("[") && host.hasSuffix("]") else { return nil }
        self.init(host: host, port: port)
    }

    /// One to five digits, without a sign.
    package static func port(_ text: some StringProtocol) -> UInt16? {
        let isNumber = (1...5).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        return isNumber ? UInt16(text) : nil
    }

    private static func interfaceIndex(_ name: Substring) -> UInt32? {
        let index = if_nametoindex(String(name))
        return index == 0 ? nil : index
    }

    /// The numeric host without brackets and port, or the path.
    package var host: String {
        switch storage {
        case .ipv4(let number, _):
            "\(number >> 24).\(number >> 16 & 255).\(number >> 8 & 255).\(number & 255)"
        case .ipv6(let high, let low, _, let scope):
            Self.text(high, low) + (scope == 0 ? "" : "%\(scope)")
        case .unix(let path): path
        }
    }

    private static func text(_ high: UInt64, _ low: UInt64) -> String {
        var number = (high.bigEndian, low.bigEndian)
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
            guard let base = buffer.baseAddress, inet_ntop(AF_INET6, &number, base, 64) != nil else { return "::" }
            return String(cString: base)
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        switch storage {
        case .ipv4(_, let port): "\(host):\(port)"
        case .ipv6(_, _, let port, _): "[\(host)]:\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
