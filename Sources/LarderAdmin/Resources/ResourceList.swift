// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderStores

/// Pages through all resources: first those in memory, in an order of their own, then those only on disk, in the order
/// they were written. Memory is searched on a background thread.
struct ResourceList {
    let proxy: Proxy
    let filter: ResourceFilter
    let walkers: WorkerPool

    /// The start of a page.
    enum Cursor: Sendable, Equatable {
        /// After the resource in memory whose key has this hash.
        case memory(UInt64)
        /// After this row of the store.
        case store(Int64)

        init?(_ text: String) {
            let parts = text.split(separator: "-", maxSplits: 1)
            guard parts.count == 2 else { return nil }
            switch parts[0] {
            case "m":
                guard let hash = UInt64(parts[1], radix: 16) else { return nil }
                self = .memory(hash)
            case "d":
                guard let row = Int64(parts[1]), row >= 0 else { return nil }
                self = .store(row)
            default: return nil
            }
        }

        var text: String {
            switch self {
            case .memory(let hash): "m-\(String(hash, radix: 16))"
            case .store(let row): "d-\(row)"
            }
        }
    }

    struct Page {
        var lines: [ResourceLine] = []
        /// The Resources in memory among them.
        var keys: Set<ResourceKey> = []
        /// The start of the next page; nil at the end.
        var next: Cursor?
    }

    /// - Parameter listed: the resources in memory of all pages before, for a caller that wants each exactly once.
    ///   Without it, a resource that moves between memory and disk between two pages may be in both, or in neither.
    func page(after cursor: Cursor?, limit: Int, listed: Set<ResourceKey>? = nil) async throws -> Page {
        var page = Page()
        if case .store(let row) = cursor {
            let seen = listed.map { Seen(last: nil, keys: $0) }
            await fillFromStore(&page, after: row, limit: limit, seen: seen)
            return page
        }
        var last: UInt64?
        if case .memory(let hash) = cursor { last = hash }
        try await fillFromMemory(&page, behind: last, limit: limit)
        guard page.next == nil else { return page }
        let seen = listed.map { Seen(last: nil, keys: $0.union(page.keys)) } ?? Seen(last: last, keys: page.keys)
        await fillFromStore(&page, after: 0, limit: limit, seen: seen)
        return page
    }

    // MARK: Memory

    /// The lines of a pass over memory, for the pass over the store after it: in between, Resources come into memory
    /// and leave it.
    private struct Seen {
        /// The pass began behind the key with this hash.
        let last: UInt64?
        let keys: Set<ResourceKey>

        func hasPassed(_ key: ResourceKey) -> Bool { last.map { key.hash > $0 } ?? true }
    }

    /// Sets the start of the next page when the page is full and memory contains more.
    private func fillFromMemory(_ page: inout Page, behind last: UInt64?, limit: Int) async throws {
        let (proxy, filter) = (proxy, filter)
        let table = proxy.configuration.router.table
        let found = try await walkers.run {
            let numbered = table.byNumber
            // The smallest hashes after the last one, found in one pass that keeps at most two pages.
            var kept: [(key: ResourceKey, line: ResourceLine)] = []
            proxy.registry.forEach { resource in
                guard last.map({ resource.key.hash > $0 }) ?? true, let service = numbered[resource.key.serviceNumber],
                    filter.accepts(resource.url, service: service.name)
                else { return }
                let line = ResourceLine(resource, service: service, diskTier: proxy.diskTier)
                guard line.isWorthListing else { return }
                kept.append((resource.key, line))
                if kept.count > 2 * limit + 64 { kept = ResourceList.smallest(kept, limit + 1) }
            }
            return ResourceList.smallest(kept, limit + 1)
        }
        page.lines += found.prefix(limit).map(\.line).sorted { ($0.service, $0.url) < ($1.service, $1.url) }
        page.keys = Set(found.prefix(limit).map(\.key))
        if found.count > limit { page.next = .memory(found[limit - 1].key.hash) }
    }

    private static func smallest<Line>(
        _ kept: [(key: ResourceKey, line: Line)], _ count: Int
    ) -> [(key: ResourceKey, line: Line)] {
        Array(kept.sorted { $0.key.hash < $1.key.hash }.prefix(count))
    }

    // MARK: Disk

    /// - Parameter seen: what this page's pass over memory listed; nil for a page of the store alone, which lists what
    ///   is not in memory by then.
    private func fillFromStore(_ page: inout Page, after row: Int64, limit: Int, seen: Seen?) async {
        guard let diskTier = proxy.diskTier, page.lines.count < limit else {
            // Memory filled the page to the last line; the disk begins the next one.
            if proxy.diskTier != nil { page.next = .store(row) }
            return
        }
        let (registry, filter) = (proxy.registry, filter)
        let table = proxy.configuration.router.table
        let numbers = Dictionary(table.all.map { ($0.name, $0.number) }, uniquingKeysWith: { first, _ in first })
        var match = filter.match
        match.predicate = { key in
            guard filter.accepts(key) else { return false }
            guard let number = numbers[key.service], let key = ResourceKey(service: number, entity: key) else {
                return true
            }
            if let seen, seen.hasPassed(key) { return !seen.keys.contains(key) }
            // Resources in memory have been listed.
            return registry.resource(for: key)?.memory.snapshot.variants.isEmpty ?? true
        }
        // The list contains committed rows only.
        if row == 0 { await diskTier.store.flush() }
        var last = row
        var stored: Set<EntityKey> = []
        while page.lines.count < limit {
            let wanted = limit - page.lines.count
            // The list ends where the store cannot read.
            guard let listed = try? await diskTier.store.list(after: last, limit: wanted, where: match) else { return }
            for entry in listed {
                guard !stored.contains(entry.key),
                    let line = await line(of: entry, table: table, diskTier: diskTier)
                else { continue }
                stored.insert(entry.key)
                page.lines.append(line)
            }
            guard listed.count == wanted, let end = listed.last?.row else { return }
            last = end
        }
        page.next = .store(last)
    }

    /// Lists each resource once, by its newest variant, or by a variant replaced during the listing.
    private func line(of entry: EntityListing, table: ServiceTable, diskTier: DiskTier) async -> ResourceLine? {
        let key = entry.key
        let service = table.serving(key.service)
        guard let url = ResourceURL(key.url).target else { return nil }
        let configuration = service.configuration(for: url, method: ContentMark.split(key.url).mark?.method ?? .get)
        let variants = await diskTier.peek(
            key.url, partition: Larder.Partition(key.partition), service: key.service, configuration)
        guard let newest = variants.first,
            newest.storedAt == entry.storedAt || !variants.contains(where: { $0.storedAt == entry.storedAt })
        else { return nil }
        return ResourceLine(
            url: key.url, service: key.service, partition: Larder.Partition(key.partition), variants: variants,
            isInMemory: false, isOnDisk: true, isPinned: diskTier.isPinned(key))
    }
}

extension ResourceLine {
    init(_ resource: Resource, service: RoutedService, diskTier: DiskTier?) {
        let memory = resource.memory
        let snapshot = memory.snapshot
        self.init(
            url: resource.key.url, service: service.name, partition: resource.partition, variants: snapshot.variants,
            isLoading: !memory.loads.isEmpty, hasFailed: snapshot.failure != nil, isInMemory: true,
            isOnDisk: diskTier?.mayContain(resource.key.url, partition: resource.partition, service: service.name)
                ?? false, hits: memory.hits, isPinned: diskTier?.isPinned(resource, service: service) ?? false)
    }
}

extension ServiceTable {
    var byNumber: [UInt32: RoutedService] {
        Dictionary(all.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The service of that name; the service of unclaimed traffic if that name is no longer configured.
    func serving(_ name: String) -> RoutedService { named(name) ?? unclaimed }
}

extension ResourceKey {
    /// The key in memory for an entity of the store; nil when its URL is invalid.
    init?(service: UInt32, entity: EntityKey) {
        guard let url = ResourceURL(entity.url).target else { return nil }
        // The spelling of path and query is part of the key.
        let path = entity.url.utf8.dropFirst(url.origin.utf8.count)
        self.init()
        set(service: service, partition: Larder.Partition(entity.partition), url: url, spelling: Array(path))
    }
}
