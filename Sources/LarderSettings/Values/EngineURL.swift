// SPDX-License-Identifier: Apache-2.0

import LarderIO
package import LarderShared

/// The location of the engine.
package struct EngineURL: Sendable, Equatable, CustomStringConvertible {
    package let nodes: [EngineNode]
    package let isCluster: Bool
    package let usesTLS: Bool

    /// `redis://host:port`, `rediss://` with TLS, `redis+cluster://` and `rediss+cluster://` with some nodes of a
    /// cluster, separated by commas, or `unix:` and a path.
    package init?(_ text: String) {
        if text.hasPrefix("unix:") {
            var path = text.dropFirst(5)
            if path.hasPrefix("//") { path = path.dropFirst(2) }
            guard path.hasPrefix("/"), path.utf8.count <= 107, !path.utf8.contains(0) else { return nil }
            nodes = [.unix(path: String(path))]
            (isCluster, usesTLS) = (false, false)
            return
        }
        guard let colon = text.firstIndex(of: ":"), text[colon...].hasPrefix("://") else { return nil }
        switch text[..<colon] {
        case "redis", "valkey": (isCluster, usesTLS) = (false, false)
        case "rediss", "valkeys": (isCluster, usesTLS) = (false, true)
        case "redis+cluster", "valkey+cluster": (isCluster, usesTLS) = (true, false)
        case "rediss+cluster", "valkeys+cluster": (isCluster, usesTLS) = (true, true)
        default: return nil
        }
        var rest = text[colon...].dropFirst(3)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        let places = rest.split(separator: ",", omittingEmptySubsequences: false)
        let found = places.compactMap { EngineURL.node($0) }
        guard !found.isEmpty, found.count == places.count, found.count <= 64, isCluster || found.count == 1 else {
            return nil
        }
        nodes = found
    }

    private static func node(_ text: Substring) -> EngineNode? {
        guard let (host, port) = HostAndPort.split(text),
            HostPattern.isHostName(host) || SocketAddress(bare: host) != nil
        else { return nil }
        return .tcp(host: host, port: port ?? 6379)
    }

    package var description: String {
        if case .unix(let path)? = nodes.first { return "unix:\(path)" }
        let scheme = (usesTLS ? "rediss" : "redis") + (isCluster ? "+cluster" : "")
        return "\(scheme)://\(nodes.map(\.description).joined(separator: ","))"
    }
}
