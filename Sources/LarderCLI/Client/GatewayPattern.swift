// SPDX-License-Identifier: Apache-2.0

import Larder

/// A pattern that begins with a service's mount, as the gateway's paths do: patterns do not, and it matches nothing.
enum GatewayPattern {
    /// The words about it; nil where the pattern begins with no mount.
    ///
    /// - Parameter services: those in the daemon's status.
    static func meant(by pattern: String, _ services: [JSONValue]) -> String? {
        var best: (mount: String, name: String, base: String)?
        for service in services {
            guard let name = service["name"]?.string, let base = service["baseURL"]?.string,
                let mount = service["mount"]?.string, mount != "/",
                pattern.hasPrefix(mount) || pattern + "/" == mount, mount.count > best?.mount.count ?? 0
            else { continue }
            best = (mount, name, base)
        }
        guard let best else { return nil }
        let path = pattern.dropFirst(best.mount.count)
        let absolute = best.base + (best.base.hasSuffix("/") ? "" : "/") + (path.isEmpty ? "**" : path)
        return "patterns are below a service's base URL, without its mount: for `\(best.name)`, '\(absolute)'"
    }
}
