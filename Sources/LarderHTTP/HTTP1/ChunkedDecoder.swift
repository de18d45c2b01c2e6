// SPDX-License-Identifier: Apache-2.0

/// Removes the chunked transfer coding from content as it arrives, strictly (RFC 9112 §7.1).
///
/// All bytes that are fed are consumed until the message ends, so the caller's buffer is free afterwards; content
/// is handed out as ranges of that buffer and never copied. After an error nothing more may be fed.
package struct ChunkedDecoder: Sendable {
    private enum State: UInt8 {
        case size, sizeExtension, sizeLineFeed, data, dataReturn, dataLineFeed, trailers, complete
    }

    private var state = State.size
    private var limits: ParseLimits
    /// The size being read, then the rest of the chunk.
    private var size: UInt64 = 0
    private var digits = 0
    private var extensionReader = ChunkExtensionReader()
    private var extensionOctets = 0
    private var trailerReader = TrailerReader()

    package init(limits: ParseLimits = ParseLimits()) { self.limits = limits }

    /// The trailer fields that may be used and forwarded; empty until the message is complete.
    package var trailers: Fields { trailerReader.fields }

    /// Reads `input` up to the end of the message or of the input, and passes the range of each run of content to
    /// `content`. Bytes after `consumed` belong to the next message.
    package mutating func decode(
        _ input: RawSpan, content: (Range<Int>) -> Void
    ) throws(ParseError) -> (consumed: Int, isComplete: Bool) {
        var position = 0
        while position < input.byteCount, state != .complete {
            switch state {
            case .data:
                let count = Int(min(size, UInt64(input.byteCount - position)))
                content(position..<(position + count))
                position += count
                size -= UInt64(count)
                if size == 0 { state = .dataReturn }
            case .trailers:
                let rest = input.extracting(droppingFirst: position)
                let (consumed, isComplete) = try trailerReader.read(rest, limits: limits)
                position += consumed
                if isComplete { state = .complete }
            default:
                try readFraming(input[position])
                position += 1
            }
        }
        return (position, state == .complete)
    }

    private mutating func readFraming(_ octet: UInt8) throws(ParseError) {
        switch state {
        case .size:
            guard let digit = ASCII.hexValue(octet) else {
                guard digits > 0 else { throw ParseError(.malformedChunkSize) }
                state = .sizeExtension
                return try readExtension(octet)
            }
            digits += 1
            guard digits <= 16, size <= UInt64(Int.max) >> 4 else { throw ParseError(.chunkTooLarge) }
            size = size << 4 | UInt64(digit)
        case .sizeExtension:
            try readExtension(octet)
        case .sizeLineFeed:
            guard octet == 0x0A else { throw ParseError(.bareCarriageReturn) }
            state = size == 0 ? .trailers : .data
        case .dataReturn:
            guard octet == 0x0D else { throw ParseError(.missingChunkEnd) }
            state = .dataLineFeed
        case .dataLineFeed:
            guard octet == 0x0A else { throw ParseError(.missingChunkEnd) }
            state = .size
            digits = 0
            extensionReader = ChunkExtensionReader()
        case .data, .trailers, .complete:
            // Unreachable: `decode` calls this in the states above only.
            preconditionFailure("no framing octet is read inside content, trailers or after the end")
        }
    }

    private mutating func readExtension(_ octet: UInt8) throws(ParseError) {
        if octet == 0x0D, extensionReader.mayEnd {
            state = .sizeLineFeed
            return
        }
        guard octet != 0x0A else { throw ParseError(.bareLineFeed) }
        extensionOctets += 1
        guard extensionOctets <= limits.chunkExtensions else { throw ParseError(.chunkExtensionsTooLarge) }
        guard extensionReader.read(octet) else { throw ParseError(.malformedChunkExtension) }
    }
}
