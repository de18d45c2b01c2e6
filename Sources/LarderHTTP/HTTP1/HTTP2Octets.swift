// SPDX-License-Identifier: Apache-2.0

/// The bytes by which HTTP/2 is recognised, and refused (RFC 9113).
package enum HTTP2Octets {
    /// True if the bytes begin as a client does that knows beforehand that the server speaks HTTP/2 (§3.4).
    package static func isPreface(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: "PRI * HTTP/2.0\r\n".utf8)
    }

    /// True if the bytes begin with a server's first frame: SETTINGS for the whole connection, in entries of six bytes
    /// (§3.4, §6.5).
    package static func areSettings(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= 9, bytes[0] == 0, bytes[3] == 4, bytes[4] & 1 == 0 else { return false }
        let length = Int(bytes[1]) << 8 | Int(bytes[2])
        return length.isMultiple(of: 6) && bytes[5..<9].allSatisfy { $0 == 0 }
    }

    /// The frames by which a server asks for HTTP/1.1 instead: empty SETTINGS, and GOAWAY with the code
    /// HTTP_1_1_REQUIRED and a text for people (§6.8, §7).
    package static let refusal: [UInt8] = {
        let text = Array("Larder speaks HTTP/1.1 with its clients, not HTTP/2".utf8)
        let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
        let goAway: [UInt8] = [0, 0, UInt8(8 + text.count), 7, 0, 0, 0, 0, 0] + [0, 0, 0, 0] + [0, 0, 0, 13]
        return settings + goAway + text
    }()
}
