// SPDX-License-Identifier: Apache-2.0

extension FramingDecoder {
    /// Reads `input` up to the end of the message or of the input; all content in it is copied into one chunk, which
    /// is nil when there was none.
    package mutating func decodeChunk(
        _ input: RawSpan
    ) throws(ParseError) -> (chunk: ContentChunk?, consumed: Int) {
        var runs: [Range<Int>] = []
        let consumed = try decode(input) { runs.append($0) }.consumed
        let total = runs.reduce(0) { $0 + $1.count }
        guard total > 0 else { return (nil, consumed) }
        let chunk = ContentChunk(count: total) { target in
            var offset = 0
            for run in runs {
                input.extracting(run).withUnsafeBytes {
                    UnsafeMutableRawBufferPointer(rebasing: target[offset...]).copyMemory(from: $0)
                }
                offset += run.count
            }
        }
        return (chunk, consumed)
    }
}
