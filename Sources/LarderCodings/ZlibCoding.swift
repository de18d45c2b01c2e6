// SPDX-License-Identifier: Apache-2.0
import CZlib

/// The two formats in which zlib wraps deflated bytes.
enum ZlibFormat {
    case gzip, deflate

    /// zlib's code for the format: the size of the window, and 16 more for gzip.
    var window: Int32 { self == .gzip ? 31 : 15 }
}

/// zlib's state, which must not move while it is in use: zlib keeps pointers to it.
private final class ZlibStream {
    private let stream: UnsafeMutablePointer<z_stream>
    private let end: (z_streamp?) -> Int32

    /// Initialises a state with one of zlib's functions, and frees it with another.
    init?(_ start: (z_streamp) -> Int32, end: @escaping (z_streamp?) -> Int32) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        self.end = end
        guard start(stream) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        _ = end(stream)
        stream.deallocate()
    }

    /// Calls `work` with input and room set; returns its result, and how far both went.
    func run(
        _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer, _ work: (z_streamp) -> Int32
    ) -> (code: Int32, step: CodingStep) {
        let given = min(input.count, Int(UInt32.max))
        // zlib only reads through this pointer, but its type does not say so.
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.pointee.avail_in = UInt32(given)
        stream.pointee.next_out = room.bindMemory(to: UInt8.self).baseAddress
        stream.pointee.avail_out = UInt32(room.count)
        let code = work(stream)
        let step = CodingStep(
            consumed: given - Int(stream.pointee.avail_in), produced: room.count - Int(stream.pointee.avail_out))
        return (code, step)
    }

    /// zlib's error message.
    var message: String { stream.pointee.msg.map { String(cString: $0) } ?? "the data is damaged" }

    func reset(window: Int32) { inflateReset2(stream, window) }
}

final class ZlibDecoding: DecodingEngine {
    private enum Place { case beforeFirst, within, behind }

    private let stream: ZlibStream
    private let format: ZlibFormat
    private var place = Place.beforeFirst

    init?(_ format: ZlibFormat) {
        guard let stream = ZlibStream({ larder_inflate_init($0, format.window) }, end: inflateEnd) else { return nil }
        self.stream = stream
        self.format = format
    }

    var isAtEnd: Bool { place == .behind }

    func step(_ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        guard let first = input.first else { return drain(into: room) }
        switch place {
        case .beforeFirst:
            // The method in the low half of a zlib header's first byte is always 8; deflated bytes that begin like
            // that are possible in theory, but no encoder writes them.
            if format == .deflate, first & 0x0F != 8 { stream.reset(window: -15) }
            place = .within
        case .within: break
        case .behind:
            // A gzip file may have further members (RFC 1952 §2.2), which all begin with this byte.
            guard format == .gzip, first == 0x1F else { return CodingStep(problem: .trailingOctets) }
            stream.reset(window: format.window)
            place = .within
        }
        return inflate(input, into: room)
    }

    private func drain(into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        place == .within ? inflate(UnsafeRawBufferPointer(start: nil, count: 0), into: room) : CodingStep()
    }

    private func inflate(_ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        var (code, step) = stream.run(input, into: room) { CZlib.inflate($0, Z_NO_FLUSH) }
        switch code {
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: place = .behind
        case Z_MEM_ERROR: step.problem = .unavailable
        case Z_NEED_DICT: step.problem = .malformed("it needs a dictionary")
        default: step.problem = .malformed(stream.message)
        }
        return step
    }
}

final class ZlibEncoding: EncodingEngine {
    private let stream: ZlibStream

    init?(_ format: ZlibFormat, level: Int32) {
        guard let stream = ZlibStream({ larder_deflate_init($0, level, format.window) }, end: deflateEnd)
        else { return nil }
        self.stream = stream
    }

    func step(_ input: UnsafeRawBufferPointer, isLast: Bool, into room: UnsafeMutableRawBufferPointer) -> CodingStep {
        var (code, step) = stream.run(input, into: room) { deflate($0, isLast ? Z_FINISH : Z_NO_FLUSH) }
        // Z_BUF_ERROR only means that there was nothing left to do.
        if code != Z_OK, code != Z_STREAM_END, code != Z_BUF_ERROR { step.problem = .malformed(stream.message) }
        return step
    }
}
