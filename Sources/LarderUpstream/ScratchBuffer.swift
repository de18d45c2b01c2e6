// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO

/// Where all upstream connections of a loop receive. What arrives is taken out in the same turn: before anybody
/// waits again, the buffer is another's. Confined to its loop.
final class ScratchBuffer {
    static let size = 64 << 10
    private(set) var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)

    deinit { memory.deallocate() }

    /// Reads some octets, waiting for the first, `limit` at most. They are valid until the next wait; none at the end.
    ///
    /// The memory is looked up after each wait: meanwhile it may have become somebody's chunk.
    func receive(
        from stream: ByteStream, limit: Int = ScratchBuffer.size
    ) async throws(IOError) -> UnsafeRawBufferPointer {
        while true {
            let count = try stream.tryRead(into: UnsafeMutableRawBufferPointer(rebasing: memory[..<limit]))
            if let count { return UnsafeRawBufferPointer(rebasing: memory[..<count]) }
            try await stream.waitReadable()
        }
    }

    /// The first `count` octets as a chunk. When they are most of the buffer it becomes the chunk, and a new one is
    /// made; otherwise they are copied, so that no chunk keeps much more memory than it has content.
    ///
    /// - Throws: `.outOfMemory`.
    func take(_ count: Int) throws(IOError) -> ContentChunk {
        guard count > ScratchBuffer.size / 2, let base = memory.baseAddress else {
            return ContentChunk(copying: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        }
        // Not by Swift, which ends the process where there is no memory; whoever frees it need not know.
        guard let fresh = malloc(ScratchBuffer.size) else {
            throw IOError(errno: ENOMEM, operation: "make room for a response")
        }
        memory = UnsafeMutableRawBufferPointer(start: fresh, count: ScratchBuffer.size)
        return ContentChunk(adopting: base, count: count)
    }
}
