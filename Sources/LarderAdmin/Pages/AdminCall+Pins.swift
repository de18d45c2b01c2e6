// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy
import LarderRules
import LarderStores

/// `/-/pins`: the resources whose stored responses are kept from eviction.
extension AdminCall {
    /// How many resources can be pinned: each is known in memory and passed by whenever room is made.
    private static let pinLimit = 100_000
    /// The share of the disk that pins may take: the other half is for what comes and goes.
    private static let pinShare: Int64 = 2

    func pins() async throws -> OwnResponse {
        let limit = try parameters.number("limit", in: 1...AdminCall.pinLimit, default: 1_000)
        let filter = try filter()
        let store = try store()
        let all = try await AdminCall.pins(in: store)
        let chosen = all.filter { filter.accepts($0.key) }.sorted { $0.key.url < $1.key.url }
        return OwnResponse(json: [
            "pins": .array(
                chosen.prefix(limit).map { pin in
                    var object: JSONObject = [
                        "url": .string(pin.key.url), "service": .string(pin.key.service),
                    ]
                    if !pin.key.partition.isEmpty { object["partition"] = .string(pin.key.partition) }
                    object["variants"] = .integer(pin.variants)
                    object["bytes"] = .integer(pin.bytes)
                    return .object(object)
                }),
            "total": .integer(chosen.count), "pinnedBytes": .integer(all.reduce(0) { $0 + $1.cost }),
            "limitBytes": .integer(store.statistics.limit / AdminCall.pinShare),
        ])
    }

    func pin() async throws -> OwnResponse {
        _ = try parameters.required("match")
        let filter = try filter()
        let store = try store()
        let pinned = try await AdminCall.pins(in: store)
        // The list contains committed rows only.
        await store.flush()
        var found: [EntityKey: Int64] = [:]
        var row: Int64?
        while true {
            let page = try await store.list(after: row, limit: 500, where: filter.match)
            for line in page { found[line.key, default: 0] += PinListing.cost(ofVariants: 1, bytes: line.length) }
            guard found.count <= AdminCall.pinLimit else { throw Problem.tooManyPins(AdminCall.pinLimit) }
            guard page.count == 500 else { break }
            row = page.last?.row
        }
        let others = pinned.filter { found[$0.key] == nil }
        let limit = store.statistics.limit / AdminCall.pinShare
        let (old, new) = (others.reduce(0) { $0 + $1.cost }, found.values.reduce(0, +))
        guard others.count + found.count <= AdminCall.pinLimit else { throw Problem.tooManyPins(AdminCall.pinLimit) }
        guard old + new <= limit else { throw Problem.tooMuchPinned(new, beside: old, limit: limit) }
        guard await store.pin(Array(found.keys)) else { throw Problem.pinsNotWritten }
        return OwnResponse(json: [
            "pinned": .integer(found.count), "bytes": .integer(new), "pinnedBytes": .integer(old + new),
            "limitBytes": .integer(limit),
        ])
    }

    func unpin() async throws -> OwnResponse {
        _ = try parameters.required("match")
        let filter = try filter()
        let store = try store()
        let keys = try await AdminCall.pins(in: store).map(\.key).filter { filter.accepts($0) }
        guard await store.unpin(keys) else { throw Problem.pinsNotWritten }
        return OwnResponse(json: ["unpinned": .integer(keys.count)])
    }

    private func store() throws(Problem) -> SQLiteStore {
        guard let store = proxy.diskTier?.store else { throw .nothingOnDisk }
        return store
    }

    private static func pins(in store: SQLiteStore) async throws(Problem) -> [PinListing] {
        guard let pins = await store.pins() else { throw .pinsNotRead }
        return pins
    }
}

extension PinListing {
    /// The bytes on disk, with what a row takes beside its content.
    fileprivate var cost: Int64 { PinListing.cost(ofVariants: variants, bytes: bytes) }

    fileprivate static func cost(ofVariants variants: Int, bytes: Int64) -> Int64 { bytes + Int64(variants) * 1_024 }
}

extension Problem {
    fileprivate static func tooManyPins(_ limit: Int) -> Problem {
        Problem(
            status: 409, title: "Too many pins", proxyError: .proxyInternalResponse,
            detail: "More than \(limit) resources would be pinned.", advice: "Pin with a narrower pattern.")
    }

    fileprivate static func tooMuchPinned(_ octets: Int64, beside old: Int64, limit: Int64) -> Problem {
        Problem(
            status: 409, title: "Too much pinned", proxyError: .proxyInternalResponse,
            detail: "These resources have \(octets) octets; with \(old) that are pinned already, that is more than "
                + "\(limit), half of the disk's limit.",
            advice: "Pin with a narrower pattern, unpin something, or raise `cache.disk`.")
    }

    fileprivate static let pinsNotWritten = Problem(
        status: 503, title: "Not written", proxyError: .proxyInternalError,
        detail: "The disk cannot be written now, so nothing has changed.", advice: "See `larder status`.")

    fileprivate static let pinsNotRead = Problem(
        status: 503, title: "Not read", proxyError: .proxyInternalError,
        detail: "The disk cannot be read now.", advice: "See `larder status`.")
}
