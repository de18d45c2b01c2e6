// SPDX-License-Identifier: Apache-2.0

/// The position of eviction among rows, which are numbered in the order of writing, and its current part of them.
///
/// It is the policy of `EvictionQueue` for a store whose rows cannot be moved. The newest tenth of the rows is on
/// probation. The border behind them moves on as rows are written, and evicts each row it passes unless the row's key
/// was used. The rows behind the border are proven; a hand goes round them and does likewise. Rows that come back soon
/// after their eviction from probation are marked as used when they are written.
struct EvictionCursor: Equatable {
    /// Rows beyond this one are on probation.
    var border: Int64 = 0
    /// The hand goes on beyond this row.
    var hand: Int64 = 0

    /// Rows to look at next.
    struct Range: Equatable {
        let isProbation: Bool
        /// The rows from the one after this
        let after: Int64
        /// through this,
        let through: Int64
        /// and no more of them than this.
        let limit: Int
    }

    private static let probationShare: Int64 = 10

    /// - Parameters:
    ///   - entries: how many rows there are.
    ///   - newest: the number of the last one written.
    func next(entries: Int, newest: Int64, atMost limit: Int) -> Range {
        let excess = newest - border - Int64(entries) / EvictionCursor.probationShare
        guard excess > 0 || border <= 0 else {
            return Range(isProbation: false, after: hand, through: border, limit: limit)
        }
        return probation(newest: newest, atMost: min(limit, Int(max(1, excess))))
    }

    /// All that is on probation, for when there is nothing else.
    func probation(newest: Int64, atMost limit: Int) -> Range {
        Range(isProbation: true, after: border, through: newest, limit: limit)
    }

    /// Records that a row was examined.
    mutating func passed(_ row: Int64, of range: Range) {
        if range.isProbation { border = row } else { hand = row }
    }

    /// Records that a range has no more rows than those examined.
    mutating func exhausted(_ range: Range) {
        if range.isProbation { border = max(border, range.through) } else { hand = 0 }
    }
}
