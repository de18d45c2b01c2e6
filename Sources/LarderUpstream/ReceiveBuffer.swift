// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// What a connection has received and nobody has asked for yet, in the order it came. Mostly nothing: it is what
/// follows a head in the same read, or a chunk that was not taken whole.
struct ReceiveBuffer {
    private var rest: ContentChunk?
    private var start = 0

    var isEmpty: Bool { rest == nil }

    /// Keeps a copy of `octets`; the buffer is empty before.
    mutating func keep(_ octets: UnsafeRawBufferPointer) {
        // Holds: the connection reads when the buffer is empty, and then keeps what is left over once.
        precondition(isEmpty, "what is kept is consumed before more is read")
        guard octets.count > 0 else { return }
        rest = ContentChunk(copying: octets)
        start = 0
    }

    /// Calls `body` with the octets.
    func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let rest else { return try body(UnsafeRawBufferPointer(start: nil, count: 0)) }
        defer { withExtendedLifetime(rest) {} }
        return try body(UnsafeRawBufferPointer(rebasing: rest.bytes[start...]))
    }

    mutating func consume(_ count: Int) {
        guard let rest else { return }
        start += count
        if start == rest.count { self.rest = nil }
    }

    /// All of it as a chunk, without a copy where nothing of it was consumed.
    mutating func takeAll() -> ContentChunk? {
        guard let rest else { return nil }
        self.rest = nil
        return start == 0 ? rest : ContentChunk(copying: UnsafeRawBufferPointer(rebasing: rest.bytes[start...]))
    }

    var count: Int { rest.map { $0.count - start } ?? 0 }
}
