// SPDX-License-Identifier: Apache-2.0

/// How the end of a message's content is known (RFC 9112 §6).
///
/// Everything that two recipients could frame differently is refused: a length beside a transfer coding, repeated
/// lengths even when they agree, lists, signs, and any transfer coding but a single, final `chunked`.
package enum BodyFraming: Hashable, Sendable {
    /// There is no content, and no field says so.
    case none
    case length(UInt64)
    case chunked
    /// Content ends where the connection does; in responses only.
    case untilClose

    /// The framing of a request (RFC 9112 §6.3).
    package init(request head: RequestHead) throws(ParseError) {
        let isChunked = try BodyFraming.isChunked(head.fields, head.version)
        let length = try BodyFraming.contentLength(head.fields)
        if isChunked && length != nil { throw ParseError(.lengthAndTransferCoding) }
        if head.method == .connect, isChunked || (length ?? 0) > 0 { throw ParseError(.contentInConnect) }
        self = isChunked ? .chunked : length.map { .length($0) } ?? .none
    }

    /// The framing of a response to a request with `method` (RFC 9112 §6.3).
    ///
    /// Responses that have no content by definition are framed without content regardless of their fields; 205 is among
    /// them (RFC 9110 §15.3.6). If an origin sends content anyway, it appears as excess bytes on the connection.
    package init(response head: ResponseHead, to method: Method) throws(ParseError) {
        if method == .connect && head.status.isSuccess {
            self = .none
            return
        }
        let isChunked = try BodyFraming.isChunked(head.fields, head.version)
        let length = try BodyFraming.contentLength(head.fields)
        if isChunked && length != nil { throw ParseError(.lengthAndTransferCoding) }
        if method == .head || head.status.isSentEmpty {
            self = .none
        } else if isChunked {
            self = .chunked
        } else {
            self = length.map { .length($0) } ?? .untilClose
        }
    }

    /// The value of `Content-Length`: one line of digits, nothing else (RFC 9110 §8.6); nil when absent. In the
    /// response to HEAD and in 304 it announces a length without being the framing.
    package static func contentLength(_ fields: Fields) throws(ParseError) -> UInt64? {
        guard let parsed = fields.withFirst(.contentLength, digits) else { return nil }
        guard fields.count(of: .contentLength) == 1 else { throw ParseError(.severalLengths) }
        return try parsed.get()
    }

    private static func digits(_ value: UnsafeRawBufferPointer) -> Result<UInt64, ParseError> {
        guard !value.isEmpty else { return .failure(ParseError(.malformedLength)) }
        var length: UInt64 = 0
        for octet in value {
            guard ASCII.isDigit(octet) else { return .failure(ParseError(.malformedLength)) }
            let (product, overflow) = length.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(octet - 0x30))
            // Half of the range, so that a length is an Int everywhere.
            guard !overflow, !carry, sum <= UInt64(Int.max) else { return .failure(ParseError(.lengthTooLarge)) }
            length = sum
        }
        return .success(length)
    }

    /// True if `Transfer-Encoding` is exactly `chunked`; false when it is absent.
    private static func isChunked(_ fields: Fields, _ version: HTTPVersion) throws(ParseError) -> Bool {
        guard fields.contains(.transferEncoding) else { return false }
        guard version == .http11 else { throw ParseError(.transferCodingInHTTP10) }
        let isPlain = fields.withFirst(.transferEncoding) { isChunkedName($0) } ?? false
        if isPlain, fields.count(of: .transferEncoding) == 1 { return true }
        throw ParseError(transferCodingFault(fields))
    }

    /// Why codings are not a single `chunked` (RFC 9112 §6.1, §6.3).
    private static func transferCodingFault(_ fields: Fields) -> ParseError.Code {
        var codings = 0
        var chunked = 0
        var isLastChunked = false
        var areTokens = true
        let isWellFormed = fields.forEachElement(of: .transferEncoding) { element in
            codings += 1
            isLastChunked = isChunkedName(element)
            if isLastChunked { chunked += 1 }
            let name = UnsafeRawBufferPointer(rebasing: element.prefix { $0 != 0x3B && !ASCII.isBlank($0) })
            let isChunkedWithMore = isChunkedName(name) && name.count != element.count
            if !Token.isToken(name) || isChunkedWithMore { areTokens = false }
        }
        guard isWellFormed, areTokens, codings > 0 else { return .malformedTransferCoding }
        guard isLastChunked, chunked == 1 else { return .chunkedNotFinal }
        // `chunked,` has an empty element beside it: legal for recipients of lists, but implementations differ.
        return codings == 1 ? .malformedTransferCoding : .unknownTransferCoding
    }

    private static func isChunkedName(_ element: UnsafeRawBufferPointer) -> Bool {
        "chunked".utf8.elementsEqual(element.lazy.map(ASCII.lowercased))
    }
}
