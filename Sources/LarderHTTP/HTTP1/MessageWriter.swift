// SPDX-License-Identifier: Apache-2.0

/// Appends requests, and the chunks of all messages, as HTTP/1.1 bytes to a buffer (RFC 9112 §2.1).
///
/// The order of fields and the spelling of their names are kept. `Content-Length` and `Transfer-Encoding` are written
/// from the framing and never from the fields. No line can be split: values were checked when they were added to
/// `Fields`, and are checked once more here. The version is always HTTP/1.1: the sender's version, not the version of
/// the forwarded message (RFC 9110 §2.5).
package enum MessageWriter {
    /// Writes a request head. The target must be visible ASCII, as parsers and `TargetURI` make it.
    package static func append(_ head: RequestHead, framing: BodyFraming, to output: inout [UInt8]) {
        // Holds: targets are read by the strict parser or written by `TargetURI`, which admit nothing else.
        precondition(isVisible(head.target), "a request target holds visible ASCII only")
        output.append(head.method.token)
        output.append(0x20)
        output.append(contentsOf: head.target)
        output.append(" HTTP/1.1\r\n")
        append(head.fields, framing: framing, to: &output)
    }

    /// Writes the field lines, the framing's line and the empty line.
    private static func append(_ fields: Fields, framing: BodyFraming, to output: inout [UInt8]) {
        fields.forEachLine { name, spelling, value in
            if name == .contentLength || name == .transferEncoding { return }
            appendLine(spelling, value, to: &output)
        }
        switch framing {
        case .none, .untilClose: break
        case .length(let length):
            output.append("Content-Length: ")
            output.append(decimal: length)
            output.append("\r\n")
        case .chunked:
            output.append("Transfer-Encoding: chunked\r\n")
        }
        output.append("\r\n")
    }

    // MARK: Chunks

    /// Writes the line before the data of a chunk, which must not be empty: an empty chunk is the last one.
    package static func appendChunkStart(count: Int, to output: inout [UInt8]) {
        // Holds: writers of chunks skip empty ones.
        precondition(count > 0, "a chunk of no octets would end the content")
        var shift = (Int.bitWidth - count.leadingZeroBitCount - 1) / 4 * 4
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift & 15)
            output.append(digit < 10 ? 0x30 + digit : 0x61 + digit - 10)
            shift -= 4
        }
        output.append("\r\n")
    }

    /// Writes the line end after the data of a chunk.
    package static func appendChunkEnd(to output: inout [UInt8]) { output.append("\r\n") }

    /// Writes the last chunk and the trailer section, without the fields that are not allowed there.
    package static func appendLastChunk(trailers: Fields = Fields(), to output: inout [UInt8]) {
        output.append("0\r\n")
        trailers.forEachLine { name, spelling, value in
            if let name, TrailerReader.isForbidden(name) { return }
            appendLine(spelling, value, to: &output)
        }
        output.append("\r\n")
    }

    // MARK: Parts

    /// Writes one field line. A line that could be read as two is left out: no `Fields` should have one.
    private static func appendLine(
        _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, to output: inout [UInt8]
    ) {
        guard isClean(name), isClean(value) else { return }
        output.append(name)
        output.append(0x3A)
        output.append(0x20)
        output.append(value)
        output.append(0x0D)
        output.append(0x0A)
    }

    private static func isClean(_ octets: UnsafeRawBufferPointer) -> Bool {
        OctetScan.firstControl(octets.bytes, from: 0, to: octets.count) == octets.count
    }

    private static func isVisible(_ octets: [UInt8]) -> Bool {
        !octets.isEmpty && OctetScan.firstInvisible(octets.span.bytes, from: 0, to: octets.count) == octets.count
    }
}
