// SPDX-License-Identifier: Apache-2.0

/// A run of content bytes that is filled once and then only read, so that any number of clients, the store and
/// the pipeline share it without copying.
public final class ContentChunk: Sendable {
    /// The bytes. Valid as long as the chunk lives.
    // nonisolated(unsafe): only read once the chunk has left the function that made it.
    package nonisolated(unsafe) let base: UnsafeMutableRawPointer
    /// Bytes.
    public let count: Int

    /// Makes a chunk of `count` bytes, which `fill` writes.
    package init(count: Int, fill: (UnsafeMutableRawBufferPointer) -> Void) {
        base = .allocate(byteCount: max(count, 1), alignment: 16)
        self.count = count
        fill(UnsafeMutableRawBufferPointer(start: base, count: count))
    }

    /// Makes a chunk that owns `memory` and contains its first `count` bytes. No other code may use the memory
    /// afterwards. It must have been allocated with an alignment of at most 16.
    package init(adopting memory: UnsafeMutableRawPointer, count: Int) {
        base = memory
        self.count = count
    }

    /// Makes a chunk with a copy of `bytes`.
    public convenience init(copying bytes: UnsafeRawBufferPointer) {
        self.init(count: bytes.count) { $0.copyMemory(from: bytes) }
    }

    /// Makes a chunk of these bytes.
    public convenience init(_ bytes: some Sequence<UInt8>) {
        let array = Array(bytes)
        self.init(count: array.count) { $0.copyBytes(from: array) }
    }

    deinit { base.deallocate() }

    /// The bytes from `offset` on, as a chunk of their own.
    package func suffix(from offset: Int) -> ContentChunk {
        withBytes { ContentChunk(copying: UnsafeRawBufferPointer(rebasing: $0[offset...])) }
    }

    /// Up to `count` bytes from `offset` of the content that `chunks` are together, sharing whole chunks; nil when
    /// there are none.
    package static func slice(of chunks: [ContentChunk], from offset: Int64, count: Int) -> [ContentChunk]? {
        var result: [ContentChunk] = []
        var position: Int64 = 0
        var left = count
        for chunk in chunks where left > 0 && result.count < 16 {
            let start = Int(max(0, min(Int64(chunk.count), offset - position)))
            position += Int64(chunk.count)
            let taken = min(chunk.count - start, left)
            guard taken > 0 else { continue }
            left -= taken
            result.append(
                taken == chunk.count
                    ? chunk
                    : chunk.withBytes {
                        ContentChunk(copying: UnsafeRawBufferPointer(rebasing: $0[start..<start + taken]))
                    })
        }
        return result.isEmpty ? nil : result
    }

    /// The same content in fewer, larger chunks.
    package static func coalesced(_ chunks: [ContentChunk], size: Int = 256 << 10) -> [ContentChunk] {
        let total = chunks.reduce(0) { $0 + $1.count }
        if chunks.count <= 1 || chunks.count <= total / size { return chunks.filter { $0.count > 0 } }
        var result: [ContentChunk] = []
        var offset: Int64 = 0
        var index = 0
        var skipped = 0
        while offset < Int64(total) {
            let count = min(size, total - Int(offset))
            result.append(
                ContentChunk(count: count) { target in
                    var filled = 0
                    while filled < count {
                        let source = chunks[index]
                        let taken = min(source.count - skipped, count - filled)
                        source.withBytes { bytes in
                            UnsafeMutableRawBufferPointer(rebasing: target[filled..<filled + taken])
                                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[skipped..<skipped + taken]))
                        }
                        filled += taken
                        skipped += taken
                        if skipped == source.count {
                            index += 1
                            skipped = 0
                        }
                    }
                })
            offset += Int64(count)
        }
        return result
    }

    /// Both in one piece.
    fileprivate func joined(with next: ContentChunk) -> ContentChunk {
        ContentChunk(count: count + next.count) { target in
            withBytes { target.copyMemory(from: $0) }
            next.withBytes { UnsafeMutableRawBufferPointer(rebasing: target[count...]).copyMemory(from: $0) }
        }
    }

    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

    /// Calls `body` with the bytes.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withExtendedLifetime(self) { try body(bytes) }
    }
}

extension [ContentChunk] {
    /// Up to this length, pieces are put together.
    private static var shortest: Int { 2 << 10 }

    /// Appends collected content. Short pieces are joined, as each piece has its own allocation: even if a peer sends
    /// very small pieces, the total takes little more memory than their bytes.
    package mutating func collect(_ chunk: ContentChunk) {
        guard let last, last.count + chunk.count <= Self.shortest else { return append(chunk) }
        self[count - 1] = last.joined(with: chunk)
    }
}
