// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderRules
import LarderSettings
import LarderStores
import Logging

/// Operations of a program on all resources of its service.
extension Proxy {
    /// A program's condition, with its answers about the Resources that were in memory, by their names there and on
    /// disk. The condition is asked about other Resources when they turn up.
    fileprivate struct Matches: Sendable {
        struct Name: Hashable {
            let partition, url: String
        }

        fileprivate let isMatch: @Sendable (Resource) -> Bool
        fileprivate var answers: [Name: Bool] = [:]

        subscript(resource: Resource) -> Bool { answers[Matches.name(resource)] ?? isMatch(resource) }

        /// True if an entity on disk is one of them.
        func contains(_ key: EntityKey, of model: Service) -> Bool {
            if let known = answers[Name(partition: key.partition, url: key.url)] { return known }
            let (url, _) = ContentMark.split(key.url)
            return isMatch(
                Resource(service: model, url: ResourceURL(url), partition: Larder.Partition(key.partition)))
        }

        static func name(_ resource: Resource) -> Name {
            Name(partition: resource.key.partitionName, url: resource.key.url)
        }
    }

    /// Wipes all of a service. That goes for Resources at a former base URL of it too: it may be there again.
    package func wipe(_ service: RoutedService) {
        wipe(service, nil) { isConcerned in
            registry.forEach { resource in
                if resource.service.name == service.name, isConcerned(resource) { wipe(resource) }
            }
            registry.forgetUnstored()
        }
    }

    /// Wipes the Resources of a service for which `isMatch` is true.
    package func wipe(_ service: RoutedService, where isMatch: @escaping @Sendable (Resource) -> Bool) {
        let matches = matches(in: service, where: isMatch)
        wipe(service, matches) { isConcerned in wipeInMemory(service) { matches[$0] && isConcerned($0) } }
    }

    /// Wipes at once, so that loads that begin after this call are not affected. Memory is wiped first, so that no load
    /// under way is stored after the removal, and once more, for responses read from the disk in between.
    private func wipe(
        _ service: RoutedService, _ matches: Matches?, inMemory wipeInMemory: ((Resource) -> Bool) -> Void
    ) {
        wipeInMemory { _ in true }
        wipeStored(service, matches)
        invalidations.noteRemoval()
        wipeInMemory(\.memory.isOfBeforeRemoval)
    }

    /// Asks about all Resources in memory, as they are now.
    private func matches(
        in service: RoutedService, where isMatch: @escaping @Sendable (Resource) -> Bool
    ) -> Matches {
        var matches = Matches(isMatch: isMatch)
        registry.forEach { resource in
            guard resource.key.serviceNumber == service.number else { return }
            matches.answers[Matches.name(resource)] = isMatch(resource)
        }
        return matches
    }

    /// Empties the memory of Resources for which `isMatch` is true; their loads under way are not stored.
    package func wipeInMemory(_ service: RoutedService, where isMatch: (Resource) -> Bool) {
        registry.forEach { resource in
            if resource.key.serviceNumber == service.number, isMatch(resource) { wipe(resource) }
        }
        registry.forgetUnstored()
    }

    /// Begins to remove Resources from disk, where they are no longer found from now on. For a Resource that is not in
    /// memory, the condition receives its URL and its partition.
    ///
    /// - Parameter matches: nil for all Resources of the service.
    private func wipeStored(_ service: RoutedService, _ matches: Matches?) {
        registry.forEach { resource in
            if resource.key.serviceNumber == service.number, matches?[resource] ?? true {
                emptyOwnCaches(of: resource, service)
            }
        }
        guard let diskTier else { return }
        let model = service.service
        for stage in DiskTier.stages {
            var match = EntityMatch(service: service.name, stage: stage)
            if let matches { match.predicate = { matches.contains($0, of: model) } }
            diskTier.store.beginRemoval(match, because: .wiped)
        }
    }

    /// Marks the Resources that `pattern` matches out of date, in memory.
    package func markStaleInMemory(_ service: RoutedService, matching pattern: GlobPattern) {
        let isMatch = pattern.predicate(relativeTo: service.base)
        registry.forEach { resource in
            if resource.key.serviceNumber == service.number, isMatch(resource.url) {
                _ = markStale(resource, service: service)
            }
        }
    }

    /// Reloads watched resources whose last load failed, one after the other, unless that was too recently.
    package func reloadFailed(of service: RoutedService) async {
        var failed: [Resource] = []
        registry.forEach { resource in
            guard resource.key.serviceNumber == service.number, resource.partition == .shared,
                resource.memory.hasInterest, resource.memory.hasFailed
            else { return }
            failed.append(resource)
        }
        for resource in failed {
            guard let uri = resource.url.target else { continue }
            let subject = ResourceSubject(service: service, uri: uri)
            let fields: Fields = ["Accept": "*/*", "User-Agent": "larder/\(LarderVersion.current)"]
            do {
                _ = try await load(subject, fields: fields, onlyIfNeeded: true, from: .machine)
            } catch {
                logger.debug(
                    "a resource could not be loaded after a recovery",
                    metadata: ["url": "\(SecretText.logged(url: uri.string))", "error": "\(error)"])
            }
        }
    }
}
