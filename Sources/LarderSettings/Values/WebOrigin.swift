// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The origin of a web page as browsers write it (RFC 6454 §6.2): `http://localhost:5173`,
/// `chrome-extension://abcdefghijklmnop`.
package struct WebOrigin: Hashable, Sendable {
    /// In lower case.
    package let scheme: String
    /// In normal form, with brackets around an IPv6 address.
    package let host: String
    /// The port, by default the scheme's own; nil where the scheme has none and none is given.
    package let port: UInt16?

    /// Parses an origin; nil for anything else, such as `null`, `*` and URLs with a path.
    package init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return nil }
        let scheme = text[..<colon].lowercased()
        guard let first = scheme.utf8.first, ASCII.isAlpha(first), scheme.utf8.allSatisfy(WebOrigin.isOfScheme) else {
            return nil
        }
        let ownPort = WebOrigin.ports[scheme]
        let authority = Array(text[colon...].dropFirst(3).utf8)
        // Schemes without a default port compare as 1, which browsers never write.
        guard let read = authority.withUnsafeBytes({ try? Authority($0, defaultPort: ownPort ?? 1) }) else {
            return nil
        }
        self.scheme = scheme
        host = read.host
        port = ownPort == nil && read.port == 1 ? nil : read.port
    }

    /// The origin to which a request was addressed, given the `Host` field and the scheme that a page there would have.
    package init?(host field: String, scheme: String) { self.init("\(scheme)://\(field)") }

    private static let ports: [String: UInt16] = ["http": 80, "https": 443]

    private static func isOfScheme(_ octet: UInt8) -> Bool {
        ASCII.isAlpha(octet) || ASCII.isDigit(octet) || "+-.".utf8.contains(octet)
    }
}

extension WebOrigin: CustomStringConvertible {
    package var description: String {
        let isOwn = port == nil || port == WebOrigin.ports[scheme]
        return "\(scheme)://\(host)" + (isOwn ? "" : ":\(port ?? 0)")
    }
}
