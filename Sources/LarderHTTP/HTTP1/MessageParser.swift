// SPDX-License-Identifier: Apache-2.0

/// The result of a head parser for the bytes so far.
package enum HeadParseResult: Hashable, Sendable {
    /// More is needed; `scanned` bytes have been scanned and will not be again.
    case incomplete(scanned: Int)
    /// The head is complete and used `consumed` bytes from the start of the buffer.
    case complete(consumed: Int)
}

/// Reads request heads from a buffer of bytes (RFC 9112 §2.2, §3, §5).
///
/// Pass the parser one growing buffer, from its first byte, and one `head`, until the head is complete or an error is
/// thrown. The parser is then ready for the next head. Each byte is scanned once. The storage of `head` is reused, so
/// the steady state has no allocations. The value of `head` is undefined until the head is complete.
package struct RequestHeadParser: Sendable {
    package let limits: ParseLimits
    private var lines = LineReader()
    private var fields: FieldSectionParser?

    package init(limits: ParseLimits = ParseLimits()) { self.limits = limits }

    package mutating func parse(
        _ bytes: RawSpan, into head: inout RequestHead
    ) throws(ParseError) -> HeadParseResult {
        do throws(ParseError) {
            guard try advance(bytes, &head) else { return .incomplete(scanned: lines.scanned) }
            if let code = HostCheck.fault(in: head) { throw ParseError(code) }
        } catch {
            reset()
            throw error
        }
        let consumed = lines.start
        reset()
        return .complete(consumed: consumed)
    }

    private mutating func reset() {
        lines = LineReader()
        fields = nil
    }

    private mutating func advance(
        _ bytes: RawSpan, _ head: inout RequestHead
    ) throws(ParseError) -> Bool {
        if fields == nil {
            guard let line = try startLine(bytes) else { return false }
            try StartLine.readRequest(bytes, line, into: &head)
            head.fields.removeAllKeepingCapacity()
            fields = FieldSectionParser(start: lines.start)
        }
        // Holds: set above, when the start line was read.
        return try fields!.parse(
            bytes, lines: &lines, into: &head.fields, size: limits.headerSection, count: limits.fieldLines,
            overflow: .headerSectionTooLarge)
    }

    private mutating func startLine(_ bytes: RawSpan) throws(ParseError) -> Range<Int>? {
        let bound = lines.start &+ limits.startLine
        let start = lines.start
        guard let line = try lines.next(bytes, bound: bound, overflow: RequestHeadParser.overflow(bytes, start)) else {
            return nil
        }
        // One empty line before the request line is ignored (RFC 9112 §2.2).
        guard line.isEmpty, line.lowerBound == 0 else { return line }
        return try lines.next(
            bytes, bound: bound &+ 2, overflow: RequestHeadParser.overflow(bytes, 2))
    }

    private static func overflow(_ bytes: RawSpan, _ start: Int) -> ParseError.Code {
        let end = min(bytes.byteCount, start &+ StartLine.longestMethod &+ 1)
        for position in min(start, end)..<end where bytes[position] == 0x20 { return .targetTooLong }
        return .methodTooLong
    }
}

/// Reads response heads; used as `RequestHeadParser` is (RFC 9112 §4, §5). Nothing may precede the status line.
package struct ResponseHeadParser: Sendable {
    package let limits: ParseLimits
    private var lines = LineReader()
    private var fields: FieldSectionParser?

    package init(limits: ParseLimits = ParseLimits()) { self.limits = limits }

    package mutating func parse(
        _ bytes: RawSpan, into head: inout ResponseHead
    ) throws(ParseError) -> HeadParseResult {
        do throws(ParseError) {
            guard try advance(bytes, &head) else { return .incomplete(scanned: lines.scanned) }
        } catch {
            reset()
            throw error
        }
        let consumed = lines.start
        reset()
        return .complete(consumed: consumed)
    }

    private mutating func reset() {
        lines = LineReader()
        fields = nil
    }

    private mutating func advance(
        _ bytes: RawSpan, _ head: inout ResponseHead
    ) throws(ParseError) -> Bool {
        if fields == nil {
            guard let line = try lines.next(bytes, bound: limits.startLine, overflow: .statusLineTooLong) else {
                return false
            }
            try StartLine.readResponse(bytes, line, into: &head)
            head.fields.removeAllKeepingCapacity()
            fields = FieldSectionParser(start: lines.start)
        }
        // Holds: set above, when the start line was read.
        return try fields!.parse(
            bytes, lines: &lines, into: &head.fields, size: limits.headerSection, count: limits.fieldLines,
            overflow: .headerSectionTooLarge)
    }
}
