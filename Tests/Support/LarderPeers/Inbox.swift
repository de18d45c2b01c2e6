// SPDX-License-Identifier: Apache-2.0

/// The octets that one end of a connection has received and the test has not read yet.
package struct Inbox: Sendable {
    /// How a connection ended, as seen from here.
    package enum End: Sendable, Equatable {
        /// The peer ended its side.
        case closed
        /// The connection broke.
        case reset
    }

    private var octets: [UInt8] = []
    private var start = 0
    /// Set once nothing more can arrive.
    package internal(set) var end: End?

    package var count: Int { octets.count - start }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        if start > 1 << 20, start > octets.count / 2 {
            octets.removeFirst(start)
            start = 0
        }
        octets.append(contentsOf: bytes)
    }

    /// Takes up to `limit` octets, or all available ones.
    package mutating func take(_ limit: Int = .max) -> [UInt8] {
        let taken = min(count, limit)
        defer { start += taken }
        return Array(octets[start..<start + taken])
    }

    /// Takes exactly `count` octets; nil while there are fewer.
    package mutating func take(exactly count: Int) -> [UInt8]? { self.count >= count ? take(count) : nil }

    /// Takes everything up to and including the first `mark`; nil while it has not arrived.
    package mutating func take(through mark: [UInt8]) -> [UInt8]? {
        guard let last = mark.last, count >= mark.count else { return nil }
        var position = start + mark.count - 1
        while position < octets.count {
            if octets[position] == last, octets[(position - mark.count + 1)...position].elementsEqual(mark) {
                return take(position + 1 - start)
            }
            position += 1
        }
        return nil
    }

    /// The beginning of the content, for messages about it.
    var excerpt: String {
        let text = String(decoding: octets[start..<min(octets.count, start + 300)], as: UTF8.self)
        return "\(count) octets \(text.debugDescription)" + (end.map { ", then \($0)" } ?? "")
    }
}
