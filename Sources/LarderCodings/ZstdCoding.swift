// SPDX-License-Identifier: Apache-2.0
import CZstd

final class ZstdDecoding: DecodingEngine {
    /// The largest window that content on the web may ask for, as a power of two (RFC 9659 §3).
    private static let windowLimit: Int32 = 23

    private let stream: OpaquePointer
    private(set) var isAtEnd = false

    init?() {
        guard let stream = ZSTD_createDStream() else { return nil }
        self.stream = stream
        guard ZSTD_isError(ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZstdDecoding.windowLimit)) == 0
        else {
            ZSTD_freeDStream(stream)
            return nil
        }
    }

    deinit { ZSTD_freeDStream(stream) }

    func step(_ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        // Another frame may follow this one (RFC 8878 §3.1). Without more input, decoding is at its end.
        guard !isAtEnd || !input.isEmpty else { return CodingStep() }
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
        let code = ZSTD_decompressStream(stream, &target, &source)
        var step = CodingStep(consumed: source.pos, produced: target.pos)
        if ZSTD_isError(code) != 0 {
            step.problem = .malformed(String(cString: ZSTD_getErrorName(code)))
        } else {
            isAtEnd = code == 0
        }
        return step
    }
}

final class ZstdEncoding: EncodingEngine {
    private let stream: OpaquePointer

    init?(level: Int32) {
        guard let stream = ZSTD_createCStream() else { return nil }
        self.stream = stream
        // Up to this level the library's own choice of window stays within the 8 MiB of RFC 9659 §3.
        guard ZSTD_isError(ZSTD_CCtx_setParameter(stream, ZSTD_c_compressionLevel, level)) == 0 else {
            ZSTD_freeCStream(stream)
            return nil
        }
    }

    deinit { ZSTD_freeCStream(stream) }

    func step(_ input: UnsafeRawBufferPointer, isLast: Bool, into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var target = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
        let code = ZSTD_compressStream2(stream, &target, &source, isLast ? ZSTD_e_end : ZSTD_e_continue)
        return CodingStep(
            consumed: source.pos, produced: target.pos,
            problem: ZSTD_isError(code) == 0 ? nil : .malformed(String(cString: ZSTD_getErrorName(code))))
    }
}
