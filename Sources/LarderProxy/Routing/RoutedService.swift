// SPDX-License-Identifier: Apache-2.0

import Larder
package import LarderHTTP
import LarderIO
package import LarderRules
package import LarderUpstream

/// A service as requests find it: its place in Larder's URL space and what its blocks say about each resource.
package final class RoutedService: Sendable {
    /// Distinguishes services in keys; a reload keeps the number of a name.
    package let number: UInt32
    package let name: String
    /// What the service's URLs begin with; nil for unclaimed traffic.
    package let base: TargetURI?
    /// The gateway path, with slashes at both ends.
    package let mount: [UInt8]
    package let settings: ServiceSettings
    /// Through which proxy a URI is reached.
    let parent: @Sendable (TargetURI) -> ParentAddress?
    private let identities: IdentityDigest
    private let blocks: ServiceConfiguration
    /// The configuration's generation, by which what was computed under an older one is told apart.
    private let version: UInt64
    /// The partitions seen, so that a write reaches what every one of them has stored.
    private let partitions = Lock<Set<Larder.Partition>>([.shared])

    package init(
        number: UInt32, settings: ServiceSettings, isUnclaimed: Bool = false, policy: CachePolicy, version: UInt64,
        identities: IdentityDigest,
        parent: @escaping @Sendable (TargetURI) -> ParentAddress?
    ) {
        self.number = number
        base = isUnclaimed ? nil : settings.baseURL.target
        self.parent = parent
        self.identities = identities
        self.settings = settings
        self.version = version
        name = settings.name
        mount = base == nil ? [] : Array(settings.effectiveMount.utf8)
        blocks = ServiceConfiguration(settings, policy: policy)
    }

    /// Whether `uri` lies under the base URL, which ends at a segment's border.
    func covers(_ uri: TargetURI) -> Bool {
        guard let base else { return false }
        return uri.withBytes { candidate in
            base.withBytes(of: 0..<base.pathRange.upperBound) { prefix in
                if candidate.count >= prefix.count { return candidate.prefix(prefix.count).elementsEqual(prefix) }
                // `https://host/v1` is the base `https://host/v1/` itself.
                return candidate.count == prefix.count - 1 && prefix.dropLast().elementsEqual(candidate)
            }
        }
    }

    /// Whether resources of this service may be at `uri`: on the base URL's origin, or on a host that the
    /// configuration lists. Unclaimed traffic may go anywhere.
    func allows(_ uri: TargetURI) -> Bool {
        guard let base else { return true }
        return uri.hasSameOrigin(as: base)
            || settings.allowHosts.contains { $0.matches(host: uri.host, port: uri.port) }
    }

    // MARK: Partitions

    /// Whose Resource a request is about (T-03).
    func partition(of fields: Fields) -> Larder.Partition {
        guard settings.privacy == .partitioned, case .identity(let identity) = Privacy.decide(.partitioned, Privacy.Inputs(), request: fields).partition else { return .shared }
        let partition = identities.partition(of: identity)
        _ = partitions.withLock { $0.count < 10_000 && $0.insert(partition).inserted }
        return partition
    }

    var knownPartitions: [Larder.Partition] { Array(partitions.withLock { $0 }) }

    // MARK: Configuration

    func makeResource(key: ResourceKey, partition: Larder.Partition, url: TargetURI) -> Resource {
        Resource(key: key, partition: partition, url: url)
    }

    /// What applies to a GET of `resource`: computed once for each generation of the configuration.
    func configuration(for resource: Resource) -> EffectiveConfiguration {
        resource.memory.configuration(version: version) { configuration(for: resource.url, method: .get) }
    }

    package func configuration(for url: TargetURI, method: Method) -> EffectiveConfiguration {
        blocks.effective(for: url, method: method)
    }
}
