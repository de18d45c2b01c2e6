// SPDX-License-Identifier: Apache-2.0

/// Decodes a content coding part by part.
///
/// Pass it the parts in order, then call `finish()`, which checks that the content is complete. After an error every
/// call throws it again. It belongs to one thread at a time.
package final class ContentDecoder {
    package let coding: ContentCoding
    /// The most bytes of output. Work stops at the first one beyond.
    package let limit: Int
    /// Bytes of output so far.
    package private(set) var produced = 0
    private let engine: any DecodingEngine
    private let room = Room()
    private var failure: CodingError?
    /// True if there was any byte to decode.
    private var hasBegun = false

    init(_ coding: ContentCoding, limit: Int) throws(CodingError) {
        self.coding = coding
        self.limit = max(0, limit)
        guard let engine = coding.library.decoding() else { throw CodingError(coding, .unavailable) }
        self.engine = engine
    }

    /// Decodes a part and appends the output to `output`.
    package func decode(_ octets: [UInt8], into output: inout [UInt8]) throws(CodingError) {
        octets.withUnsafeBytes { _ = run($0, into: &output) }
        if let failure { throw failure }
    }

    /// How far a part was decoded.
    package struct Progress {
        /// Bytes of the part that were used.
        package var consumed: Int
        /// True if there is no more output to get from the part.
        package var isDone: Bool
    }

    /// Decodes the beginning of a part, and stops soon after `count` bytes of output. Pass it the rest next, which may
    /// be empty, until it is done.
    package func decode(
        _ octets: UnsafeRawBufferPointer, untilOutputOf count: Int, into output: inout [UInt8]
    ) throws(CodingError) -> Progress {
        let progress = run(octets, into: &output, enough: count)
        if let failure { throw failure }
        return progress
    }

    /// Declares the end of the input. Throws if the coding does not end here. An empty input is no content, even if the
    /// response to a redirect or a HEAD names a coding.
    package func finish() throws(CodingError) {
        if failure == nil, hasBegun, !engine.isAtEnd { failure = CodingError(coding, .truncated) }
        if let failure { throw failure }
    }

    private func run(
        _ input: UnsafeRawBufferPointer, into output: inout [UInt8], enough: Int = .max
    ) -> Progress {
        var rest = input
        if !input.isEmpty { hasBegun = true }
        var isFull = true
        let before = produced
        while failure == nil, !rest.isEmpty || isFull, produced - before < enough {
            // One byte of room beyond the limit tells content of exactly that length from longer content.
            let target = room.first(min(Room.size - 1, limit - produced) + 1)
            let step = engine.step(rest, into: target)
            rest = UnsafeRawBufferPointer(rebasing: rest[step.consumed...])
            isFull = step.produced == target.count
            let allowed = min(step.produced, limit - produced)
            output.append(contentsOf: target[..<allowed])
            produced += allowed
            if allowed < step.produced {
                failure = CodingError(coding, .tooLarge(limit: limit))
            } else if let problem = step.problem {
                failure = CodingError(coding, problem)
            }
        }
        return Progress(consumed: input.count - rest.count, isDone: rest.isEmpty && !isFull)
    }
}

/// The result of one call to a library with a piece of input and some room for output.
struct CodingStep {
    var consumed = 0
    var produced = 0
    var problem: CodingError.Problem?
}

/// A library that decodes a coding.
protocol DecodingEngine: AnyObject {
    /// Consumes input and fills `room`, as far as either goes; makes progress whenever there is input.
    func step(_ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> CodingStep
    /// True if the coded content may end here.
    var isAtEnd: Bool { get }
}

/// The buffer for a library's output, before it is appended to the caller's.
final class Room {
    static let size = 32_768
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: Room.size, alignment: 16)

    deinit { bytes.deallocate() }

    func first(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: bytes[..<count])
    }
}
