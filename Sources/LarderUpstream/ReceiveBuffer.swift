// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Received bytes of a connection that were not read yet, in order. Usually empty: it contains bytes received
/// together with a head, or the rest of a chunk.
///
/// Content whose length is known may get room for all of it, so that the rest is received in place.
struct ReceiveBuffer: ~Copyable {
    private var memory: UnsafeMutableRawBufferPointer?
    private var start = 0
    private var end = 0

    init() {}

    deinit { memory?.deallocate() }

    var isEmpty: Bool { start == end }

    var count: Int { end - start }

    /// Keeps a copy of `octets`; the buffer is empty before.
    ///
    /// - Parameter room: the minimum capacity in bytes; ignored if `octets` is empty.
    mutating func keep(_ octets: UnsafeRawBufferPointer, room: Int = 0) {
        // Holds: the connection reads when the buffer is empty, and then keeps what is left over once.
        precondition(isEmpty, "what is kept is consumed before more is read")
        guard octets.count > 0 else { return }
        let fresh = UnsafeMutableRawBufferPointer.allocate(byteCount: max(octets.count, room), alignment: 16)
        fresh.copyMemory(from: octets)
        memory = fresh
        end = octets.count
    }

    /// Room for the next bytes; empty where none was made.
    var room: UnsafeMutableRawBufferPointer {
        guard let memory else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
        return UnsafeMutableRawBufferPointer(rebasing: memory[end...])
    }

    /// Bytes were received into `room`.
    mutating func received(_ count: Int) { end += count }

    /// Calls `body` with the bytes.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let memory else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        return try body(UnsafeRawBufferPointer(rebasing: memory[start..<end]))
    }

    mutating func consume(_ count: Int) {
        start += count
        if start == end { reset() }
    }

    private mutating func reset() {
        memory?.deallocate()
        memory = nil
        start = 0
        end = 0
    }

    /// All of it as a chunk, without a copy where nothing of it was consumed and it takes most of its memory.
    mutating func takeAll() -> ContentChunk? {
        guard let memory, let base = memory.baseAddress else { return nil }
        if start == 0, end > memory.count / 2 {
            let chunk = ContentChunk(adopting: base, count: end)
            self.memory = nil
            end = 0
            return chunk
        }
        let chunk = ContentChunk(copying: UnsafeRawBufferPointer(rebasing: memory[start..<end]))
        reset()
        return chunk
    }
}
