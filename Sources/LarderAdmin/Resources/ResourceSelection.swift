// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderStores

/// The resources of an operation on many, in memory and in the store.
enum ResourceSelection: Sendable {
    /// The resources that a pattern matches.
    case matching(ResourceFilter)
    /// The resources with members of a group, at one origin or at all origins.
    case group(String, origin: String?)
    /// One URL in every partition, and for every content that is part of a key.
    case partitions(ResourceSubject)

    /// True if a resource is selected, judging by its key.
    func accepts(_ resource: Resource, service: RoutedService) -> Bool {
        switch self {
        case .matching(let filter): filter.accepts(resource.url, service: service.name)
        case .group(_, let origin): origin.map { resource.url.target?.origin == $0 } ?? true
        case .partitions(let subject):
            service.number == subject.service.number && isBeside(subject.url, resource)
        }
    }

    /// True if a resource belongs to `url`, but is not the shared one.
    private func isBeside(_ url: String, _ resource: Resource) -> Bool {
        if resource.key.url == url { return resource.partition != .shared }
        guard resource.key.url.utf8.count > url.utf8.count else { return false }
        let (plain, mark) = ContentMark.split(resource.key.url)
        return mark != nil && plain == url
    }

    /// True if a response of such a resource is selected.
    func accepts(_ stored: StoredResponse) -> Bool {
        switch self {
        case .matching, .partitions: true
        case .group(let group, _): stored.facts.groups.contains(group)
        }
    }

    /// Tells other daemons that the selected responses are invalid. One URL is for its caller to tell of.
    func tell(_ proxy: Proxy) {
        switch self {
        case .matching(let filter): proxy.announce(filter.pattern, ofService: filter.only)
        case .group(let group, let origin): proxy.announce(group: group, origin: origin)
        case .partitions: break
        }
    }

    /// For operations of the store.
    var match: EntityMatch {
        switch self {
        case .matching(let filter): filter.match
        case .group(let group, let origin): DiskTier.match(group: group, origin: origin)
        case .partitions(let subject): DiskTier.partitions(of: subject.url, service: subject.service.name)
        }
    }
}

extension AdminParameters {
    /// The group in `group`, at the origin in `origin` if given; nil without a group.
    func group() throws(Problem) -> ResourceSelection? {
        guard let group = text("group") else {
            guard text("origin") == nil else {
                throw .badParameter("‘origin’ says where a group is, and there is none.", advice: "Add group=….")
            }
            return nil
        }
        guard !group.isEmpty, group.utf8.count <= Invalidation.groupLength else {
            throw .badParameter(
                "‘group’ has \(group.utf8.count) octets; 1 to \(Invalidation.groupLength) were expected.",
                advice: "Name a group as it stands in Cache-Groups, without its quotes.")
        }
        guard let origin = text("origin") else { return .group(group, origin: nil) }
        guard let target = ResourceURL(origin).target, target.pathAndQuery == "/" else {
            throw .badParameter(
                "‘\(origin.prefix(200))’ is no origin.", advice: "Write it as https://api.github.com, without a path.")
        }
        return .group(group, origin: target.origin)
    }
}

/// Selects resources for an operator: the resources that a pattern matches, of all services or of one.
///
/// A relative pattern is relative to the base URL of each service; for unclaimed URLs it is relative to each URL's own
/// host, so that `**` matches everything.
struct ResourceFilter: Sendable {
    let pattern: GlobPattern?
    /// The service that the filter is limited to.
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

    /// True if it matches everything.
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
