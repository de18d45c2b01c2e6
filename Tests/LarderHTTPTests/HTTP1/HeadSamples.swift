// SPDX-License-Identifier: Apache-2.0

@testable import LarderHTTP

/// How a sample ended: the head and what it consumed, the need for more, or the error.
enum Parsed<Head: Equatable>: Equatable {
    case head(Head, consumed: Int)
    case incomplete
    case refused(ParseError)

    var code: ParseError.Code? {
        if case .refused(let error) = self { error.code } else { nil }
    }

    var head: Head? {
        if case .head(let head, _) = self { head } else { nil }
    }
}

/// Feeds `octets` as a connection would: the buffer grows to each of `cuts` in turn.
func parseRequest(
    _ octets: [UInt8], cuts: some Sequence<Int>, limits: ParseLimits = ParseLimits()
) -> Parsed<RequestHead> {
    var parser = RequestHeadParser(limits: limits)
    var head = RequestHead()
    return feed(octets, cuts: cuts) { bytes throws(ParseError) in
        try parser.parse(bytes.bytes, into: &head)
    } head: {
        head
    }
}

func parseResponse(
    _ octets: [UInt8], cuts: some Sequence<Int>, limits: ParseLimits = ParseLimits()
) -> Parsed<ResponseHead> {
    var parser = ResponseHeadParser(limits: limits)
    var head = ResponseHead()
    return feed(octets, cuts: cuts) { bytes throws(ParseError) in
        try parser.parse(bytes.bytes, into: &head)
    } head: {
        head
    }
}

func parseRequest(_ text: String, limits: ParseLimits = ParseLimits()) -> Parsed<RequestHead> {
    parseRequest(latin1(text), cuts: [text.unicodeScalars.count], limits: limits)
}

func parseResponse(_ text: String, limits: ParseLimits = ParseLimits()) -> Parsed<ResponseHead> {
    parseResponse(latin1(text), cuts: [text.unicodeScalars.count], limits: limits)
}

/// One octet for each scalar, so that samples can hold any octet as `\u{ff}`.
func latin1(_ text: String) -> [UInt8] { text.unicodeScalars.map { UInt8($0.value) } }

private func feed<Head>(
    _ octets: [UInt8], cuts: some Sequence<Int>,
    parse: (UnsafeRawBufferPointer) throws(ParseError) -> HeadParseResult, head: () -> Head
) -> Parsed<Head> {
    for cut in cuts {
        // A copy of its own, so that reading past the end is seen by the address sanitizer.
        let part = Array(octets[..<cut])
        do throws(ParseError) {
            let result = try part.withUnsafeBufferPointer { part throws(ParseError) in
                try parse(UnsafeRawBufferPointer(part))
            }
            if case .complete(let consumed) = result { return .head(head(), consumed: consumed) }
        } catch {
            return .refused(error)
        }
    }
    return .incomplete
}
