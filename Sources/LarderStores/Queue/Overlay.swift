// SPDX-License-Identifier: Apache-2.0
import Synchronization

/// The uncommitted operations on a key: applied to its rows in the database, they make a reader's view.
struct Overlay: Sendable {
    var operations: [Operation.Change] = []
    /// The last rows that removals of many entities hide; `Int64.max` for all committed rows.
    var hiddenThrough: [Int64] = []
    /// Removals by label, which hide only rows with that label. They may not match the key.
    var removals: [EntityLabel: [Removal]] = [:]

    var isEmpty: Bool { operations.isEmpty && hiddenThrough.isEmpty && removals.isEmpty }

    /// True if the rows in the database do not matter.
    var hidesRows: Bool {
        hiddenThrough.contains(.max)
            || operations.contains { if case .remove(variant: nil, _, _) = $0 { true } else { false } }
    }

    func hides(row: Int64) -> Bool {
        hiddenThrough.contains { row <= $0 }
    }

    /// True if a removal hides a row of `key` for one of its labels.
    func hides(row: Int64, of key: EntityKey, with label: EntityLabel) -> Bool {
        guard let removals = removals[label] else { return false }
        return removals.contains { row <= $0.lastID.load(ordering: .relaxed) && $0.match.accepts(key) }
    }

    /// The records that a reader sees, given the records of the visible rows, latest first.
    func applied(to rows: [EntityRecord]) -> [EntityRecord] {
        var records = rows
        for operation in operations {
            switch operation {
            case .write(let record, _):
                records.removeAll { $0.variant == record.variant }
                records.insert(record, at: 0)
            case .updateHead(let update):
                guard
                    let index = records.firstIndex(where: {
                        $0.variant == update.variant && $0.storedAt == update.storedAt
                    })
                else { continue }
                update.apply(to: &records[index])
            case .remove(variant: nil, _, _): records.removeAll()
            case .remove(let variant?, _, let storedAt):
                records.removeAll { $0.variant == variant && $0.storedAt == storedAt ?? $0.storedAt }
            }
        }
        return records.latestFirst
    }
}

extension [EntityRecord] {
    /// By the time of storing; the order of equal times is kept.
    var latestFirst: [EntityRecord] {
        count < 2 ? self : sorted { $0.storedAt > $1.storedAt }
    }
}
