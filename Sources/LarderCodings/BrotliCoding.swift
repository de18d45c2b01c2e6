// SPDX-License-Identifier: Apache-2.0
import CBrotli

final class BrotliDecoding: DecodingEngine {
    private let state: OpaquePointer
    private(set) var isAtEnd = false

    init?() {
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else { return nil }
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    func step(_ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        guard !isAtEnd else { return CodingStep(problem: input.isEmpty ? nil : .trailingOctets) }
        var left = input.count
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var spare = room.count
        var target = room.bindMemory(to: UInt8.self).baseAddress
        let result = BrotliDecoderDecompressStream(state, &left, &next, &spare, &target, nil)
        var step = CodingStep(consumed: input.count - left, produced: room.count - spare)
        if result == BROTLI_DECODER_RESULT_SUCCESS {
            isAtEnd = true
        } else if result == BROTLI_DECODER_RESULT_ERROR {
            let text = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state)).map { String(cString: $0) }
            step.problem = .malformed(text ?? "the data is damaged")
        }
        return step
    }
}

final class BrotliEncoding: EncodingEngine {
    private let state: OpaquePointer

    init?(level: Int32) {
        guard let state = BrotliEncoderCreateInstance(nil, nil, nil) else { return nil }
        self.state = state
        BrotliEncoderSetParameter(state, BROTLI_PARAM_QUALITY, UInt32(level))
    }

    deinit { BrotliEncoderDestroyInstance(state) }

    func step(_ input: UnsafeRawBufferPointer, isLast: Bool, into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        let wanted = isLast ? BROTLI_OPERATION_FINISH : BROTLI_OPERATION_PROCESS
        var left = input.count
        var next = input.bindMemory(to: UInt8.self).baseAddress
        var spare = room.count
        var target = room.bindMemory(to: UInt8.self).baseAddress
        let isFine = BrotliEncoderCompressStream(state, wanted, &left, &next, &spare, &target, nil)
        return CodingStep(
            consumed: input.count - left, produced: room.count - spare, problem: isFine == 0 ? .unavailable : nil)
    }
}
