// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO

/// The receive buffer of all upstream connections of a loop. Bytes are consumed in the same turn: after the next wait,
/// the buffer is in use by another connection. Confined to its loop.
final class ScratchBuffer {
    static let size = 64 << 10
    private(set) var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)

    deinit { memory.deallocate() }

    /// Reads some bytes, `limit` at most, waiting for the first. They are valid until the next wait; none at the end.
    ///
    /// The buffer is looked up after each wait: meanwhile it may have become a chunk.
    func receive(
        from stream: ByteStream, limit: Int = ScratchBuffer.size
    ) async throws(IOError) -> UnsafeRawBufferPointer {
        await stream.giveWay()
        while true {
            let count = try stream.tryRead(into: UnsafeMutableRawBufferPointer(rebasing: memory[..<limit]))
            if let count { return UnsafeRawBufferPointer(rebasing: memory[..<count]) }
            try await stream.waitReadable()
        }
    }

    /// The first `count` bytes as a chunk. When they are most of the buffer it becomes the chunk, and a new one is
    /// allocated; otherwise they are copied, so that no chunk retains much more memory than its content.
    ///
    /// - Throws: `.outOfMemory`.
    func take(_ count: Int) throws(IOError) -> ContentChunk {
        guard count > ScratchBuffer.size / 2, let base = memory.baseAddress else {
            return ContentChunk(copying: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        }
        // `malloc` is used because Swift's allocation ends the process when memory runs out. Freeing does not differ.
        guard let fresh = malloc(ScratchBuffer.size) else {
            throw IOError(errno: ENOMEM, operation: "make room for a response")
        }
        memory = UnsafeMutableRawBufferPointer(start: fresh, count: ScratchBuffer.size)
        return ContentChunk(adopting: base, count: count)
    }
}
