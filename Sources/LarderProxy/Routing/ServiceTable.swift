// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderSettings

/// All services of one configuration, ordered for lookup.
package struct ServiceTable: Sendable {
    package let services: [RoutedService]
    /// Handles unclaimed URLs.
    package let unclaimed: RoutedService
    /// True if any request may be refused by configuration.
    let hasDenials: Bool
    private let byName: [String: RoutedService]
    /// The longest first, so that the first match is the most specific.
    private let byBase: [RoutedService]
    private let byMount: [RoutedService]

    package init(services: [RoutedService], unclaimed: RoutedService) {
        self.services = services
        self.unclaimed = unclaimed
        hasDenials = (services + [unclaimed]).contains { $0.denials != nil }
        byName = Dictionary(services.map { ($0.name.lowercased(), $0) }, uniquingKeysWith: { first, _ in first })
        byBase = services.filter { $0.base != nil }.sorted {
            // Holds: only those with a base URL are sorted.
            $0.base!.pathRange.upperBound > $1.base!.pathRange.upperBound
        }
        byMount = services.filter { $0.base != nil }.sorted { $0.mount.count > $1.mount.count }
    }

    /// Every service there is, the one for unclaimed traffic last.
    package var all: [RoutedService] { services + [unclaimed] }

    /// The base URL of each service by its name; empty for one without.
    package var bases: [String: String] {
        Dictionary(services.map { ($0.name, $0.base?.string ?? "") }, uniquingKeysWith: { first, _ in first })
    }

    package func named(_ name: String) -> RoutedService? { byName[name.lowercased()] }

    /// The service with that number, regardless of its current name.
    package func numbered(_ number: UInt32) -> RoutedService? {
        unclaimed.number == number ? unclaimed : services.first { $0.number == number }
    }

    /// The service whose base URL covers `uri`; the longest wins.
    package func claiming(_ uri: TargetURI) -> RoutedService? { byBase.first { $0.covers(uri) } }

    /// The services that may have stored something for `uri`: each whose base URL covers it, as it can be asked by its
    /// mount or name.
    func holders(of uri: TargetURI) -> [RoutedService] {
        let covering = byBase.filter { $0.covers(uri) }
        return covering.isEmpty ? [unclaimed] : covering
    }

    /// The service mounted at the beginning of `path`, and how many bytes of the path are the mount.
    package func mounted(at path: UnsafeRawBufferPointer) -> (service: RoutedService, prefix: Int)? {
        for service in byMount {
            let mount = service.mount
            if path.count >= mount.count, path.prefix(mount.count).elementsEqual(mount) {
                return (service, mount.count)
            }
        }
        return nil
    }

    /// The service whose mount without its final slash is exactly `path`: a client that left the slash out.
    package func mountedWithoutSlash(at path: UnsafeRawBufferPointer) -> RoutedService? {
        byMount.first { $0.mount.count > 1 && $0.mount.dropLast().elementsEqual(path) }
    }

    /// True if the configuration places a service's resources at this host and port.
    package func names(_ authority: Authority) -> Bool {
        services.contains { service in
            guard let base = service.base else { return false }
            return base.host == authority.host && base.port == authority.port
                || service.settings.allowHosts.contains { $0.matches(host: authority.host, port: authority.port) }
        }
    }
}
