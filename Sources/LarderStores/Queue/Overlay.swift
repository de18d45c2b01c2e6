// SPDX-License-Identifier: Apache-2.0

/// The uncommitted operations on a key: applied to its rows in the database, they make a reader's view.
struct Overlay: Sendable {
    var operations: [Operation.Change] = []
    /// Removals of many entities that match the key: up to which row; nil for all that are committed.
    var hiddenThrough: [Int64?] = []
    /// The same for removals by label, which hide only rows with that label.
    var hiddenLabels: [(label: EntityLabel, through: Int64?)] = []

    var isEmpty: Bool { operations.isEmpty && hiddenThrough.isEmpty && hiddenLabels.isEmpty }

    /// Whether the rows in the database do not matter.
    var hidesRows: Bool {
        hiddenThrough.contains { $0 == nil }
            || operations.contains { if case .remove(variant: nil, _, _) = $0 { true } else { false } }
    }

    func hides(row: Int64) -> Bool {
        hiddenThrough.contains { last in last.map { row <= $0 } ?? true }
    }

    /// The records that a reader sees, given those of the visible rows, latest first.
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
