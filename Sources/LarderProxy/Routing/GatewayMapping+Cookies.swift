// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Cookies of origins for clients of the gateway, parsed as clients do (RFC 6265 §5.2) and written anew.
extension GatewayMapping {
    /// A cookie for the gateway: bound to the host that set it (the gateway), to the gateway's path for the cookie's
    /// own, and sent without TLS where the client's connection has none. Nil for a cookie that would be bound to
    /// anything else, and for a cookie that clients would have rejected from the origin.
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
            // Clients accept the last two only with the first.
            case "secure", "partitioned": if isPrefixed || isSecure { kept.append(String(attribute)) }
            case "samesite" where value.lowercased() == "none" && !isPrefixed && !isSecure: continue
            default: kept.append(String(attribute))
            }
        }
        guard let mapped = mapped(cookiePath: path?.first == "/" ? String(path ?? "") : defaultPath) else { return nil }
        return ([String(pair), "Path=\(mapped)"] + kept).joined(separator: "; ")
    }

    /// The path of a cookie without one (RFC 6265 §5.1.4).
    private var defaultPath: String {
        let path = target.path
        guard let last = path.lastIndex(of: "/"), last > path.startIndex else { return "/" }
        return String(path[..<last])
    }

    /// True if clients accept a cookie for `domain` from the target (RFC 6265 §5.3).
    private func isOfTarget(domain: Substring) -> Bool {
        let domain = (domain.first == "." ? domain.dropFirst() : domain).lowercased()
        return domain == target.host || target.hostKind == .name && target.host.hasSuffix("." + domain)
    }

    /// The gateway's path for a cookie's path; nil for a path that no request to the service would match.
    private func mapped(cookiePath path: String) -> String? {
        // Clients compare paths literally, and URL paths never contain these characters and segments.
        guard !path.contains(where: { "?#\\ \t".contains($0) }),
            !path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }),
            let uri = try? TargetURI(target.origin + path), uri.hasSameOrigin(as: target)
        else { return nil }
        if let mapped = pathOnGateway(of: uri) { return leadsHere(mapped) ? mapped : nil }
        guard let base = service.base, uri.hasSameOrigin(as: base) else { return nil }
        let isAround =
            base.path.hasPrefix(path) && (path.hasSuffix("/") || base.path.dropFirst(path.count).first == "/")
        return isAround || service.covers(uri) ? pathOfService : nil
    }

    /// True if requests below `path` of the gateway are for this service, not for a service mounted below the path.
    private func leadsHere(_ path: String) -> Bool {
        guard form == .mount else { return true }
        let below = Array((path.hasSuffix("/") ? path : path + "/").utf8)
        return below.withUnsafeBytes { table.mounted(at: $0)?.service === service }
    }

    /// The gateway's own path of the whole service, for cookies with a wider path than the base.
    private var pathOfService: String {
        switch form {
        case .mount: String(decoding: service.mount, as: UTF8.self)
        case .anyHost: "/\(target.scheme.text)/\(target.authority)/"
        case .name, .hostName, .forward: "/"
        }
    }

    /// Without surrounding blanks.
    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
