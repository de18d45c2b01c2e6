// SPDX-License-Identifier: Apache-2.0

/// TLS on one stream.
final class TLSSession {
    var hasBufferedInput: Bool { false }
    var readNeedsRoom: Bool { false }
    var writeNeedsInput: Bool { false }
    func sendCloseNotify() {}
    func read(into buffer: UnsafeMutableRawBufferPointer, of stream: ByteStream) throws(IOError) -> Int? { nil }
    func write(_ parts: inout GatherList, of stream: ByteStream) throws(IOError) -> Bool { true }
}
