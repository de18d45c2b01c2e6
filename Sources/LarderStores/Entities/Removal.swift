// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The removal of many entities, which takes several transactions. Until it is done, it hides those entities from
/// readers, as far as they existed before it.
// @unchecked: mutable state is accessed only with the lock of the `WriteQueue` held, or, `cursor`, by the writer.
final class Removal: @unchecked Sendable {
    /// The position of the next slice.
    struct Cursor {
        /// The last row that was examined.
        var row: Int64 = 0
        /// The label whose rows are examined.
        var label = 0
        /// True once the cursor is among the rows of versions.
        var isAmongVersions = false
    }

    /// Selects entities by their keys.
    private(set) var match: EntityMatch
    /// Selects entities that have one of these labels. If empty, all entities that `match` accepts.
    let labels: [EntityLabel]
    let reason: RemovalReason
    /// The parts of the store that a wide removal empties; nil for others.
    private(set) var areas: Set<EntityArea>?
    /// True if the writer has it: operations accepted now may be beyond it.
    var isTaken = false
    /// The last row that was written before; `Int64.max` until it begins.
    let lastID = Atomic<Int64>(.max)
    var removed = 0
    var cursor = Cursor()
    /// The caller that waits for the end; nil if it cannot be done now.
    var continuation: UnsafeContinuation<Int, Never>?

    init(
        match: EntityMatch, labels: [EntityLabel] = [], reason: RemovalReason,
        continuation: UnsafeContinuation<Int, Never>? = nil
    ) {
        self.match = match
        self.labels = labels.isEmpty ? [match.label].compactMap(\.self) : labels
        self.reason = reason
        self.continuation = continuation
    }

    /// A wide removal: it empties the area of `removal`, regardless of the labels of the entities.
    init(widening removal: Removal) {
        match = EntityMatch()
        labels = []
        reason = removal.reason
        areas = []
        widen(by: removal)
    }

    /// The most areas of a wide removal. With more of them, the origins are no longer told apart.
    static let areaLimit = 1_000

    /// Makes a wide removal, which has not been taken, empty the area of another as well.
    func widen(by removal: Removal) {
        var areas = (areas ?? []).union([EntityArea(of: removal.match)])
        if areas.count > Removal.areaLimit { areas = Set(areas.map { EntityArea(stage: $0.stage) }) }
        self.areas = areas
        match.predicate = { [areas] key in EntityArea.all(of: key).contains(where: areas.contains) }
    }

    /// True if `other` certainly selects no entity that this one leaves, but for labels.
    func isFor(_ other: Removal) -> Bool { reason == other.reason && match.isSame(as: other.match) }
}

/// A part of the store: the entities of an origin, the entities of one stage of an origin, or all entities.
struct EntityArea: Hashable {
    var service: String?
    var stage: String?
    /// A URL up to the third slash; nil for all origins.
    var origin: String?

    init(service: String? = nil, stage: String?, origin: String? = nil) {
        self.service = service
        self.stage = stage
        self.origin = origin
    }

    /// The smallest area that contains the entities which `match` accepts.
    init(of match: EntityMatch) {
        self.init(service: match.service, stage: match.stage, origin: match.urlPrefix.flatMap(Self.origin))
    }

    /// Nil if the text ends before an origin does.
    private static func origin(of url: String) -> String? {
        var slashes = 0
        let end = url.utf8.firstIndex { octet in
            if octet == UInt8(ascii: "/") { slashes += 1 }
            return slashes == 3
        }
        return end.map { String(url[..<$0]) }
    }

    /// The areas that contain the entities of a key.
    static func all(of key: EntityKey) -> [EntityArea] {
        let origin = origin(of: key.url)
        return [nil, key.service].flatMap { service in
            [nil, key.stage].flatMap { stage in
                (origin == nil ? [nil] : [nil, origin]).map { EntityArea(service: service, stage: stage, origin: $0) }
            }
        }
    }
}
