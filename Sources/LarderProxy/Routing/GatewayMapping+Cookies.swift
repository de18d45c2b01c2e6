// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Cookies of origins for clients of the gateway, read as clients read them (RFC 6265 §5.2) and written anew.
extension GatewayMapping {
    /// A cookie for the gateway: bound to the host that set it (the gateway), to the gateway's path that stands for the
    /// cookie's own, and sent without TLS where the client's connection has none. Nil for a cookie that would be bound to
    /// something else, and for one that no client would have taken from the origin.
    func mapped(cookie: String) -> String? {
        let parts = cookie.split(separator: ";", omittingEmptySubsequences: false).map(GatewayMapping.trimmed)
        guard let pair = parts.first else { return nil }
        let prefix = pair.lowercased()
        let isPrefixed = prefix.hasPrefix("__host-") || prefix.hasPrefix("__secure-")
        var path: Substring?
        var kept: [String] = []
        for attribute in parts.dropFirst() where !attribute.isEmpty {
            let name = GatewayMapping.trimmed(attribute.prefix { $0 != "=" }).lowercased()
            let value = GatewayMapping.trimmed(attribute.drop { $0 != "=" }.dropFirst())
            switch name {
            case "path": path = value
            case "domain":
                guard value.isEmpty || isOfTarget(domain: value) else { return nil }
            // The last two are taken with the first only.
            case "secure", "partitioned": if isPrefixed || isSecure { kept.append(String(attribute)) }
            case "samesite" where value.lowercased() == "none" && !isPrefixed && !isSecure: continue
            default: kept.append(String(attribute))
            }
        }
        guard let mapped = mapped(cookiePath: path?.first == "/" ? String(path ?? "") : defaultPath) else { return nil }
        return ([String(pair), "Path=\(mapped)"] + kept).joined(separator: "; ")
    }

    /// Where a cookie goes that names no path (RFC 6265 §5.1.4).
    private var defaultPath: String {
        let path = target.path
        guard let last = path.lastIndex(of: "/"), last > path.startIndex else { return "/" }
        return String(path[..<last])
    }

    /// Whether clients take a cookie for `domain` from the target (RFC 6265 §5.3).
    private func isOfTarget(domain: Substring) -> Bool {
        let domain = (domain.first == "." ? domain.dropFirst() : domain).lowercased()
        return domain == target.host || target.hostKind == .name && target.host.hasSuffix("." + domain)
    }

    /// The gateway's path for a cookie's; nil for one that no request to the service would match.
    private func mapped(cookiePath path: String) -> String? {
        // Clients compare paths as they are written, and URLs have none of these in theirs.
        guard !path.contains(where: { "?#\\ \t".contains($0) }),
            !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }),
            let uri = try? TargetURI(target.origin + path), uri.hasSameOrigin(as: target)
        else { return nil }
        if let mapped = pathOnGateway(of: uri) { return mapped }
        guard let base = service.base, uri.hasSameOrigin(as: base) else { return nil }
        let isAround =
            base.path.hasPrefix(path) && (path.hasSuffix("/") || base.path.dropFirst(path.count).first == "/")
        return isAround || service.covers(uri) ? pathOfService : nil
    }

    /// The gateway's own path for all of the service, to which cookies for a wider path than the base are bound.
    private var pathOfService: String {
        switch way {
        case .mount: String(decoding: service.mount, as: UTF8.self)
        case .anyHost: "/\(target.scheme.text)/\(target.authority)/"
        case .name, .hostName, .forward: "/"
        }
    }

    /// Without the blanks around it.
    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
