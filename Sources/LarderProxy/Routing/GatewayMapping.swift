// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules
import LarderSettings

/// Maps URLs and hosts in a response from the origin's names to the gateway's, so that a client of the gateway stays on
/// it.
struct GatewayMapping {
    let table: ServiceTable
    let service: RoutedService
    let form: RequestForm
    /// The URI of the response, against which references are resolved.
    let target: TargetURI
    /// The client's name for Larder: the `Host` field of its request.
    let authority: String
    /// True if the client speaks to Larder over TLS.
    var isSecure = false
    /// True if the client may be a browser, to which the gateway's address is one origin.
    var isForBrowser = true

    /// How many bytes of references and of the URI they are resolved against are read for one `Link` field: each
    /// reference costs as much as both are long.
    private static let linkBudget = 512 << 10
    /// References of one `Link` field that are mapped. Further ones are left out.
    static let linkLimit = 512

    /// True if fields of the response contain URLs or hosts, or affect a whole origin.
    static func concerns(_ fields: Fields) -> Bool {
        !FieldSet(of: fields).isDisjoint(with: Variant.mappedOnGateway)
    }

    /// `fields` with `Location`, `Content-Location`, `Link` and cookies mapped for the gateway's client, and for
    /// browsers without fields that affect more than the response.
    func mapped(_ fields: Fields) -> Fields {
        var result = fields
        if isForBrowser { for name in Variant.aboutOrigin { result.remove(name) } }
        for name in [FieldName.location, .contentLocation] {
            guard let value = fields[first: name] else { continue }
            result[name] = mapped(reference: value)
        }
        if let value = fields[first: .refresh] { result[.refresh] = mapped(refresh: value) }
        if fields.contains(.link) { result[.link] = mapped(link: fields[all: .link].joined(separator: ", ")) }
        if fields.contains(.setCookie) {
            result.remove(.setCookie)
            for cookie in fields[all: .setCookie].compactMap(mapped(cookie:)) { result.append(.setCookie, cookie) }
        }
        return result
    }

    /// A URI reference, mapped; absolute when no gateway path leads to it, nil when its target is unknown. A reference
    /// without scheme and host stays one; one relative to the target's path is equivalent below the gateway's.
    func mapped(reference received: String) -> String? {
        let reference = ReceivedReference(received, scheme: target.scheme).text
        let isPath = reference.hasPrefix("/") && !reference.hasPrefix("//")
        let isAbsolute = reference.hasPrefix("//") || reference.prefix { !"/?#".contains($0) }.contains(":")
        guard let uri = target.resolving(reference) else {
            return isAbsolute && !reference.hasPrefix("//") ? received : nil
        }
        let fragment = reference.firstIndex(of: "#").map { String(reference[$0...]) } ?? ""
        if isAbsolute { return gatewayURL(of: uri).map { $0 + fragment } ?? uri.string + fragment }
        if !isPath, meansTheSame(reference, uri) { return reference }
        // An unmapped path would lead elsewhere on the gateway, and a path that begins with two slashes names a host.
        guard let path = pathOnGateway(of: uri) else { return uri.string + fragment }
        return (path.hasPrefix("//") ? gatewayURL(of: uri) ?? uri.string : path) + fragment
    }

    /// True if clients of the gateway resolve a relative reference to `uri` unchanged. They do not where it climbs
    /// higher than the gateway's path reaches, nor certainly where the client may have left out the mount's last slash.
    private func meansTheSame(_ reference: String, _ uri: TargetURI) -> Bool {
        if reference.isEmpty || reference.hasPrefix("?") || reference.hasPrefix("#") { return true }
        guard target.path != service.base?.path, let here = pathOnGateway(of: target),
            let base = try? TargetURI("http://gateway" + here),
            let there = base.resolving(reference)
        else { return false }
        return pathOnGateway(of: uri) == there.pathAndQuery
    }

    /// The URL of a Refresh field (HTML §15.1.7 and its `http-equiv` steps); nil if it is invalid.
    private func mapped(refresh: String) -> String? {
        let time = refresh.drop { $0 == " " || $0 == "\t" }.prefix { $0.isASCII && $0.isNumber || $0 == "." }
        guard !time.isEmpty else { return nil }
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        var rest = refresh[time.endIndex...].drop { isBlank($0) || $0 == ";" || $0 == "," }
        guard !rest.isEmpty else { return String(time) }
        let named = rest.dropFirst(3).drop(while: isBlank)
        if rest.lowercased().hasPrefix("url"), named.first == "=" { rest = named.dropFirst().drop(while: isBlank) }
        if let quote = rest.first, quote == "\"" || quote == "'" { rest = rest.dropFirst().prefix { $0 != quote } }
        return mapped(reference: String(rest)).map { "\(time); url=\($0)" }
    }

    /// Maps the references between angle brackets of a Link field (RFC 8288 §3); everything else is unchanged,
    /// including quoted strings with brackets. References beyond the budget or the limit are dropped, and everything
    /// after them.
    private func mapped(link: String) -> String {
        var result = ""
        var rest = link.utf8[...]
        var budget = GatewayMapping.linkBudget
        var references = 0
        let perReference = target.count
        while let mark = rest.firstIndex(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "\"") }) {
            let behind = rest.index(after: mark)
            result += Substring(rest[...mark])
            if rest[mark] == UInt8(ascii: "<") {
                guard let close = rest[behind...].firstIndex(of: UInt8(ascii: ">")) else {
                    return result + Substring(rest[behind...])
                }
                let reference = String(Substring(rest[behind..<close]))
                budget -= perReference + reference.utf8.count
                references += 1
                guard budget > 0, references <= GatewayMapping.linkLimit else {
                    return GatewayMapping.withoutUnfinishedLink(result)
                }
                result += (mapped(reference: reference) ?? "") + ">"
                rest = rest[rest.index(after: close)...]
            } else {
                let string = GatewayMapping.quotedString(rest[behind...])
                result += Substring(string)
                rest = rest[string.endIndex...]
            }
        }
        return result + Substring(rest)
    }

    /// The part of `links` up to the end of the last link before the link that has just begun.
    private static func withoutUnfinishedLink(_ links: String) -> String {
        let end = links.utf8.dropLast().lastIndex { !" \t,".utf8.contains($0) }
        return end.map { String(links[...$0]) } ?? ""
    }

    /// The beginning of `text` up to and including the quotation mark that ends a string (RFC 9110 §5.6.4).
    private static func quotedString(_ text: Substring.UTF8View) -> Substring.UTF8View {
        var isEscaped = false
        let end = text.firstIndex { octet in
            defer { isEscaped = octet == UInt8(ascii: "\\") && !isEscaped }
            return octet == UInt8(ascii: "\"") && !isEscaped
        }
        return end.map { text[...$0] } ?? text
    }

    private func gatewayURL(of uri: TargetURI) -> String? {
        let scheme = isSecure ? "https" : "http"
        if form == .hostName, !uri.hasSameOrigin(as: target) {
            // Another host has another name, below the same suffix and at the same port.
            guard let label = HostLabel(uri)?.label else { return nil }
            let rest = authority.drop { $0 != "." }
            return "\(scheme)://\(label)\(rest)\(uri.pathAndQuery)"
        }
        return pathOnGateway(of: uri).map { "\(scheme)://\(authority)\($0)" }
    }

    /// The path and query under which the gateway serves `uri`, or nil.
    func pathOnGateway(of uri: TargetURI) -> String? {
        if form == .hostName { return uri.hasSameOrigin(as: target) ? uri.pathAndQuery : nil }
        if form == .anyHost { return "/\(uri.scheme.text)/\(uri.authority)\(uri.pathAndQuery)" }
        // With a service's name as host, only that service is reachable.
        let owner = service.covers(uri) ? service : form == .name ? nil : table.claiming(uri)
        guard let owner, let base = owner.base else { return nil }
        // If a route rewrites this path, the path that is rewritten to it is used.
        guard let uri = owner.routes.map({ $0.original(of: uri) }) ?? uri else { return nil }
        if form == .name {
            let path = uri.string.dropFirst(base.pathRange.upperBound - 1)
            return path.hasPrefix("/") ? String(path) : "/" + path
        }
        return String(decoding: owner.mount, as: UTF8.self) + uri.string.dropFirst(base.pathRange.upperBound)
    }
}
