// SPDX-License-Identifier: Apache-2.0

/// Numbers that were read from a database may be anything: a disk, or somebody with an editor, may have altered them.
/// Where they are not guarded by a seal they are held to what this store can have written.
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

/// What rows of a sound database are numbered by and count.
enum StoredNumber {
    /// Rows are numbered upward from 1, and nobody writes so many.
    static let rows: ClosedRange<Int64> = 1...1 << 62
    /// The entities that share content.
    static let users: ClosedRange<Int64> = 1...1 << 40
    /// The octets of content.
    static let lengths: ClosedRange<Int64> = 0...1 << 50
}
