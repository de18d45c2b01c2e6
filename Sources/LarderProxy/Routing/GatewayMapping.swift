// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// Maps what a response says about URLs and hosts from the origin's names to the gateway's, so that a client that
/// knows only the gateway stays on it.
struct GatewayMapping {
    let table: ServiceTable
    let service: RoutedService
    let way: Way
    /// The URI the response is about, against which references resolve.
    let target: TargetURI
    /// What the client called Larder: the `Host` field of its request.
    let authority: String

    /// Whether a response with these fields says anything about URLs and hosts.
    static func concerns(_ fields: Fields) -> Bool { !FieldSet(of: fields).isDisjoint(with: affected) }

    private static let affected = FieldSet([.location, .contentLocation, .link, .setCookie])

    /// `fields` with `Location`, `Content-Location`, `Link` and cookies as the gateway's client must see them.
    func mapped(_ fields: Fields) -> Fields {
        var result = fields
        for name in [FieldName.location, .contentLocation] {
            guard let value = fields[first: name] else { continue }
            result[name] = mapped(reference: value)
        }
        if fields.contains(.link) { result[.link] = mapped(link: fields[all: .link].joined(separator: ", ")) }
        if fields.contains(.setCookie) {
            result.remove(.setCookie)
            for cookie in fields[all: .setCookie] { result.append(.setCookie, mapped(cookie: cookie)) }
        }
        return result
    }

    /// A URI reference, mapped; absolute when no gateway path leads to it. A reference that leaves out scheme and
    /// host still does afterwards; one that is relative to the target's path means the same below the gateway's.
    func mapped(reference: String) -> String {
        let isPath = reference.hasPrefix("/") && !reference.hasPrefix("//")
        let isAbsolute = reference.hasPrefix("//") || reference.prefix { !"/?#".contains($0) }.contains(":")
        guard isPath || isAbsolute, let uri = Invalidation.resolve(reference, against: target) else { return reference }
        let fragment = reference.firstIndex(of: "#").map { String(reference[$0...]) } ?? ""
        if let mapped = isPath ? pathOnGateway(of: uri) : gatewayURL(of: uri) { return mapped + fragment }
        // A path that is not the gateway's would lead to something else there.
        return isPath ? uri.string + fragment : reference
    }

    /// The references between angle brackets of a Link field (RFC 8288 §3); everything else stays, quoted strings
    /// with brackets in them too.
    private func mapped(link: String) -> String {
        var result = ""
        var rest = Substring(link)
        while let mark = rest.firstIndex(where: { $0 == "<" || $0 == "\"" }) {
            let behind = rest.index(after: mark)
            result += rest[...mark]
            if rest[mark] == "<" {
                guard let close = rest[behind...].firstIndex(of: ">") else { return result + rest[behind...] }
                result += mapped(reference: String(rest[behind..<close])) + ">"
                rest = rest[rest.index(after: close)...]
            } else {
                let string = GatewayMapping.quotedString(rest[behind...])
                result += string
                rest = rest[string.endIndex...]
            }
        }
        return result + rest
    }

    /// What `text` begins with up to and including the quotation mark that ends a string (RFC 9110 §5.6.4).
    private static func quotedString(_ text: Substring) -> Substring {
        var isEscaped = false
        let end = text.firstIndex { character in
            defer { isEscaped = character == "\\" && !isEscaped }
            return character == "\"" && !isEscaped
        }
        return end.map { text[...$0] } ?? text
    }

    /// A cookie for the gateway: bound to the host that set it (the gateway), to the gateway's path, and sent
    /// without TLS, as the client's connection has none.
    private func mapped(cookie: String) -> String {
        let parts = cookie.split(separator: ";", omittingEmptySubsequences: false)
        guard let pair = parts.first else { return cookie }
        let isPrefixed = pair.hasPrefix("__Host-") || pair.hasPrefix("__Secure-")
        var kept = [String(pair)]
        for part in parts.dropFirst() {
            let attribute = part.drop { $0 == " " || $0 == "\t" }
            let name = attribute.prefix { $0 != "=" }.lowercased()
            switch name {
            case "domain": continue
            case "secure" where !isPrefixed: continue
            case "path":
                let path = attribute.drop { $0 != "=" }.dropFirst()
                kept.append(" Path=\(mapped(cookiePath: String(path)))")
            default: kept.append(String(part))
            }
        }
        return kept.joined(separator: ";")
    }

    private func mapped(cookiePath path: String) -> String {
        guard path.hasPrefix("/"), let uri = Invalidation.resolve(path, against: target) else { return path }
        return pathOnGateway(of: uri) ?? pathOfService ?? "/"
    }

    /// The gateway's own path for all of the service: what a cookie for a wider path than the base is bound to.
    private var pathOfService: String? {
        switch way {
        case .mount: String(decoding: service.mount, as: UTF8.self)
        case .anyHost: "/\(target.scheme.text)/\(target.authority)/"
        case .name, .forward: nil
        }
    }

    private func gatewayURL(of uri: TargetURI) -> String? { pathOnGateway(of: uri).map { "http://\(authority)\($0)" } }

    /// The path and query under which the gateway serves `uri`, or nil.
    private func pathOnGateway(of uri: TargetURI) -> String? {
        if way == .anyHost { return "/\(uri.scheme.text)/\(uri.authority)\(uri.pathAndQuery)" }
        // A service's name as host leads to that service alone.
        let owner = service.covers(uri) ? service : way == .name ? nil : table.claiming(uri)
        guard let owner, let base = owner.base else { return nil }
        // A path that a route would lead elsewhere is asked for by the one that leads to it.
        guard let uri = owner.routes.map({ $0.original(of: uri) }) ?? uri else { return nil }
        if way == .name {
            let path = uri.string.dropFirst(base.pathRange.upperBound - 1)
            return path.hasPrefix("/") ? String(path) : "/" + path
        }
        return String(decoding: owner.mount, as: UTF8.self) + uri.string.dropFirst(base.pathRange.upperBound)
    }
}
