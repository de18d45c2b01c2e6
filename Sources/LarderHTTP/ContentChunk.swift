// SPDX-License-Identifier: Apache-2.0

/// A run of content octets that is filled once and then only read, so that any number of clients, the store and
/// the pipeline share it without copying.
public final class ContentChunk: Sendable {
    /// The octets. Read-only once the chunk has left the function that made it; valid as long as the chunk lives.
    package nonisolated(unsafe) let base: UnsafeMutableRawPointer
    public let count: Int

    /// Makes a chunk of `count` octets, which `fill` writes.
    package init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        base = .allocate(byteCount: max(count, 1), alignment: 16)
        self.count = count
        fill(UnsafeMutableRawBufferPointer(start: base, count: count))
    }

    /// Makes a chunk with a copy of `bytes`.
    public convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    public convenience init(_ bytes: some Sequence<UInt8>) {
        let array = Array(bytes)
        self.init(count: array.count) { $0.copyBytes(from: array) }
    }

    deinit { base.deallocate() }

    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Calls `body` with the octets.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(self) { try body(bytes) }
    }
}
