// SPDX-License-Identifier: Apache-2.0

/// The two start lines, parsed from a complete line (RFC 9112 §3, §4). One space between the parts, no more.
enum StartLine {
    /// The longest method that is accepted (RFC 9112 §3 asks for 501 for methods longer than any known).
    static let longestMethod = 32

    @inline(__always)
    static func readRequest(
        _ base: UnsafeRawPointer, _ line: Range<Int>, readable: Int, into head: inout RequestHead
    ) throws(ParseError) {
        let end = line.upperBound
        let methodEnd = OctetScan.firstNonToken(base, from: line.lowerBound, to: end, readable: readable)
        let methodCount = methodEnd &- line.lowerBound
        guard methodCount > 0, methodEnd < end, base.load(fromByteOffset: methodEnd, as: UInt8.self) == 0x20 else {
            throw ParseError(line.isEmpty ? .emptyStartLine : .malformedMethod, at: methodEnd)
        }
        guard methodCount <= longestMethod else { throw ParseError(.methodTooLong, at: line.lowerBound) }
        let targetStart = methodEnd &+ 1
        let targetEnd = OctetScan.firstInvisible(base, from: targetStart, to: end)
        guard targetEnd > targetStart else { throw ParseError(.malformedTarget, at: targetStart) }
        guard targetEnd < end else { throw ParseError(.missingVersion, at: end) }
        guard base.load(fromByteOffset: targetEnd, as: UInt8.self) == 0x20 else {
            throw ParseError(.malformedTarget, at: targetEnd)
        }
        head.version = try readVersion(base, targetEnd &+ 1, end: end)
        guard end &- targetEnd == 9 else { throw ParseError(.malformedVersion, at: targetEnd &+ 1) }
        head.method = Method(token: UnsafeRawBufferPointer(start: base + line.lowerBound, count: methodCount))
        head.target.removeAll(keepingCapacity: true)
        head.target.append(
            contentsOf: UnsafeRawBufferPointer(start: base + targetStart, count: targetEnd &- targetStart))
    }

    @inline(__always)
    static func readResponse(
        _ base: UnsafeRawPointer, _ line: Range<Int>, into head: inout ResponseHead
    ) throws(ParseError) {
        guard !line.isEmpty else { throw ParseError(.emptyStartLine, at: line.lowerBound) }
        head.version = try readVersion(base, line.lowerBound, end: line.upperBound)
        // Behind the version: a space, three digits, a space; then the phrase, which may contain anything but controls.
        let status = line.lowerBound &+ 9
        guard line.upperBound >= status &+ 4,
            base.load(fromByteOffset: status &- 1, as: UInt8.self) == 0x20,
            base.load(fromByteOffset: status &+ 3, as: UInt8.self) == 0x20
        else { throw ParseError(.malformedStatus, at: min(status, line.upperBound)) }
        var code: UInt16 = 0
        for position in status..<(status &+ 3) {
            let octet = base.load(fromByteOffset: position, as: UInt8.self)
            guard ASCII.isDigit(octet) else { throw ParseError(.malformedStatus, at: position) }
            code = code &* 10 &+ UInt16(octet &- 0x30)
        }
        guard 100...599 ~= code else { throw ParseError(.malformedStatus, at: status) }
        head.status = Status(rawValue: code)
    }

    /// Reads eight octets as `HTTP/` digit `.` digit. A higher minor version is treated as 1.1 (RFC 9110 §2.5).
    @inline(__always)
    private static func readVersion(_ base: UnsafeRawPointer, _ start: Int, end: Int) throws(ParseError) -> HTTPVersion
    {
        guard end &- start >= 8 else { throw ParseError(.malformedVersion, at: start) }
        let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: start, as: UInt64.self))
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
