// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderStores

/// Selects resources for an operator: those that a pattern matches, of all services or of one.
///
/// A relative pattern is relative to the base URL of each service; for unclaimed URLs it is relative to each URL's own
/// host, so that `**` matches everything.
struct ResourceFilter: Sendable {
    let pattern: GlobPattern?
    /// The service it is limited to.
    let only: String?
    private let byName: [String: @Sendable (ResourceURL) -> Bool]

    init(_ pattern: GlobPattern?, service: String?, table: ServiceTable) {
        self.pattern = pattern
        only = service
        var byName: [String: @Sendable (ResourceURL) -> Bool] = [:]
        if let pattern {
            for service in table.services {
                byName[service.name] = pattern.predicate(relativeTo: service.base)
            }
        }
        self.byName = byName
    }

    /// Whether it matches everything.
    var matchesAll: Bool { pattern == nil && only == nil }

    func accepts(_ url: ResourceURL, service: String) -> Bool {
        if let only, only != service { return false }
        guard let pattern else { return true }
        if let matches = byName[service] { return matches(url) }
        guard !pattern.isAbsolute, let origin = url.target?.origin else {
            return pattern.predicate(relativeTo: nil)(url)
        }
        return pattern.predicate(relativeTo: ResourceURL(origin + "/").target)(url)
    }

    func accepts(_ key: EntityKey) -> Bool {
        if let only, only != key.service { return false }
        if pattern == nil { return true }
        return accepts(ResourceURL(key.url), service: key.service)
    }

    /// For operations of the store.
    var match: EntityMatch {
        var match = EntityMatch(service: only, stage: DiskTier.stage)
        if pattern != nil { match.predicate = { accepts($0) } }
        return match
    }
}
