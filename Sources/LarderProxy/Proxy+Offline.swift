// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
package import LarderSettings
import LarderStores
import LarderUpstream
import Logging

/// The offline mode, and the responses that are available offline.
extension Proxy {
    /// The offline mode of a service for resources with this configuration.
    package func offlineMode(_ service: RoutedService, _ configuration: EffectiveConfiguration) -> OfflineMode {
        offline.mode(of: service.name, configured: configuration.offline)
    }

    /// Sets the mode for one service, or for all; nil returns to the configuration.
    package func goOffline(_ mode: OfflineMode?, service: String?) {
        offline.choose(mode, service: service)
        logger.notice(
            "the offline mode was chosen",
            metadata: ["mode": "\(mode?.rawValue ?? "configured")", "service": "\(service ?? "all")"])
    }

    /// True if a URI's origin fails, or no origin can be reached.
    package func isOutOfReach(_ uri: TargetURI, _ service: RoutedService) -> Bool {
        origins.isOutOfReach(Origin(uri), parent: service.parent(uri), tls: service.tls(for: uri))
    }

    /// True if a request of Larder's own to an unreachable origin would be sent as a probe.
    func isProbeDue(_ uri: TargetURI, _ service: RoutedService) -> Bool {
        origins.isProbeDue(
            Origin(uri), parent: service.parent(uri), tls: service.tls(for: uri), now: time.monotonic())
    }

    /// The stored URLs of a service in this partition that are most similar to `uri`: those with the longest common
    /// path first, among these those with the fewest differences.
    ///
    /// The search is bounded, on a background thread and on the store's; while several searches are under way, others
    /// return nothing.
    package func nearestStored(
        to uri: TargetURI, service: RoutedService, partition: Larder.Partition, limit: Int
    ) async -> [String] {
        let none = NearestURLs(to: uri.string, limit: limit)
        let (registry, number, name) = (registry, service.number, service.name)
        let inMemory = try? await searchers().run {
            var found = none
            var left = Proxy.searchLimit
            registry.forEach { resource in
                guard left > 0, resource.key.serviceNumber == number, resource.partition == partition else { return }
                left -= 1
                if !resource.memory.snapshot.variants.isEmpty { found.offer(resource.key.url) }
            }
            return found
        }
        guard var nearest = inMemory else { return [] }
        var row: Int64?
        var left = Proxy.searchLimit
        while let store = diskTier?.store, left > 0 {
            let match = EntityMatch(stage: DiskTier.stage)
            guard let slice = try? await store.list(after: row, limit: 1_000, where: match) else { break }
            for entry in slice where entry.key.service == name && entry.key.partition == partition.name {
                nearest.offer(entry.key.url)
            }
            left -= slice.count
            guard slice.count == 1_000 else { break }
            row = slice.last?.row
        }
        return nearest.urls
    }

    /// The most resources searched in memory, and entries on disk.
    private static let searchLimit = 20_000
}

/// Collects the few of many URLs that are most similar to one.
struct NearestURLs: Sendable {
    private struct Found: Sendable {
        var url: String
        var shared: Int
        var distance: Int
    }

    private let wanted: [UInt8]
    private let limit: Int
    private var found: [Found] = []

    init(to wanted: String, limit: Int) {
        self.wanted = Array(wanted.utf8)
        self.limit = limit
    }

    var urls: [String] { found.map(\.url) }

    mutating func offer(_ url: String) {
        let octets = Array(url.utf8)
        guard octets != wanted else { return }
        let shared = sharedSegments(octets)
        if found.count == limit, let last = found.last, shared.count < last.shared { return }
        guard !found.contains(where: { $0.url == url }) else { return }
        // The part after the common prefix; a long one is not worth comparing byte by byte.
        let (rest, other) = (wanted.dropFirst(shared.offset).prefix(128), octets.dropFirst(shared.offset).prefix(128))
        let new = Found(url: url, shared: shared.count, distance: Nearest.distance(Array(rest), Array(other)))
        let place =
            found.firstIndex { ($0.shared, new.distance, new.url) < (new.shared, $0.distance, $0.url) } ?? found.count
        found.insert(new, at: place)
        if found.count > limit { found.removeLast() }
    }

    /// The number of whole segments in common, and where the common part ends.
    private func sharedSegments(_ octets: [UInt8]) -> (count: Int, offset: Int) {
        var (count, offset) = (0, 0)
        for index in 0..<min(octets.count, wanted.count) {
            guard octets[index] == wanted[index] else { break }
            if octets[index] == UInt8(ascii: "/") { (count, offset) = (count + 1, index + 1) }
        }
        return (count, offset)
    }
}
