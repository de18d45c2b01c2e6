// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// Which URLs lead to services, and their equivalents for a client of the gateway: with the host and scheme by which it
/// reached Larder.
struct LinkMap: Equatable {
    struct Entry: Equatable {
        /// The base URL's scheme.
        let scheme: [UInt8]
        /// Authority and path of the base URL, without the slash at the end.
        let place: [UInt8]
        /// The gateway's replacement for scheme and place.
        let target: [UInt8]
        /// The same two in JSON with escaped slashes.
        let escapedPlace: [UInt8]
        let escapedTarget: [UInt8]
    }

    /// A path of the page's own origin, without the slash at the end, that has another path on the gateway.
    struct Local: Equatable {
        let path: [UInt8]
        let target: [UInt8]
        let escapedTarget: [UInt8]
    }

    /// The longest first, so that the first match is the most specific.
    let entries: [Entry]
    let locals: [Local]
    /// Scheme and authority of the page.
    let origin: [UInt8]
    /// How many bytes of look-ahead a decision may depend on.
    let reach: Int

    init(
        of table: ServiceTable, for service: RoutedService, _ form: RequestForm, authority: String, isSecure: Bool,
        at page: TargetURI
    ) {
        let scheme = isSecure ? "https" : "http"
        var entries: [Entry] = []
        var locals: [Local] = []
        for other in table.services {
            guard let base = other.base,
                let target = LinkMap.target(of: other, base, from: service, form, scheme: scheme, authority: authority)
            else { continue }
            let path = String(base.path.dropLast())
            entries.append(
                Entry(
                    scheme: Array(base.scheme.text.utf8), place: Array((base.authority + path).utf8),
                    target: Array(target.utf8), escapedPlace: LinkMap.escaped(base.authority + path),
                    escapedTarget: LinkMap.escaped(target)))
            let isInPlace = form == .hostName || form == .name && other === service && path.isEmpty
            if base.hasSameOrigin(as: page), !isInPlace {
                locals.append(
                    Local(path: Array(path.utf8), target: Array(target.utf8), escapedTarget: LinkMap.escaped(target)))
            }
        }
        self.entries = entries.sorted { $0.place.count > $1.place.count }
        self.locals = locals.sorted { $0.path.count > $1.path.count }
        origin = Array(page.origin.utf8)
        reach = (self.entries.map(\.escapedPlace.count).max() ?? 0) + 16
    }

    /// The URL of a service for the client, without a slash at the end; nil without one.
    private static func target(
        of other: RoutedService, _ base: TargetURI, from service: RoutedService, _ form: RequestForm, scheme: String,
        authority: String
    ) -> String? {
        switch form {
        case .forward: return nil
        case .mount: return "\(scheme)://\(authority)" + String(decoding: other.mount.dropLast(), as: UTF8.self)
        case .anyHost:
            return "\(scheme)://\(authority)/\(base.scheme.text)/\(base.authority)" + base.path.dropLast()
        case .name:
            if other === service { return "\(scheme)://\(authority)" }
            return "\(scheme)://\(other.name)" + authority.drop { $0 != "." }
        case .hostName:
            guard let label = HostLabel(base)?.label else { return nil }
            return "\(scheme)://\(label)" + authority.drop { $0 != "." } + base.path.dropLast()
        }
    }

    /// The gateway's URL for one as requests for it are resolved (RFC 3986 §5.2.4): a client removes dot segments before
    /// it asks, and behind the gateway's path they would lead elsewhere. Nil where it leads to no service.
    func target(resolving url: [UInt8]) -> [UInt8]? {
        var uri = TargetURI()
        let isURL = url.withUnsafeBytes { bytes in
            do { try uri.set(absolute: bytes) } catch { return false }
            return true
        }
        guard isURL else { return nil }
        let scheme = uri.scheme
        return uri.withBytes { resolved in
            let resolved = CheckedOctets(resolved)
            for entry in entries where entry.scheme.elementsEqual(scheme.text.utf8) {
                let end = scheme.prefixLength + entry.place.count
                guard resolved.has(entry.place, at: scheme.prefixLength),
                    end == resolved.count || resolved[end] == UInt8(ascii: "/")
                else { continue }
                return entry.target + resolved.part(end..<resolved.count)
            }
            return nil
        }
    }

    static func escaped(_ text: String) -> [UInt8] { escaped(Array(text.utf8)) }

    /// With a backslash before each slash.
    static func escaped(_ text: [UInt8]) -> [UInt8] {
        text.flatMap { $0 == UInt8(ascii: "/") ? [UInt8(ascii: "\\"), $0] : [$0] }
    }

    /// Sixteen hexadecimal digits that identify the map.
    var digest: String {
        // FNV-1a: the input is the operator's own configuration, and the operator has no interest in collisions.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for octets in entries.flatMap({ [$0.scheme, $0.place, $0.target] }) + locals.flatMap({ [$0.path, $0.target] }) {
            for octet in octets + [0] { hash = (hash ^ UInt64(octet)) &* 0x100_0000_01b3 }
        }
        return hash.hexadecimal
    }
}
