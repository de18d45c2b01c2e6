// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

extension ByteStream {
    /// Writes a cached reply as far as the kernel accepts it now. The rest is returned.
    ///
    /// If the reply announces that the connection closes, `shutdownWrite` follows unless there is a rest.
    func writeAtOnce(_ answer: CachedReply) throws(IOError) -> [UInt8] {
        let outcome: Result<[UInt8], IOError> = answer.withResponse { bytes in
            Result { () throws(IOError) in
                try writeAtOnce(bytes, answer.chunks, endFollows: answer.closes)
            }
        }
        return try outcome.get()
    }

    /// Writes bytes as far as the kernel accepts them now. The rest is returned.
    func writeAtOnce(_ octets: [UInt8]) throws(IOError) -> [UInt8] {
        let outcome: Result<[UInt8], IOError> = octets.withUnsafeBytes { bytes in
            Result { () throws(IOError) in try writeAtOnce(bytes, [], endFollows: false) }
        }
        return try outcome.get()
    }

    private func writeAtOnce(
        _ first: UnsafeRawBufferPointer, _ chunks: [ContentChunk], endFollows: Bool
    ) throws(IOError) -> [UInt8] {
        var parts = GatherList()
        parts.append(first)
        for chunk in chunks { parts.append(chunk.bytes) }
        return try tryWrite(&parts, endFollows: endFollows) ? [] : parts.copied()
    }

    /// Writes a head, shared chunks and a tail, in one system call if the kernel accepts them all.
    func write(_ head: [UInt8], _ chunks: [ContentChunk], tail: StaticString = "") async throws(IOError) {
        var parts = GatherList()
        var total = head.count + tail.utf8CodeUnitCount
        // The array's storage may be borrowed only until the first suspension; nearly always that is enough.
        let outcome: Result<Bool, IOError> = head.withUnsafeBytes { bytes in
            parts.append(bytes)
            for chunk in chunks {
                parts.append(chunk.bytes)
                total += chunk.count
            }
            parts.append(UnsafeRawBufferPointer(start: tail.utf8Start, count: tail.utf8CodeUnitCount))
            return Result { () throws(IOError) in try tryWrite(&parts) }
        }
        if try outcome.get() { return }
        let sent = total - parts.count
        let rest = sent < head.count ? ContentChunk(head[sent...]) : nil
        var left = GatherList()
        if let rest { left.append(rest.bytes) }
        var skipped = max(0, sent - head.count)
        for chunk in chunks {
            let step = min(skipped, chunk.count)
            skipped -= step
            left.append(UnsafeRawBufferPointer(rebasing: chunk.bytes[step...]))
        }
        left.append(
            UnsafeRawBufferPointer(start: tail.utf8Start + skipped, count: tail.utf8CodeUnitCount - skipped))
        try await write(left)
        withExtendedLifetime((rest, chunks)) {}
    }
}
