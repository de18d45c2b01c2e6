// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The path of a link in content, read a byte at a time, and over several chunks: its end, and whether it has dot
/// segments (RFC 3986 §3.3), also with percent-encoded dots.
struct LinkPath {
    /// The position behind the bytes that were read.
    private(set) var end: Int
    private let isEscaped: Bool
    /// Dots of the current segment; `other` if it has anything else.
    private var dots = 0
    /// How much of `%2e` was read.
    private var triplet = 0
    private var hasEarlier = false

    private static let other = 3

    /// - Parameters:
    ///   - start: the position of the path's first byte.
    ///   - isEscaped: true if the path's slashes have backslashes before them, as in some JSON.
    init(at start: Int, isEscaped: Bool) {
        end = start
        self.isEscaped = isEscaped
    }

    /// True if one of the segments read so far is `.` or `..`.
    var hasDotSegments: Bool { hasEarlier || endsInDots }

    private var endsInDots: Bool { triplet == 0 && (dots == 1 || dots == 2) }

    /// Reads on from `end`, up to the path's end or to `limit`. True if the text ends first, so that the path may go on.
    mutating func read(_ text: CheckedOctets, to limit: Int) -> Bool {
        while end < limit {
            guard end < text.count else { return true }
            var octet = text[end]
            if LinkPath.isEnd(octet) { return false }
            if octet == UInt8(ascii: "\\") {
                guard isEscaped else { return false }
                guard end + 1 < text.count else { return true }
                guard text[end + 1] == UInt8(ascii: "/") else { return false }
                end += 1
                octet = UInt8(ascii: "/")
            }
            end += 1
            note(octet)
        }
        return false
    }

    /// The text begins at another position now, that much further behind.
    mutating func move(by distance: Int) { end += distance }

    private mutating func note(_ octet: UInt8) {
        switch (octet, triplet) {
        case (UInt8(ascii: "/"), _):
            hasEarlier = hasDotSegments
            dots = 0
            triplet = 0
        case (UInt8(ascii: "."), 0): dots = min(dots + 1, LinkPath.other)
        case (UInt8(ascii: "%"), 0): triplet = 1
        case (UInt8(ascii: "2"), 1): triplet = 2
        case (UInt8(ascii: "e"), 2), (UInt8(ascii: "E"), 2):
            triplet = 0
            dots = min(dots + 1, LinkPath.other)
        default:
            triplet = 0
            dots = LinkPath.other
        }
    }

    /// True if a path ends before this byte: at the end of its URL, or at the query.
    private static func isEnd(_ octet: UInt8) -> Bool {
        switch octet {
        case 0...0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "`"):
            true
        default: false
        }
    }
}
