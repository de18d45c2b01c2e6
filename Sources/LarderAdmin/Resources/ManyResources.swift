// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderSettings
import LarderStores
import Synchronization

/// Changes all resources that a filter accepts. Memory is searched on a background thread, the disk in slices.
struct ManyResources {
    let proxy: Proxy
    let selection: ResourceSelection
    let walkers: WorkerPool
    /// True if pinned resources are left as they are.
    var sparesPins = false

    struct Counts {
        var memory = 0
        var disk = 0
        /// Pinned resources that were left.
        var pinned = 0

        /// Resources that are both in memory and on disk count once.
        var most: Int { max(memory, disk) }
    }

    /// Requires validation before each use. Counts resources in memory and variants on disk.
    func invalidate() async throws -> Counts {
        selection.tell(proxy)
        var counts = Counts()
        let note =
            if case .group(let group, _) = selection { InvalidationNote.forGroup(group) } else {
                InvalidationNote.forAll
            }
        counts.memory = try await markStale(noting: note, where: selection.accepts)
        counts.disk = try await invalidateStored()
        return counts
    }

    /// The same on disk alone, and for what is read from there meanwhile. Counts variants on disk.
    ///
    /// - Parameter moment: what was received later is left as it is, and so are loads under way.
    @discardableResult
    func invalidateStored(until moment: Timestamp? = nil) async throws -> Int {
        guard let diskTier = proxy.diskTier, mayBeOnDisk(diskTier) else { return 0 }
        let selection = selection
        let isMeant = { @Sendable (stored: StoredResponse) in
            selection.accepts(stored) && moment.map { stored.responseTime <= $0 } ?? true
        }
        var count = 0
        var unread: StoreUnavailable?
        let table = proxy.configuration.router.table
        var row: Int64?
        while true {
            // The list contains committed rows only, and changes wait in memory until they are.
            await diskTier.store.flush()
            let slice: [EntityListing]
            do {
                slice = try await diskTier.store.list(after: row, limit: 500, where: selection.match)
            } catch {
                unread = error
                break
            }
            var seen: Set<EntityKey> = []
            for entry in slice where seen.insert(entry.key).inserted {
                guard let url = ResourceURL(entry.key.url).target else { continue }
                let method = ContentMark.split(entry.key.url).mark?.method ?? .get
                let policy = table.serving(entry.key.service).configuration(for: url, method: method).policy
                do {
                    count += try await diskTier.markStale(entry.key, policy: policy, where: isMeant)
                } catch {
                    unread = error
                }
            }
            guard slice.count == 500 else { break }
            row = slice.last?.row
        }
        // Repeated, for responses read from the store in between.
        if count > 0 { _ = try await markStale(noting: repeatedNote(until: moment), where: isMeant) }
        await diskTier.store.flush()
        // The count is incomplete.
        if let unread { throw unread }
        return count
    }

    private func repeatedNote(until moment: Timestamp?) -> InvalidationNote {
        if case .group = selection { return .forReads }
        return moment == nil ? .forClients : .forReads
    }

    private func markStale(
        noting: InvalidationNote, where isMeant: @escaping @Sendable (StoredResponse) -> Bool
    ) async throws -> Int {
        let proxy = proxy
        return try await walk { resource, service in
            proxy.markStale(resource, service: service, noting: noting, where: isMeant) > 0
        }
    }

    /// Counts the targets of `wipe`: resources in memory and variants on disk.
    func count() async throws -> Counts {
        let selection = selection
        var counts = Counts()
        counts.pinned = sparesPins ? try await selectedPins().count : 0
        counts.memory = try await walk { resource, _ in
            let snapshot = resource.memory.snapshot
            if case .group = selection { return snapshot.variants.contains { selection.accepts($0.stored) } }
            return !snapshot.variants.isEmpty || snapshot.failure != nil
        }
        guard let diskTier = proxy.diskTier, mayBeOnDisk(diskTier) else { return counts }
        await diskTier.store.flush()
        var row: Int64?
        while true {
            let slice = try await diskTier.store.list(after: row, limit: 500, where: match)
            counts.disk += slice.count
            guard slice.count == 500 else { return counts }
            row = slice.last?.row
        }
    }

    /// Cancels the loads under way; counts them.
    func cancelLoads() async throws -> Int {
        let count = Atomic<Int>(0)
        _ = try await walk { resource, _ in
            let loads = resource.memory.loads
            for load in loads { load.cancel() }
            count.add(loads.count, ordering: .relaxed)
            return !loads.isEmpty
        }
        return count.load(ordering: .relaxed)
    }

    /// Empties memory and, unless `keepsStored`, the store. Counts resources in memory and variants on disk.
    func wipe(keepsStored: Bool) async throws -> Counts {
        var counts = Counts()
        var pins: Set<EntityKey> = []
        var unread: StoreUnavailable?
        do {
            if !keepsStored { pins = try await selectedPins() }
        } catch {
            // The wipe itself reads nothing.
            unread = error
        }
        counts.pinned = sparesPins ? pins.count : 0
        if !keepsStored { selection.tell(proxy) }
        // Before and after the store: a load that ends in between is superseded, and responses read in between are
        // removed from memory.
        counts.memory = try await forget()
        if !keepsStored { try await emptyOwnCaches() }
        guard !keepsStored, let diskTier = proxy.diskTier, mayBeOnDisk(diskTier) else { return counts }
        counts.disk = await diskTier.store.removeAll(where: match)
        await diskTier.store.removeAll(where: DiskTier.renditions(of: match))
        _ = try await forget()
        // The pins of one URL are for its caller to end.
        if !sparesPins, !isOneURL { _ = await diskTier.store.unpin(Array(pins)) }
        if let unread { throw unread }
        return counts
    }

    private var isOneURL: Bool {
        if case .partitions = selection { true } else { false }
    }

    /// The selected entities, without pinned entities if these are spared.
    private var match: EntityMatch {
        var match = selection.match
        guard sparesPins, let diskTier = proxy.diskTier, diskTier.store.hasPins else { return match }
        let accepts = match.predicate
        match.predicate = { accepts?($0) ?? true && !diskTier.isPinned($0) }
        return match
    }

    /// The selected pins. For a pattern, they include pins under which no response is stored.
    private func selectedPins() async throws(StoreUnavailable) -> Set<EntityKey> {
        guard let diskTier = proxy.diskTier, diskTier.store.hasPins else { return [] }
        // The lists contain committed rows only.
        await diskTier.store.flush()
        if case .matching(let filter) = selection {
            guard let pins = await diskTier.store.pins() else { throw StoreUnavailable() }
            let isCounted = { (pin: PinListing) in !sparesPins || pin.variants > 0 }
            return Set(pins.filter(isCounted).map(\.key).filter { filter.accepts($0) })
        }
        guard mayBeOnDisk(diskTier) else { return [] }
        var match = selection.match
        let accepts = match.predicate
        match.predicate = { accepts?($0) ?? true && diskTier.isPinned($0) }
        var pins: Set<EntityKey> = []
        var row: Int64?
        while true {
            let slice = try await diskTier.store.list(after: row, limit: 500, where: match)
            pins.formUnion(slice.map(\.key))
            guard slice.count == 500 else { return pins }
            row = slice.last?.row
        }
    }

    /// Empties memory of the selected resources, and prevents loads under way from being stored. Counts resources.
    private func forget() async throws -> Int {
        let (proxy, selection) = (proxy, selection)
        guard case .group(let group, let origin) = selection else {
            // Their URLs are not known any more: with some that the selection leaves out.
            proxy.registry.forgetUnstored()
            return try await walk { resource, _ in
                let snapshot = resource.memory.snapshot
                proxy.wipe(resource)
                return !snapshot.variants.isEmpty || snapshot.failure != nil
            }
        }
        let count = try await walk { resource, _ in
            // The groups of loads in flight are unknown: later requests must not join these loads.
            resource.memory.noteInvalidation(ofGroup: group)
            guard !resource.memory.removeVariants(where: { selection.accepts($0.stored) }).isEmpty else {
                return false
            }
            proxy.registry.charge(resource)
            return true
        }
        proxy.invalidations.invalidate([.group(group, origin: origin)])
        return count
    }

    /// Empties the caches of programs for the selected resources in memory: they have no list of their entries.
    private func emptyOwnCaches() async throws {
        // They have no members of groups, and nothing of one user.
        guard case .matching = selection else { return }
        let proxy = proxy
        let isEmptied = try await walk { resource, service in
            guard service.settings.declare != nil else { return false }
            proxy.emptyOwnCaches(of: resource, service)
            return true
        }
        if isEmptied > 0 { _ = try await forget() }
    }

    /// True if the disk may contain any.
    private func mayBeOnDisk(_ diskTier: DiskTier) -> Bool {
        selection.match.label.map { diskTier.store.mayContain($0) } ?? true
    }

    /// Calls `change` for each resource in memory that the filter accepts, and counts those for which it is true.
    private func walk(_ change: @escaping @Sendable (Resource, RoutedService) -> Bool) async throws -> Int {
        let (proxy, selection) = (proxy, selection)
        if case .partitions(let subject) = selection, !subject.service.hasPartitions { return 0 }
        let services = proxy.configuration.router.table.byNumber
        let pins = sparesPins ? proxy.diskTier : nil
        return try await walkers.run {
            var count = 0
            proxy.registry.forEach { resource in
                guard let service = services[resource.key.serviceNumber], selection.accepts(resource, service: service),
                    pins?.isPinned(resource, service: service) != true
                else { return }
                if change(resource, service) { count += 1 }
            }
            return count
        }
    }
}
