// SPDX-License-Identifier: Apache-2.0

/// A number of bytes. In text it carries its unit: `64 KiB`, `10 GiB`.
package struct ByteCount: Hashable, Comparable, Sendable {
    package var bytes: Int

    package init(_ bytes: Int) { self.bytes = bytes }

    package static func kibibytes(_ count: Int) -> ByteCount { ByteCount(count << 10) }
    package static func mebibytes(_ count: Int) -> ByteCount { ByteCount(count << 20) }
    package static func gibibytes(_ count: Int) -> ByteCount { ByteCount(count << 30) }
    package static func tebibytes(_ count: Int) -> ByteCount { ByteCount(count << 40) }

    package static func < (a: ByteCount, b: ByteCount) -> Bool { a.bytes < b.bytes }
}

extension ByteCount: CustomStringConvertible {
    /// In the largest binary unit that divides it.
    package var description: String {
        guard bytes != 0 else { return "0" }
        for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] where bytes % (1 << shift) == 0 {
            return "\(bytes >> shift) \(unit)"
        }
        return "\(bytes) B"
    }
}
