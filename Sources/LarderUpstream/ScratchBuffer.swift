// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO

/// Where all upstream connections of a loop receive. What arrives is taken out in the same turn: before anybody
/// waits again, the buffer is another's. Confined to its loop.
final class ScratchBuffer {
    static let size = 64 << 10
    private(set) var memory = ScratchBuffer.allocate()

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
    func take(_ count: Int) -> ContentChunk {
        guard count > ScratchBuffer.size / 2, let base = memory.baseAddress else {
            return ContentChunk(copying: UnsafeRawBufferPointer(rebasing: memory[..<count]))
        }
        memory = ScratchBuffer.allocate()
        return ContentChunk(adopting: base, count: count)
    }

    private static func allocate() -> UnsafeMutableRawBufferPointer { .allocate(byteCount: size, alignment: 16) }
}
