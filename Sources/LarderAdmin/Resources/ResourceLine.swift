// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// A resource in a list: its state at a moment, in the fields that `larder list` shows.
struct ResourceLine {
    let url: String
    let service: String
    let partition: Larder.Partition
    /// Newest first.
    let variants: [Variant]
    var isLoading = false
    var hasFailed = false
    let isInMemory: Bool
    let isOnDisk: Bool
    /// The number of responses since it was loaded into memory.
    var hits: UInt64 = 0
    /// True if it is kept from eviction.
    var isPinned = false
    /// How many responses `larder history` lists, where a service has some kept.
    var versions: Int?
    /// True if the configuration no longer has its service: only lists and patterns find it.
    var isLeftover = false

    /// Unique among all lines.
    var name: String { "\(service) \(partition.name) \(url)" }

    /// True if there is a state to list; a resource that was only relayed has none.
    var isWorthListing: Bool { !variants.isEmpty || isLoading || hasFailed }

    func json(at now: Timestamp) -> JSONValue {
        var object: JSONObject = ["url": .string(url), "service": .string(service)]
        if partition != .shared { object["partition"] = .string(partition.name) }
        object["state"] = .string(state(at: now))
        if let newest = variants.first {
            let report = VariantReport(variant: newest, now: now)
            object["status"] = .integer(newest.served.status.rawValue)
            object["bytes"] = .integer(bytes)
            if let length = newest.stored.lengthOfWhole { object["completeBytes"] = .integer(length) }
            object["age"] = .integer(report.age.wholeSeconds)
            object["ttl"] = report.shownTTL.map { .integer($0) } ?? .null
        }
        object["hits"] = .integer(hits)
        object["variants"] = .integer(variants.count)
        object["where"] = place.map { .string($0) } ?? .null
        if isPinned { object["pinned"] = true }
        if let versions { object["versions"] = .integer(versions) }
        if isLeftover { object["leftover"] = true }
        return .object(object)
    }

    /// Marks resources of former services. Adds the number of versions if the configuration keeps any.
    static func complete(_ lines: inout [ResourceLine], _ proxy: Proxy) async {
        let table = proxy.configuration.router.table
        for index in lines.indices {
            let service = lines[index].service
            lines[index].isLeftover = service != table.unclaimed.name && table.named(service) == nil
        }
        guard let diskTier = proxy.diskTier else { return }
        let kept = lines.indices.filter { table.serving(lines[$0].service).keepsVersions(of: lines[$0].url) }
        guard !kept.isEmpty else { return }
        let counts = await diskTier.versionCounts(
            of: kept.map { (lines[$0].url, lines[$0].partition, lines[$0].service) })
        for (index, count) in zip(kept, counts) { lines[index].versions = count }
    }

    /// Bytes of content.
    var bytes: Int64 { variants.reduce(0) { $0 + Int64($1.content.length) } }

    func state(at now: Timestamp) -> String {
        if isLoading { return "loading" }
        if hasFailed { return "failed" }
        return variants.first.map { VariantReport(variant: $0, now: now).state } ?? "empty"
    }

    /// The place of the stored response; nil if there is none.
    private var place: String? {
        // The fields of a response may be in memory and its content on disk alone.
        let isInMemory =
            isInMemory
            && variants.contains { variant in
                if case .memory = variant.content { true } else { false }
            }
        return switch (isInMemory, isOnDisk) {
        case (true, true): "memory and disk"
        case (true, false): "memory"
        case (false, _): isOnDisk || !variants.isEmpty ? "disk" : nil
        }
    }
}

extension RoutedService {
    /// True if superseded responses of this URL are kept.
    fileprivate func keepsVersions(of url: String) -> Bool {
        guard let target = ResourceURL(url).target else { return false }
        let configuration = configuration(for: target, method: ContentMark.split(url).mark?.method ?? .get)
        return configuration.history > 0 && configuration.caches
    }
}
