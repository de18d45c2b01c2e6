// SPDX-License-Identifier: Apache-2.0

/// The content codings that can be undone and applied, by the names they have in `Content-Encoding` and
/// `Accept-Encoding` (RFC 9110 §8.4.1).
package enum ContentCoding: String, Sendable, Hashable, CaseIterable {
    /// RFC 1952. What comes may consist of several members.
    case gzip
    /// The zlib format of RFC 1950. What comes without its header, as some origins send it, is understood too.
    case deflate
    /// RFC 7932.
    case br
    /// RFC 8878, with the window of at most 8 MiB that RFC 9659 allows on the web.
    case zstd

    /// Finds a coding by its name, whatever the case; `x-gzip` is `gzip` (RFC 9110 §8.4.1.3). Nil for `identity`
    /// and for what is not known.
    package init?(token: some StringProtocol) {
        let name = token.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// The name to send.
    package var token: String { rawValue }

    /// Something that undoes the coding of content that comes in parts, and makes at most `limit` octets of it.
    package func decoder(limit: Int) throws(CodingError) -> ContentDecoder {
        try ContentDecoder(self, limit: limit)
    }

    /// Something that applies the coding to content that comes in parts. Levels are those of the coding's own
    /// library; what lies outside `levels` is moved to the nearest of them.
    package func encoder(level: Int? = nil) throws(CodingError) -> ContentEncoder {
        try ContentEncoder(self, level: level ?? defaultLevel)
    }

    /// Undoes the coding of whole content, and makes at most `limit` octets of it.
    package func decode(_ octets: [UInt8], limit: Int) throws(CodingError) -> [UInt8] {
        let decoder = try decoder(limit: limit)
        var output: [UInt8] = []
        try decoder.decode(octets, into: &output)
        try decoder.finish()
        return output
    }

    /// Applies the coding to whole content.
    package func encode(_ octets: [UInt8], level: Int? = nil) throws(CodingError) -> [UInt8] {
        let encoder = try encoder(level: level)
        var output: [UInt8] = []
        try encoder.encode(octets, into: &output)
        try encoder.finish(into: &output)
        return output
    }

    /// The levels there are: faster first, smaller last.
    package var levels: ClosedRange<Int> {
        switch self {
        case .gzip, .deflate: 1...9
        case .br: 0...11
        case .zstd: 1...19
        }
    }

    /// What is worth its time for content that is coded while someone waits.
    package var defaultLevel: Int {
        switch self {
        case .gzip, .deflate: 6
        case .br: 5
        case .zstd: 3
        }
    }
}

/// Why content cannot be decoded or encoded.
package struct CodingError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable {
        /// The content ends before its coding does.
        case truncated
        /// The content is not in that coding, or was damaged; in the library's words.
        case malformed(String)
        /// Octets follow the end of the coded content.
        case trailingOctets
        /// More octets than the limit came out.
        case tooLarge(limit: Int)
        /// The library could not get what it needs to work.
        case unavailable
    }

    package let coding: ContentCoding
    package let problem: Problem

    package init(_ coding: ContentCoding, _ problem: Problem) {
        self.coding = coding
        self.problem = problem
    }

    package var description: String {
        switch problem {
        case .truncated: "the content ends within its \(coding.token) coding"
        case .malformed(let detail): "the content is not valid \(coding.token): \(detail)"
        case .trailingOctets: "octets follow the end of the \(coding.token) coding"
        case .tooLarge(let limit): "decoding \(coding.token) gives more than the \(limit) octets allowed"
        case .unavailable: "there is no memory to use the \(coding.token) coding"
        }
    }
}
