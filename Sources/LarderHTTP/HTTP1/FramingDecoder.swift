// SPDX-License-Identifier: Apache-2.0

/// Removes the framing from the content of one message, whichever framing it has, as bytes arrive.
package struct FramingDecoder: Sendable {
    package let framing: BodyFraming
    /// Bytes still to come of content with a known length.
    private var remaining: UInt64 = 0
    /// The decoder of chunked content; nil for other framings.
    private var chunked: ChunkedDecoder?
    private var isEnded = false

    package init(_ framing: BodyFraming, limits: ParseLimits = ParseLimits()) {
        self.framing = framing
        chunked = framing == .chunked ? ChunkedDecoder(limits: limits) : nil
        switch framing {
        case .none: isEnded = true
        case .length(let length):
            remaining = length
            isEnded = length == 0
        case .chunked, .untilClose: break
        }
    }

    /// True if all of the content has been handed out.
    package var isComplete: Bool { isEnded }

    /// How many bytes of content are still to come; nil when only the end of the content tells.
    package var remainingLength: UInt64? {
        switch framing {
        case .none, .length: remaining
        case .chunked, .untilClose: isEnded ? 0 : nil
        }
    }

    /// True if the next `count` bytes are content and nothing else, so that no decoding is needed.
    package func isPlain(for count: Int) -> Bool {
        switch framing {
        case .none, .chunked: false
        case .length: remaining >= UInt64(count)
        case .untilClose: true
        }
    }

    /// The trailer fields; only chunked content has some, once it is complete.
    package var trailers: Fields { chunked?.trailers ?? Fields() }

    /// Reads `input` up to the end of the message or of the input, and passes the range of each run of content to
    /// `content`. Bytes after `consumed` belong to the next message.
    package mutating func decode(
        _ input: RawSpan, content: (Range<Int>) -> Void
    ) throws(ParseError) -> (consumed: Int, isComplete: Bool) {
        guard !isEnded else { return (0, true) }
        switch framing {
        case .none:
            return (0, true)
        case .length:
            let count = Int(min(remaining, UInt64(input.byteCount)))
            if count > 0 { content(0..<count) }
            remaining -= UInt64(count)
            isEnded = remaining == 0
            return (count, isEnded)
        case .chunked:
            guard let result = try chunked?.decode(input, content: content) else { return (0, true) }
            isEnded = result.isComplete
            return result
        case .untilClose:
            if input.byteCount > 0 { content(0..<input.byteCount) }
            return (input.byteCount, false)
        }
    }

    /// Handles the end of the connection: it ends content that is framed by it; other content is truncated.
    package mutating func finish() throws(ParseError) {
        if framing == .untilClose { isEnded = true }
        guard isEnded else { throw ParseError(.contentCutShort) }
    }
}
