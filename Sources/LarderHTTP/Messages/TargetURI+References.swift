// SPDX-License-Identifier: Apache-2.0

/// References in messages and in pages (RFC 3986 §4.1).
extension TargetURI {
    /// The URI that `reference` means on a page with this one (RFC 3986 §5.2), without its fragment; nil where that is no http
    /// or https URI.
    package func resolving(_ reference: some StringProtocol) -> TargetURI? {
        let reference = reference.prefix { $0 != "#" }
        if TargetURI.scheme(of: reference) != nil { return try? TargetURI(String(reference)) }
        if reference.hasPrefix("//") { return try? TargetURI(scheme.text + ":" + reference) }
        if reference.isEmpty { return self }
        let parent =
            switch reference.first {
            case "/": Substring()
            case "?": path[...]
            default: path.lastIndex(of: "/").map { path[...$0] } ?? "/"
            }
        // Received targets lose their dot segments.
        return try? TargetURI(origin + parent + reference)
    }

    /// The scheme of a reference in lower case; nil for a relative one (RFC 3986 §3.1).
    package static func scheme(of reference: some StringProtocol) -> String? {
        guard let colon = reference.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let scheme = reference[..<colon]
        guard let first = scheme.utf8.first, ASCII.isAlpha(first),
            scheme.utf8.allSatisfy({ ASCII.isAlpha($0) || ASCII.isDigit($0) || "+-.".utf8.contains($0) })
        else { return nil }
        return scheme.lowercased()
    }
}
