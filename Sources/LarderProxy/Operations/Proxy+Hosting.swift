// SPDX-License-Identifier: Apache-2.0

package import Larder
import LarderHTTP
import LarderRules
import LarderSettings
import LarderStores
import Logging

/// Operations of a program on all resources of its own service.
extension Proxy {
    /// The answers of a program's condition about the Resources in memory, by their names there and on disk.
    package struct Matches: Sendable {
        fileprivate struct Name: Hashable {
            let partition, url: String
        }

        fileprivate var answers: [Name: Bool] = [:]

        fileprivate subscript(resource: Resource) -> Bool? {
            answers[Name(partition: resource.key.partitionName, url: resource.key.url)]
        }
    }

    /// Empties the memory of those for which `isMatch` is true; loads under way are not stored in them.
    @discardableResult
    package func wipeInMemory(_ service: RoutedService, where isMatch: (Resource) -> Bool) -> Matches {
        var matches = Matches()
        registry.forEach { resource in
            guard resource.key.serviceNumber == service.number else { return }
            let answer = isMatch(resource)
            matches.answers[Matches.Name(partition: resource.key.partitionName, url: resource.key.url)] = answer
            if answer { wipe(resource) }
        }
        registry.forgetUnstored()
        return matches
    }

    /// Removes them from disk, and then from memory those read from there meanwhile.
    ///
    /// - Parameter matches: the answers of `wipeInMemory`, from before the Resources were emptied. For the others
    ///   `isMatch` gets a Resource of which nothing is known but its URL and its partition.
    package func wipeStored(
        _ service: RoutedService, where isMatch: @escaping @Sendable (Resource) -> Bool, _ matches: Matches
    ) async {
        registry.forEach { resource in
            if resource.key.serviceNumber == service.number, matches[resource] ?? isMatch(resource) {
                emptyOwnCaches(of: resource, service)
            }
        }
        guard let diskTier else { return }
        let model = service.service
        for stage in DiskTier.stages {
            _ = await diskTier.store.removeAll(
                where: EntityMatch(
                    service: service.name, stage: stage,
                    predicate: { key in
                        let known = matches.answers[Matches.Name(partition: key.partition, url: key.url)]
                        let (url, _) = ContentMark.split(key.url)
                        return known
                            ?? isMatch(
                                Resource(
                                    service: model, url: ResourceURL(url), partition: Larder.Partition(key.partition)))
                    }))
        }
        wipeInMemory(service) { matches[$0] ?? isMatch($0) }
    }

    /// Marks those that `pattern` matches out of date, in memory.
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
            let subject = ResourceSubject(service: service, form: .forward, uri: uri, spelling: [])
            let fields: Fields = ["Accept": "*/*", "User-Agent": "larder/\(LarderVersion.current)"]
            do {
                _ = try await load(subject, fields: fields, onlyIfNeeded: true, from: .machine)
            } catch {
                logger.debug(
                    "a resource could not be loaded after a recovery",
                    metadata: ["url": "\(uri)", "error": "\(error)"])
            }
        }
    }
}
