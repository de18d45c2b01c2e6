// SPDX-License-Identifier: Apache-2.0

/// The content codings that can be decoded and encoded, by their names in `Content-Encoding` and `Accept-Encoding`
/// (RFC 9110 §8.4.1).
package enum ContentCoding: String, Sendable, Hashable, CaseIterable {
    /// RFC 1952. The input of the decoder may consist of several members.
    case gzip
    /// The zlib format of RFC 1950. The decoder also accepts input without its header, as some origins send it.
    case deflate
    /// RFC 7932.
    case br
    /// RFC 8878, with the window of at most 8 MiB that RFC 9659 allows on the web.
    case zstd

    /// Finds a coding by its name, case-insensitively; `x-gzip` is `gzip` (RFC 9110 §8.4.1.3). Nil for `identity` and
    /// for unknown names.
    package init?(token: some StringProtocol) {
        let name = token.lowercased()
        self.init(rawValue: name == "x-gzip" ? "gzip" : name)
    }

    /// The name to send.
    package var token: String { rawValue }

    /// A decoder for content that arrives in parts, with an output of at most `limit` bytes.
    package func decoder(limit: Int) throws(CodingError) -> ContentDecoder {
        try ContentDecoder(self, limit: limit)
    }

    /// An encoder for content that arrives in parts. `level` is a level of the coding's own library; values outside
    /// `levels` are clamped.
    package func encoder(level: Int? = nil) throws(CodingError) -> ContentEncoder {
        try ContentEncoder(self, level: level ?? library.defaultLevel)
    }

    /// Decodes whole content to at most `limit` bytes.
    package func decode(_ octets: [UInt8], limit: Int) throws(CodingError) -> [UInt8] {
        let decoder = try decoder(limit: limit)
        var output: [UInt8] = []
        try decoder.decode(octets, into: &output)
        try decoder.finish()
        return output
    }

    /// Encodes whole content.
    package func encode(_ octets: [UInt8], level: Int? = nil) throws(CodingError) -> [UInt8] {
        let encoder = try encoder(level: level)
        var output: [UInt8] = []
        try encoder.encode(octets, into: &output)
        try encoder.finish(into: &output)
        return output
    }

    /// The library of a coding: its levels, faster first and smaller last, the level for content that is encoded while a
    /// client waits, and its engines, nil if they cannot allocate their resources.
    var library:
        (
            levels: ClosedRange<Int>, defaultLevel: Int, decoding: () -> (any DecodingEngine)?,
            encoding: (_ level: Int32) -> (any EncodingEngine)?
        )
    {
        switch self {
        case .gzip: (1...9, 6, { ZlibDecoding(.gzip) }, { ZlibEncoding(.gzip, level: $0) })
        case .deflate: (1...9, 6, { ZlibDecoding(.deflate) }, { ZlibEncoding(.deflate, level: $0) })
        case .br: (0...11, 5, { BrotliDecoding() }, { BrotliEncoding(level: $0) })
        case .zstd: (1...19, 3, { ZstdDecoding() }, { ZstdEncoding(level: $0) })
        }
    }

    package var levels: ClosedRange<Int> { library.levels }
}

/// Why content cannot be decoded or encoded.
package struct CodingError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable {
        /// The content ends before its coding does.
        case truncated
        /// The content is not in that coding, or was damaged; in the library's words.
        case malformed(String)
        /// Bytes follow the end of the coded content.
        case trailingOctets
        /// The output is longer than the limit.
        case tooLarge(limit: Int)
        /// The library could not allocate its resources.
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
