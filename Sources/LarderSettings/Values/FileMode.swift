// SPDX-License-Identifier: Apache-2.0

/// The permissions of a file, as in chmod(2).
package struct FileMode: Sendable, Equatable {
    package let bits: UInt32

    package init(_ bits: UInt32) { self.bits = bits }

    /// In octal, as people write it.
    package var text: String {
        let digits = String(bits, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
