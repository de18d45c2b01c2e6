// SPDX-License-Identifier: Apache-2.0

/// Encodes a content coding part by part.
///
/// Pass it the parts in order, then call `finish(into:)` once. The output may lag behind the input. It belongs to one
/// thread at a time.
package final class ContentEncoder {
    package let coding: ContentCoding
    private let engine: any EncodingEngine
    private let room = Room()

    init(_ coding: ContentCoding, level: Int) throws(CodingError) {
        self.coding = coding
        let library = coding.library
        let level = Int32(min(max(level, library.levels.lowerBound), library.levels.upperBound))
        guard let engine = library.encoding(level) else { throw CodingError(coding, .unavailable) }
        self.engine = engine
    }

    /// Encodes a part and appends the available output to `output`.
    package func encode(_ octets: [UInt8], into output: inout [UInt8]) throws(CodingError) {
        try fail(octets.withUnsafeBytes { run($0, isLast: false, into: &output) })
    }

    /// Appends the remaining output, and the end of the coding.
    package func finish(into output: inout [UInt8]) throws(CodingError) {
        try fail(run(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true, into: &output))
    }

    private func run(
        _ input: UnsafeRawBufferPointer, isLast: Bool, into output: inout [UInt8]
    ) -> CodingError.Problem? {
        var rest = input
        var isFull = true
        while !rest.isEmpty || isFull {
            let step = engine.step(rest, isLast: isLast, into: room.bytes)
            output.append(contentsOf: room.bytes[..<step.produced])
            if let problem = step.problem { return problem }
            rest = UnsafeRawBufferPointer(rebasing: rest[step.consumed...])
            isFull = step.produced == Room.size
        }
        return nil
    }

    private func fail(_ problem: CodingError.Problem?) throws(CodingError) {
        if let problem { throw CodingError(coding, problem) }
    }
}

/// A library that encodes a coding.
protocol EncodingEngine: AnyObject {
    /// Consumes input and fills `room`, as far as either goes: with the available output, or with all of it and the
    /// end. Room that is left means that there is no more.
    func step(_ input: UnsafeRawBufferPointer, isLast: Bool, into room: UnsafeMutableRawBufferPointer) -> CodingStep
}
