// SPDX-License-Identifier: Apache-2.0

/// Numbers read from a database may have any value: a disk, or somebody with an editor, may have altered them. Where no
/// seal protects them, they are limited to the range that this store can have written.
extension Int64 {
    /// The sum, or the nearest number there is.
    func adding(saturating other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest number there is.
    func subtracting(saturating other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}

/// The possible row numbers and counts of a sound database.
enum StoredNumber {
    /// Rows are numbered upward from 1, and a store never writes so many.
    static let rows: ClosedRange<Int64> = 1...1 << 62
    /// The entities that share content.
    static let users: ClosedRange<Int64> = 1...1 << 40
    /// The bytes of content.
    static let lengths: ClosedRange<Int64> = 0...1 << 50
}
