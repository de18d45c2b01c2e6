// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// The last requests, and rankings of requests and resources.
extension AdminCall {
    func requests() async throws -> OwnResponse {
        let limit = try parameters.number("limit", in: 1...RequestLog.limit, default: 100)
        let last = try parameters.number("after", in: 0...Int.max, default: 0)
        let filter = try filter()
        proxy.requests.look(at: proxy.monotonicNow)
        let notes = proxy.requests.notes(after: UInt64(last))
        let chosen = Array(notes.lazy.filter { filter.accepts($0) }.prefix(limit))
        return try await walkers.run {
            OwnResponse(json: [
                "last": .integer(notes.first?.number ?? UInt64(last)), "requests": .array(chosen.map(\.json)),
            ])
        }
    }

    func highlights() async throws -> OwnResponse {
        let limit = try parameters.number("limit", in: 1...100, default: 10)
        let now = proxy.now
        let hottest = try await hottest(limit)
        return OwnResponse(json: [
            "hottest": .array(hottest.map { $0.json(at: now) }),
            "slowest": .array(
                proxy.requests.slowest(limit).map { line in
                    var object = line.place
                    object["longestSeconds"] = .decimal(Double(line.longest) / 1e9, places: 6)
                    object["meanSeconds"] = .decimal(Double(line.mean) / 1e9, places: 6)
                    return .object(object)
                }),
            "notKept": .array(
                proxy.requests.unkept(limit).map { line in
                    var object = line.place
                    object["reason"] = .string(line.reason)
                    return .object(object)
                }),
        ])
    }

    /// The resources in memory with the most hits.
    private func hottest(_ count: Int) async throws -> [ResourceLine] {
        let services = proxy.configuration.router.table.byNumber
        return try await walkers.run {
            var kept: [Resource] = []
            func best() -> [Resource] {
                Array(kept.sorted { ($1.memory.hits, $0.key.url) < ($0.memory.hits, $1.key.url) }.prefix(count))
            }
            proxy.registry.forEach { resource in
                guard resource.memory.hits > 0 else { return }
                kept.append(resource)
                if kept.count > 8 * count + 64 { kept = best() }
            }
            return best().compactMap { resource in
                services[resource.key.serviceNumber].map {
                    ResourceLine(resource, service: $0, diskTier: proxy.diskTier)
                }
            }
        }
    }
}

extension ResourceFilter {
    /// True if the note is about a selected resource.
    func accepts(_ note: RequestNote) -> Bool {
        matchesAll || accepts(ResourceURL(note.url), service: note.service)
    }
}

extension RequestLog.Line {
    fileprivate var place: JSONObject {
        [
            "method": .string(method), "url": .string(url), "service": .string(service), "requests": .integer(requests),
        ]
    }
}
