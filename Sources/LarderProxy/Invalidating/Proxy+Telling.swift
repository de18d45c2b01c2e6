// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderRules
import LarderShared

/// Invalidations that other daemons are told of.
extension Proxy {
    /// Tells other daemons that the responses for a URL are invalid.
    func tell(invalid uri: TargetURI, of service: RoutedService) {
        guard let sharing, sharing.rules.allows(service), service.base != nil || !SharingRules.isOwn(uri),
            !SharingRules.hasSecret(uri)
        else { return }
        let key = SharingRules.key(of: uri, service)
        sharing.post(.url(key.url, service: key.service, base: key.base), at: monotonicNow)
    }

    func tell(invalidGroups groups: [String], origin: String?) {
        guard let sharing else { return }
        for group in groups { sharing.post(.scope(.group(group, origin: origin), .random()), at: monotonicNow) }
    }

    /// - Parameter patterns: nil for everything of the service.
    func tell(invalid patterns: [GlobPattern]?, of service: RoutedService) {
        guard let sharing, sharing.rules.allows(service) else { return }
        let (name, base) = (service.name, service.base?.string ?? "")
        guard let patterns else {
            return sharing.post(.scope(.service(name: name, base: base), .random()), at: monotonicNow)
        }
        sharing.post(.patterns(patterns.map(\.text), service: name, base: base, .random()), at: monotonicNow)
    }

    /// An operator changed many resources.
    package func tell(invalid pattern: GlobPattern?, ofService name: String?) {
        guard let sharing else { return }
        if pattern == nil, name == nil { return sharing.post(.scope(.everything, .random()), at: monotonicNow) }
        for service in configuration.router.table.all where name == nil || service.name == name {
            tell(invalid: pattern.map { [$0] }, of: service)
        }
    }

    package func tell(invalidGroup group: String, origin: String?) { tell(invalidGroups: [group], origin: origin) }
}
