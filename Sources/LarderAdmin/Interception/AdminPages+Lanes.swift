// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// `/-/lanes`: what commands had fetched, and how lanes are opened and closed for them.
extension AdminPages {
    private static let lanePrefix = "/-/lanes/"

    static func lanePage(_ path: String, _ walkers: WorkerPool) -> Page? {
        if path == "/-/lanes" {
            return Page(methods: [.get, .head, .post]) { request, proxy in
                if request.method == .post { return try await openLane(request, proxy, walkers) }
                _ = try AdminParameters(request, known: [])
                return OwnResponse(json: ["lanes": .array(proxy.lanes.all.map { $0.json(proxy) })])
            }
        }
        guard path.hasPrefix(lanePrefix) else { return nil }
        let id = String(path.dropFirst(lanePrefix.count))
        return Page(methods: [.get, .head, .delete]) { request, proxy in
            _ = try AdminParameters(request, known: [])
            guard let lane = request.method == .delete ? proxy.lanes.close(id) : proxy.lanes.lane(id) else {
                throw Problem.nothingThere(path)
            }
            return OwnResponse(json: lane.json(proxy))
        }
    }

    /// The one answer that has the token: to whoever may change things here.
    private static func openLane(
        _ request: OwnRequest, _ proxy: Proxy, _ walkers: WorkerPool
    ) async throws -> OwnResponse {
        let parameters = try AdminParameters(request, known: ["name", "tunnel", "offline"])
        func flag(_ name: String) throws -> Bool {
            try parameters.choice(name, of: ["true", "false"], default: "false") == "true"
        }
        var options = Lane.Options()
        options.name = String((parameters.text("name") ?? "").prefix(80))
        options.opensAll = try !flag("tunnel")
        options.isOffline = try flag("offline")
        let now = proxy.now
        if options.opensAll { _ = try await walkers.run { try proxy.interception.makeAuthority(now: now) } }
        let lane = proxy.lanes.open(options, at: now)
        return OwnResponse(json: ["id": .string(lane.id), "user": .string("\(Lane.userPrefix)\(lane.token)")])
    }
}

extension Lane {
    fileprivate func json(_ proxy: Proxy) -> JSONValue {
        let counts = counts
        var outcomes = JSONObject()
        for kind in LoopCounters.Kind.allCases where kind != .own {
            outcomes["\(kind)"] = .integer(counts.value(kind))
        }
        let reasons = counts.uncacheable.sorted { ($1.value.requests, $0.key) < ($0.value.requests, $1.key) }
        return [
            "id": .string(id), "name": .string(options.name), "opensAll": .bool(options.opensAll),
            "offline": .bool(options.isOffline), "began": .time(began), "last": .time(counts.last),
            "requests": .integer(counts.requests), "hits": .integer(counts.hits), "missed": .integer(counts.missed),
            "outcomes": .object(outcomes),
            "bytes": ["sent": .integer(counts.sent), "saved": .integer(counts.saved)],
            "secondsSaved": .seconds(counts.timeSaved),
            "uncacheable": .array(
                reasons.map { reason, line in
                    [
                        "reason": .string(reason), "requests": .integer(line.requests),
                        "example": .string(line.example),
                    ]
                }),
            "tunnels": .array(
                counts.tunnels.lines.prefix(InterceptionReport.limit).map { line in
                    [
                        "host": .string("\(line.authority)"), "requests": .integer(line.requests),
                        "bytes": .integer(line.octets), "reason": .string(line.reason.rawValue),
                        "why": .string(line.reason.words),
                    ]
                }),
        ]
    }
}
