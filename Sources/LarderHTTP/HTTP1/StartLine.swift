// SPDX-License-Identifier: Apache-2.0

/// The two start lines, parsed from a complete line (RFC 9112 §3, §4). One space between the parts, no more.
enum StartLine {
    /// The longest method that is accepted (RFC 9112 §3 asks for 501 for methods longer than any known).
    static let longestMethod = 32

    @inline(__always)
    static func readRequest(
        _ bytes: RawSpan, _ line: Range<Int>, into head: inout RequestHead
    ) throws(ParseError) {
        let end = line.upperBound
        let methodEnd = OctetScan.firstNonToken(bytes, from: line.lowerBound, to: end)
        let methodCount = methodEnd &- line.lowerBound
        guard methodCount > 0, methodEnd < end, bytes[methodEnd] == 0x20 else {
            throw ParseError(line.isEmpty ? .emptyStartLine : .malformedMethod, at: methodEnd)
        }
        guard methodCount <= longestMethod else { throw ParseError(.methodTooLong, at: line.lowerBound) }
        let targetStart = methodEnd &+ 1
        let targetEnd = OctetScan.firstInvisible(bytes, from: targetStart, to: end)
        guard targetEnd > targetStart else { throw ParseError(.malformedTarget, at: targetStart) }
        guard targetEnd < end else { throw ParseError(.missingVersion, at: end) }
        guard bytes[targetEnd] == 0x20 else {
            throw ParseError(.malformedTarget, at: targetEnd)
        }
        head.version = try readVersion(bytes, targetEnd &+ 1, end: end)
        guard end &- targetEnd == 9 else { throw ParseError(.malformedVersion, at: targetEnd &+ 1) }
        head.method = Method(token: bytes.extracting(line.lowerBound..<methodEnd))
        head.target.removeAll(keepingCapacity: true)
        head.target.append(bytes.extracting(targetStart..<targetEnd))
    }

    @inline(__always)
    static func readResponse(
        _ bytes: RawSpan, _ line: Range<Int>, into head: inout ResponseHead
    ) throws(ParseError) {
        guard !line.isEmpty else { throw ParseError(.emptyStartLine, at: line.lowerBound) }
        head.version = try readVersion(bytes, line.lowerBound, end: line.upperBound)
        // The version is followed by a space, three digits, a space, and the phrase, which may contain any byte but
        // controls. The last space is often missing if there is no phrase.
        let status = line.lowerBound &+ 9
        let end = status &+ 3
        guard line.upperBound >= end, bytes[status &- 1] == 0x20, line.upperBound == end || bytes[end] == 0x20 else {
            throw ParseError(.malformedStatus, at: min(status, line.upperBound))
        }
        var code: UInt16 = 0
        for position in status..<end {
            let octet = bytes[position]
            guard ASCII.isDigit(octet) else { throw ParseError(.malformedStatus, at: position) }
            code = code &* 10 &+ UInt16(octet &- 0x30)
        }
        guard 100...599 ~= code else { throw ParseError(.malformedStatus, at: status) }
        head.status = Status(rawValue: code)
    }

    /// Reads eight bytes as `HTTP/` digit `.` digit. A higher minor version is treated as 1.1 (RFC 9110 §2.5).
    @inline(__always)
    private static func readVersion(_ bytes: RawSpan, _ start: Int, end: Int) throws(ParseError) -> HTTPVersion {
        guard end &- start >= 8 else { throw ParseError(.malformedVersion, at: start) }
        let word = bytes.eight(at: start)
        if word == 0x312E_312F_5054_5448 { return .http11 }
        let major = UInt8(truncatingIfNeeded: word &>> 40)
        let minor = UInt8(truncatingIfNeeded: word &>> 56)
        guard word & 0x00FF_00FF_FFFF_FFFF == 0x002E_002F_5054_5448, ASCII.isDigit(major), ASCII.isDigit(minor) else {
            throw ParseError(.malformedVersion, at: start)
        }
        guard major == 0x31 else { throw ParseError(.unsupportedVersion, at: start) }
        return minor == 0x30 ? .http10 : .http11
    }
}
