// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules

/// Formats the events of a stream: each is an `id` and JSON data.
///
/// The data has a member for the event's name instead of a field `event`: browsers would interpret `event: error` as a
/// failure of the stream.
struct EventWording: EventText {
    /// The subject of the stream.
    enum About: Sendable {
        case url(String)
        case pattern(String?, ResourceFilter)
        /// Requests only.
        case requests(String?)
    }

    let about: About
    /// Streams end before it does.
    let proxy: Proxy
    let walkers: WorkerPool

    init(about: About, in proxy: Proxy, walkers: WorkerPool) {
        self.about = about
        self.proxy = proxy
        self.walkers = walkers
    }

    /// The most resources in a snapshot of many.
    static let limit = 1_000

    func event(_ change: ResourceChange, withContent: Bool, now: Timestamp) -> [UInt8] {
        let event: ResourceEvent
        switch change.what {
        case .event(let happened): event = happened
        case .progress(let fraction, let load): return EventWording.progress(fraction, of: load, change)
        }
        var data: JSONObject = ["event": .string(event.name)]
        if case .newData(let source) = event { data["source"] = .string(source.rawValue) }
        describe(change, withContent: withContent, now: now, in: &data)
        return EventWording.octets(id: change.sequence, data)
    }

    /// It has no `id` either: missed ones are in `/-/requests`.
    func event(_ note: RequestNote) -> [UInt8] {
        var data: JSONObject = ["event": "request"]
        for name in note.object.names { data[name] = note.object[name] }
        return EventWording.octets(id: nil, data)
    }

    /// It has no `id`, as missing one does not matter.
    private static func progress(_ fraction: Double, of load: ActiveLoad, _ change: ResourceChange) -> [UInt8] {
        var data: JSONObject = [
            "event": "progress", "url": .string(change.key.url), "service": .string(change.service),
        ]
        if !change.key.partitionName.isEmpty { data["partition"] = .string(change.key.partitionName) }
        data["progress"] = .decimal(fraction, places: 3)
        data["bytes"] = .integer(load.received)
        data["started"] = .time(load.startedAt)
        return octets(id: nil, data)
    }

    var farewell: [UInt8] { EventWording.octets(id: nil, ["event": "stoppedObserving"]) }

    func snapshot(of subject: EventSubject, _ resource: Resource?, in proxy: Proxy) async -> EventSnapshot {
        let begun = proxy.registry.feed.last
        let now = proxy.now
        var words = Words()
        if let moment = resource?.memory.moment {
            var data: JSONObject = ["event": "observerAdded"]
            describe(moment, withContent: subject.hasContent, now: now, in: &data)
            words.octets = EventWording.octets(id: moment.sequence, data)
            words.sequences = [moment.key: moment.sequence]
        } else if case .requests(let match) = about {
            words.octets = EventWording.octets(
                id: begun, ["event": "observerAdded", "match": .string(match ?? "**"), "resources": []])
        } else if case .pattern(let match, let filter) = about {
            // Describing many resources on the loop would delay its other clients.
            let all = try? await walkers.run {
                describe(moments(of: filter), match, withContent: subject.hasContent, from: begun, now: now)
            }
            words = all ?? describe(nil, match, withContent: subject.hasContent, from: begun, now: now)
        }
        return EventSnapshot(
            words.octets, begun: begun, complete: proxy.registry.feed.last, sequences: words.sequences, at: now)
    }

    /// The text of a snapshot's event, and the sequences of its resources.
    private struct Words: Sendable {
        var octets: [UInt8] = []
        var sequences: [ResourceKey: UInt64] = [:]
    }

    /// The resources in memory that `filter` accepts and that have a state to report, one more than a snapshot contains
    /// when there are too many.
    private func moments(of filter: ResourceFilter) -> [ResourceChange] {
        var found: [ResourceChange] = []
        proxy.registry.forEach { resource in
            guard found.count <= EventWording.limit, filter.accepts(resource.url, service: resource.service.name),
                let moment = resource.memory.moment, !moment.isBlank
            else { return }
            found.append(moment)
        }
        return found
    }

    /// - Parameter found: nil when too many searches are under way.
    private func describe(
        _ found: [ResourceChange]?, _ match: String?, withContent: Bool, from begun: UInt64, now: Timestamp
    ) -> Words {
        let moments = found ?? []
        var data: JSONObject = ["event": "observerAdded", "match": .string(match ?? "**")]
        data["isComplete"] = .bool(found.map { $0.count <= EventWording.limit } ?? false)
        data["resources"] = .array(
            moments.prefix(EventWording.limit).map { moment in
                var entry = JSONObject()
                describe(moment, withContent: withContent, now: now, in: &entry)
                return .object(entry)
            })
        return Words(
            octets: EventWording.octets(id: begun, data),
            sequences: moments.reduce(into: [:]) { $0[$1.key] = $1.sequence })
    }

    private func describe(
        _ change: ResourceChange, withContent: Bool, now: Timestamp, in data: inout JSONObject
    ) {
        data["url"] = .string(change.key.url)
        data["service"] = .string(change.service)
        if !change.key.partitionName.isEmpty { data["partition"] = .string(change.key.partitionName) }
        data["sequence"] = .integer(change.sequence)
        // A client with read access must not see other users' content.
        let withContent = withContent && change.key.partitionName.isEmpty
        data["state"] = .object(StateReport(change, in: proxy, now: now).json(withContent: withContent))
    }

    private static func octets(id: UInt64?, _ data: JSONObject) -> [UInt8] {
        // JSON text contains no line ends.
        var text = id.map { "id: \($0)\n" } ?? ""
        text += "data: \(JSONValue.object(data))\n\n"
        return Array(text.utf8)
    }
}

extension ResourceChange {
    /// True if the resource has no variants, failure, loads or unstored response.
    var isBlank: Bool { snapshot.variants.isEmpty && snapshot.failure == nil && loads.isEmpty && unstored == nil }
}

extension RequestNote {
    var json: JSONValue { .object(object) }

    var object: JSONObject {
        [
            "number": .integer(number), "at": .time(at), "method": .string(method), "url": .string(shownURL),
            "service": .string(service), "client": .string(client), "user": user.map { .string($0) } ?? .null,
            "status": .integer(status),
            "outcome": .string("\(kind)"), "reason": .string(reason),
            "cacheStatus": cacheStatus.map { .string($0.member()) } ?? .null,
            "problem": problem.map { .string($0) } ?? .null, "bytes": .integer(bytes),
            "seconds": .decimal(Double(nanoseconds) / 1e9, places: 6),
        ]
    }
}
