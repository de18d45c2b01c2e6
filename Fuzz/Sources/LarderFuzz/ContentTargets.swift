// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Chunked content is the same however it arrives, and again after it was written.
func chunked(_ input: UnsafeRawBufferPointer) {
    let whole = decode(input, cuts: [input.count])
    let pieces = decode(input, cuts: cuts(input))
    require(whole == pieces, "pieces are decoded as the whole is")
    guard case .complete(let content, let trailers, let consumed) = whole else { return }
    require(consumed <= input.count, "no more is consumed than there is")
    var written: [UInt8] = []
    if !content.isEmpty {
        MessageWriter.appendChunkStart(count: content.count, to: &written)
        written += content
        MessageWriter.appendChunkEnd(to: &written)
    }
    MessageWriter.appendLastChunk(trailers: trailers, to: &written)
    let again = written.withUnsafeBytes { decode($0, cuts: [$0.count]) }
    require(again == .complete(content, trailers, consumed: written.count), "content and trailers survive writing")
}

private enum Decoded: Equatable {
    case complete([UInt8], Fields, consumed: Int)
    case incomplete([UInt8])
    case refused(ParseError)
}

private func decode(_ input: UnsafeRawBufferPointer, cuts: [Int]) -> Decoded {
    var decoder = FramingDecoder(.chunked)
    var content: [UInt8] = []
    var consumed = 0
    var start = 0
    for cut in cuts {
        do throws(ParseError) {
            let piece = Array(input[start..<cut])
            let result = try piece.withUnsafeBufferPointer { piece throws(ParseError) in
                try decoder.decode(UnsafeRawBufferPointer(piece).bytes) { content.append(contentsOf: piece[$0]) }
            }
            consumed += result.consumed
            if result.isComplete { return .complete(content, decoder.trailers, consumed: consumed) }
            require(result.consumed == piece.count, "all is consumed until the end")
        } catch {
            return .refused(error)
        }
        start = cut
    }
    return .incomplete(content)
}
