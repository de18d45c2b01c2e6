// SPDX-License-Identifier: Apache-2.0

/// Reads field lines up to the empty line that ends a header or trailer section (RFC 9112 §5), strictly: no line
/// folding, no blank before the colon, names are tokens, values contain no control bytes but HTAB.
struct FieldSectionParser: Sendable {
    /// The position in the buffer at which the section begins.
    private(set) var start = 0
    /// The length of the prefix of the buffer that the fields already have a copy of.
    private var copied = 0
    private var lineCount = 0

    /// The initial capacity in lines; most sections have fewer.
    private static var usualLines: Int { 16 }

    init(start: Int) {
        self.start = start
        copied = start
    }

    /// Appends the complete lines to `fields`. True when the section is complete; `lines.start` is then its end.
    ///
    /// The bytes of all lines are copied in one go, names and values point into them.
    mutating func parse(
        _ bytes: RawSpan, lines: inout LineReader, into fields: inout Fields, size: Int, count: Int,
        overflow: @autoclosure () -> ParseError.Code
    ) throws(ParseError) -> Bool {
        if lineCount == 0 {
            // Few lines are shorter, so most sections grow once.
            let guess = (bytes.byteCount &- start) / 24 &+ 1
            fields.reserve(lines: min(guess, FieldSectionParser.usualLines), octets: 0)
        }
        let names = RegisteredNames.table
        let shift = fields.octetCount &- copied
        // On every exit, the bytes that the lines point to have been copied.
        defer {
            fields.appendOctets(bytes.extracting(copied..<lines.start))
            copied = lines.start
        }
        while let line = try lines.next(bytes, bound: start &+ size, overflow: overflow()) {
            if line.isEmpty { return true }
            lineCount &+= 1
            guard lineCount <= count else { throw ParseError(.tooManyFieldLines, at: line.lowerBound) }
            let colon = OctetScan.firstNonToken(bytes, from: line.lowerBound, to: line.upperBound)
            guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == 0x3A else {
                throw FieldSectionParser.fault(bytes, line, stop: colon)
            }
            var valueStart = colon &+ 1
            var valueEnd = line.upperBound
            while valueStart < valueEnd, ASCII.isBlank(bytes[valueStart]) { valueStart &+= 1 }
            while valueEnd > valueStart, ASCII.isBlank(bytes[valueEnd &- 1]) { valueEnd &-= 1 }
            fields.appendLine(
                code: names.code(ofToken: bytes, at: line.lowerBound, count: colon &- line.lowerBound),
                nameStart: line.lowerBound &+ shift, nameCount: colon &- line.lowerBound,
                valueStart: valueStart &+ shift, valueCount: valueEnd &- valueStart)
        }
        return false
    }

    private static func fault(_ bytes: RawSpan, _ line: Range<Int>, stop: Int) -> ParseError {
        guard stop < line.upperBound else { return ParseError(.missingColon, at: line.lowerBound) }
        if ASCII.isBlank(bytes[stop]) {
            guard stop > line.lowerBound else { return ParseError(.lineFolding, at: stop) }
            var end = stop
            while end < line.upperBound, ASCII.isBlank(bytes[end]) { end &+= 1 }
            if end < line.upperBound, bytes[end] == 0x3A { return ParseError(.blankBeforeColon, at: stop) }
        }
        return ParseError(.malformedFieldName, at: stop)
    }
}
