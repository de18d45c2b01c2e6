// SPDX-License-Identifier: Apache-2.0

/// A message between a daemon and its jq workers: a kind, a length of eight bytes, and as many bytes.
struct JQFrame: Equatable {
    enum Kind: UInt8 {
        /// To the worker: the program. From it: it is ready.
        case program = 1
        /// JSON, either way.
        case value
        /// From the worker: the program gave no result.
        case nothing
        /// From the worker: an error message.
        case failure
    }

    var kind: Kind
    var octets: [UInt8] = []

    static let headSize = 9

    /// The encoded frame.
    var encoded: [UInt8] {
        var result = [kind.rawValue]
        result.reserveCapacity(JQFrame.headSize + octets.count)
        for shift in stride(from: 0, to: 64, by: 8) { result.append(UInt8(truncatingIfNeeded: octets.count >> shift)) }
        return result + octets
    }

    /// The number of bytes that follow a head; nil while the head is incomplete, or if it is invalid.
    static func length(_ head: [UInt8]) -> Int? {
        guard head.count >= headSize, Kind(rawValue: head[0]) != nil else { return nil }
        let length = head[1..<headSize].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Int(exactly: length)
    }

    /// True if `octets` is a complete frame.
    static func isWhole(_ octets: [UInt8]) -> Bool { length(octets).map { octets.count - headSize >= $0 } ?? false }

    init(_ kind: Kind, _ octets: [UInt8] = []) {
        self.kind = kind
        self.octets = octets
    }

    /// Parses a complete frame; nil when it is invalid.
    init?(_ encoded: [UInt8]) {
        guard let length = JQFrame.length(encoded), encoded.count - JQFrame.headSize == length,
            let kind = Kind(rawValue: encoded[0])
        else { return nil }
        self.init(kind, Array(encoded[JQFrame.headSize...]))
    }
}
