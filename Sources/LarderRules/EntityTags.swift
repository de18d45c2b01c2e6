// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Comparison of entity tags as octets (RFC 9110 §8.8.3).
///
/// Tags that are not in the grammar, say without quotes, are opaque too: equal when all octets are equal, and
/// nothing is ever added to or taken from them.
package enum EntityTags {
    /// Whether the tag is marked as weak. Only `W/` before a quote marks one.
    package static func isWeak(_ tag: some Collection<UInt8>) -> Bool { tag.starts(with: [0x57, 0x2F, 0x22]) }

    /// Whether the tag follows the grammar and is not weak: what combining parts relies on.
    package static func isStrong(_ tag: some BidirectionalCollection<UInt8>) -> Bool {
        tag.count >= 2 && tag.first == 0x22 && tag.last == 0x22 && !tag.dropFirst().dropLast().contains(0x22)
    }

    /// Strong comparison: equal, and neither is weak.
    package static func stronglyEqual(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        !isWeak(a) && a.elementsEqual(b)
    }

    /// Weak comparison: equal but for the mark of weakness.
    package static func weaklyEqual(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        a.dropFirst(isWeak(a) ? 2 : 0).elementsEqual(b.dropFirst(isWeak(b) ? 2 : 0))
    }

    /// Calls `body` with each member of an `If-Match` or `If-None-Match` line, as it stands. Commas in quotes belong
    /// to the tag.
    static func forEachMember(of line: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void) {
        var index = 0
        while index < line.count {
            if ASCII.isBlank(line[index]) || line[index] == 0x2C {
                index += 1
                continue
            }
            let start = index
            var isQuoted = false
            while index < line.count, isQuoted || line[index] != 0x2C {
                if line[index] == 0x22 { isQuoted.toggle() }
                index += 1
            }
            body(ASCII.trimmed(UnsafeRawBufferPointer(rebasing: line[start..<index])))
        }
    }
}
