// SPDX-License-Identifier: Apache-2.0

/// Finds the lines of a head in a growing buffer, scanning each byte once however the bytes arrive.
///
/// A line ends in CR LF and has no control byte but HTAB; anything else is refused as soon as it is seen.
struct LineReader: Sendable {
    /// The start of the line that is being read.
    private(set) var start = 0
    /// Everything before this has been scanned.
    private(set) var scanned = 0

    /// The next line without its CR LF, or nil when it is not complete yet.
    ///
    /// `bound` is the position the line and its CR LF must not pass; `overflow` is thrown when they would. The error
    /// does not depend on how the bytes were split into reads.
    @inline(__always)
    mutating func next(
        _ bytes: RawSpan, bound: Int, overflow: @autoclosure () -> ParseError.Code
    ) throws(ParseError) -> Range<Int>? {
        let end = min(bytes.byteCount, bound)
        let position = OctetScan.firstControl(bytes, from: scanned, to: end)
        scanned = position
        if position == end {
            if bytes.byteCount >= bound { throw ParseError(overflow(), at: bound) }
            return nil
        }
        let octet = bytes[position]
        guard octet == 0x0D else { throw ParseError(LineReader.fault(octet), at: position) }
        guard position &+ 2 <= bound else { throw ParseError(overflow(), at: bound) }
        guard position &+ 1 < bytes.byteCount else { return nil }
        guard bytes[position &+ 1] == 0x0A else {
            throw ParseError(.bareCarriageReturn, at: position)
        }
        let line = start..<position
        start = position &+ 2
        scanned = start
        return line
    }

    private static func fault(_ octet: UInt8) -> ParseError.Code {
        switch octet {
        case 0x0A: .bareLineFeed
        case 0: .nul
        default: .controlOctet
        }
    }
}
