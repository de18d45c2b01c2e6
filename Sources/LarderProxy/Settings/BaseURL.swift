// SPDX-License-Identifier: Apache-2.0

/// The absolute http or https URL that a service's resources lie under.
///
/// Scheme and host are in lower case, the default port is left out, and the path ends in a slash, so that two
/// URLs of the same place are equal.
package struct BaseURL: Hashable, Sendable {
    package var scheme: String
    package var host: String
    package var port: UInt16
    /// Starts and ends with a slash, percent-encoded as it was written.
    package var path: String
    /// What follows the `?`, kept for every resource; nil when there is none.
    package var query: String?

    package enum Failure: Error, Equatable {
        case relative
        case scheme(String)
        case credentials
        case host
        case fragment
        case character
        case dotSegment
    }

    /// What a service has until its `baseURL` is read; a service whose `baseURL` cannot be read is refused.
    static let placeholder = BaseURL(scheme: "http", host: "invalid", port: 80, path: "/", query: nil)

    package static func read(_ text: String) -> Result<BaseURL, Failure> {
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && !#""<>\^`{|}"#.utf8.contains($0) }) else {
            return .failure(.character)
        }
        guard let colon = text.firstRange(of: "://") else { return .failure(.relative) }
        let scheme = text[..<colon.lowerBound].lowercased()
        guard scheme == "http" || scheme == "https" else { return .failure(.scheme(scheme)) }
        var rest = text[colon.upperBound...]
        guard !rest.contains("#") else { return .failure(.fragment) }
        var query: String?
        if let mark = rest.firstIndex(of: "?") {
            query = String(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        let authority = rest[..<slash]
        guard !authority.contains("@") else { return .failure(.credentials) }
        guard let (host, port) = HostAndPort.split(authority), port != 0,
            IPAddress(host) != nil || HostPattern.isHostName(host)
        else { return .failure(.host) }
        var path = String(rest[slash...])
        guard !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) else {
            return .failure(.dotSegment)
        }
        if !path.hasSuffix("/") { path += "/" }
        return .success(
            BaseURL(
                scheme: scheme, host: host.lowercased(), port: port ?? (scheme == "https" ? 443 : 80), path: path,
                query: query))
    }

    package var isSecure: Bool { scheme == "https" }

    /// The URL for people to see: what a query holds may be a key.
    package var shown: String { "\(scheme)://\(authority)\(path)" + (query == nil ? "" : "?[redacted]") }

    /// Host and port as a URL has them: brackets around IPv6, no default port.
    package var authority: String {
        let bracketed = host.contains(":") ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? bracketed : "\(bracketed):\(port)"
    }
}

extension BaseURL: CustomStringConvertible {
    package var description: String { "\(scheme)://\(authority)\(path)" + (query.map { "?\($0)" } ?? "") }
}
