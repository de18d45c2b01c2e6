// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderStores

/// Everything about one resource, in each of its partitions.
struct ResourceDetails {
    let subject: ResourceSubject
    let proxy: Proxy
    let walkers: WorkerPool

    /// The number of partitions with a state.
    func partCount() async throws -> Int {
        var count = 0
        for partition in [.shared] + (try await partitions()) where await json(of: partition, proxy.now) != nil {
            count += 1
        }
        return count
    }

    /// nil when there is no state.
    func json() async throws -> JSONValue? {
        let service = subject.service
        let now = proxy.now
        var parts: [JSONValue] = []
        for partition in [.shared] + (try await partitions()) {
            if let part = await json(of: partition, now) { parts.append(part) }
        }
        guard !parts.isEmpty else { return nil }
        var object: JSONObject = [
            "url": .string(subject.url), "service": .string(service.name),
            "blocks": .strings(service.configuration(for: subject.uri, method: subject.method).frozen.entries),
        ]
        if parts.count == 1, let only = parts[0].object {
            for name in only.names { object[name] = only[name] }
        } else {
            object["partitions"] = .array(parts)
        }
        return .object(object)
    }

    /// The first partitions, by name, with the URL in memory or in the store.
    private func partitions() async throws -> [Larder.Partition] {
        let limit = 100
        let selection = ResourceSelection.partitions(subject)
        let (registry, service) = (proxy.registry, subject.service)
        var names: Set<String> = []
        if service.hasPartitions {
            names = try await walkers.run {
                var names: Set<String> = []
                registry.forEach { resource in
                    guard names.count < limit, resource.key.url == subject.url,
                        selection.accepts(resource, service: service)
                    else { return }
                    names.insert(resource.partition.name)
                }
                return names
            }
        }
        if let store = proxy.diskTier?.store, let label = selection.match.label, store.mayContain(label) {
            await store.flush()
            let listed = (try? await store.list(after: nil, limit: limit, where: selection.match)) ?? []
            names.formUnion(listed.filter { $0.key.url == subject.url }.map(\.key.partition))
        }
        names.remove(Larder.Partition.shared.name)
        return names.sorted().prefix(limit).map { Larder.Partition($0) }
    }

    private func json(of partition: Larder.Partition, _ now: Timestamp) async -> JSONValue? {
        let service = subject.service
        let configuration = service.configuration(for: subject.uri, method: subject.method)
        let key = subject.key(in: partition)
        let memory = proxy.registry.resource(for: key)?.memory
        let snapshot = memory?.snapshot
        let stored =
            await proxy.diskTier?.peek(key.url, partition: partition, service: service.name, configuration) ?? []
        let variants = snapshot.flatMap { $0.variants.isEmpty ? nil : $0.variants } ?? stored
        var lines = [
            ResourceLine(
                url: key.url, service: service.name, partition: partition, variants: variants,
                isLoading: !(memory?.loads.isEmpty ?? true), hasFailed: snapshot?.failure != nil,
                isInMemory: !(snapshot?.variants.isEmpty ?? true), isOnDisk: !stored.isEmpty,
                // The list also shows no hits for a response that is on disk alone.
                hits: snapshot?.variants.isEmpty == false ? memory?.hits ?? 0 : 0,
                isPinned: proxy.isPinned(subject, in: partition))
        ]
        await ResourceLine.complete(&lines, proxy)
        guard let line = lines.first, line.isWorthListing, let summary = line.json(at: now).object else { return nil }
        var object = JSONObject()
        for name in summary.names where !["url", "service", "variants"].contains(name) { object[name] = summary[name] }
        let state = StateReport(
            variants, failure: snapshot?.failure, loads: memory?.loads ?? [], unstored: memory?.unstored,
            of: subject, in: partition, in: proxy, now: now
        ).json(withContent: false)
        for name in ["isUpToDate", "isLoading", "timestamp", "latestData", "latestError"] { object[name] = state[name] }
        object["loads"] = state["loads"]
        if let failure = snapshot?.failure { object["failure"] = failure.json }
        let isForOne = partition != .shared
        object["variants"] = .array(
            variants.map { VariantReport(variant: $0, now: now, isForOne: isForOne).json })
        return .object(object)
    }
}
