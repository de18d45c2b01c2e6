// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The content of a 206 response with several parts (RFC 9110 §14.6): the bytes around each range.
package struct MultipartPlan: Sendable, Hashable {
    package struct Part: Sendable, Hashable {
        /// Delimiter and header section, to be written before the bytes of `range`.
        package let head: [UInt8]
        package let range: ByteRange
    }

    /// The value of `Content-Type`.
    package let contentType: String
    package let parts: [Part]
    /// The closing delimiter.
    package let end: [UInt8]
    /// The length of the whole content in bytes.
    package let contentLength: Int64

    /// - Parameter contentType: the `Content-Type` of the representation, if it has one.
    /// - Parameter boundary: a token that does not occur in the content; long and random is enough.
    package init(_ ranges: [ByteRange], completeLength: Int64, contentType: [UInt8]?, boundary: String) {
        let parts = ranges.enumerated().map { index, range in
            var head = Array("\(index == 0 ? "" : "\r\n")--\(boundary)\r\n".utf8)
            if let contentType { head += Array("Content-Type: ".utf8) + contentType + [0x0D, 0x0A] }
            head += Array("Content-Range: \(ContentRange.range(range, completeLength: completeLength))\r\n\r\n".utf8)
            return Part(head: head, range: range)
        }
        self.parts = parts
        self.contentType = "multipart/byteranges; boundary=\(boundary)"
        end = Array("\r\n--\(boundary)--\r\n".utf8)
        contentLength = parts.reduce(Int64(end.count)) { $0 + Int64($1.head.count) + $1.range.count }
    }
}
