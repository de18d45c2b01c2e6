// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules

/// The first resources by a sort key, or in a state. All resources have to be examined, so their number is limited.
struct SortedResources {
    enum Order: String, CaseIterable {
        case size, age, hits, ttl, url

        /// Larger values come first; among equal ones the text decides.
        func worth(_ line: ResourceLine, at now: Timestamp) -> Int64 {
            guard let newest = line.variants.first else { return .min }
            let report = VariantReport(variant: newest, now: now)
            switch self {
            case .size: return line.bytes
            case .age: return report.age.wholeSeconds
            case .hits: return Int64(clamping: line.hits)
            // The shortest remaining lifetime comes first.
            case .ttl: return report.shownTTL.map { -$0 } ?? .min
            case .url: return 0
            }
        }
    }

    /// The valid states in queries, and the corresponding words of `ResourceLine`.
    static let states = [
        "fresh": ["fresh", "overridden", "written"],
        "stale": ["stale", "invalidated", "partial", "validated each time"],
        "error": ["failed"], "loading": ["loading"], "failed": ["failed"], "invalidated": ["invalidated"],
        "overridden": ["overridden"], "partial": ["partial"], "written": ["written"],
    ]

    /// The most resources examined.
    static let limit = 100_000

    let list: ResourceList
    let order: Order
    let states: [String]?
    let now: Timestamp

    struct Page {
        var lines: [ResourceLine] = []
        /// How many there are, among those examined.
        var total = 0
        /// True if all were examined.
        var isComplete = true
    }

    func page(limit count: Int) async throws -> Page {
        var page = Page()
        var kept: [(worth: Int64, line: ResourceLine)] = []
        var cursor: ResourceList.Cursor?
        var looked = 0
        // Resources go between memory and disk meanwhile, and may then be in two parts, or in one twice.
        var keys: Set<ResourceKey> = []
        var names: Set<String> = []
        repeat {
            let part = try await list.page(after: cursor, limit: 1_000, listed: keys)
            keys.formUnion(part.keys)
            looked += part.lines.count
            for line in part.lines where names.insert(line.name).inserted && accepts(line) {
                page.total += 1
                kept.append((order.worth(line, at: now), line))
            }
            if kept.count > 4 * count + 1_000 { kept = first(count, of: kept) }
            cursor = part.next
        } while cursor != nil && looked < SortedResources.limit
        page.isComplete = cursor == nil
        page.lines = first(count, of: kept).map(\.line)
        return page
    }

    private func accepts(_ line: ResourceLine) -> Bool {
        guard let states else { return true }
        let isError = states == SortedResources.states["error"] && line.variants.first?.served.status.isError == true
        return isError || states.contains(line.state(at: now))
    }

    private func first(
        _ count: Int, of lines: [(worth: Int64, line: ResourceLine)]
    ) -> [(worth: Int64, line: ResourceLine)] {
        Array(lines.sorted { ($1.worth, $0.line.url) < ($0.worth, $1.line.url) }.prefix(count))
    }
}
