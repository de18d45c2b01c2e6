// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// The part of a load's content that is in memory: appended at its end, dropped at its start, read at any offset.
struct ContentWindow {
    private(set) var chunks: [ContentChunk] = []
    /// The offset at which each of `chunks` ends, except the last, which ends at `end`: most contents are one chunk.
    private var borders: [Int64] = []
    /// The offset of the first byte here.
    private(set) var start: Int64 = 0
    /// The offset behind the last.
    private(set) var end: Int64 = 0
    /// Bytes of memory that `chunks` occupy.
    private(set) var weight = 0

    /// The most chunks in a window, however small they are.
    private static let chunkLimit = 1024

    /// Bytes of memory that a chunk occupies: large ones are received into 64 KiB, small ones cost more than their
    /// content.
    static func weight(of chunk: ContentChunk) -> Int {
        (chunk.count > 32 << 10 ? max(chunk.count, 64 << 10) : chunk.count) + 128
    }

    mutating func append(_ chunk: ContentChunk) {
        if !chunks.isEmpty { borders.append(end) }
        chunks.append(chunk)
        end += Int64(chunk.count)
        weight += ContentWindow.weight(of: chunk)
    }

    /// True if nothing more fits into `size` bytes.
    func fills(_ size: Int) -> Bool { end - start >= Int64(size) || chunks.count >= ContentWindow.chunkLimit }

    /// Drops the chunks that end at `offset` or before.
    mutating func drop(before offset: Int64) { removeFirst(index(behind: offset)) }

    /// Drops chunks until at most `size` bytes are left.
    mutating func shrink(to size: Int) {
        let excess = index(endingAtOrBehind: end - Int64(size))
        removeFirst(max(excess, chunks.count - ContentWindow.chunkLimit))
    }

    /// Up to 16 chunks from `offset`, which is inside the window; the first is cut if it begins before it.
    func pieces(from offset: Int64) -> [ContentChunk] {
        let first = index(behind: offset)
        var found = Array(chunks[first..<min(first + 16, chunks.count)])
        let skipped = found.isEmpty ? 0 : Int(offset - (end(of: first) - Int64(found[0].count)))
        if skipped > 0 { found[0] = found[0].suffix(from: skipped) }
        return found
    }

    /// The offset at which a chunk ends.
    private func end(of index: Int) -> Int64 { index < borders.count ? borders[index] : end }

    /// How many chunks end at `offset` or before.
    private func index(behind offset: Int64) -> Int {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if end(of: middle) <= offset { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// How many chunks to drop so that the rest begins at `offset` or behind it.
    private func index(endingAtOrBehind offset: Int64) -> Int {
        guard offset > start else { return 0 }
        let passed = index(behind: offset)
        // The chunk that contains `offset` is dropped with them.
        let border = passed == 0 ? start : end(of: passed - 1)
        return border < offset ? passed + 1 : passed
    }

    private mutating func removeFirst(_ count: Int) {
        guard count > 0 else { return }
        start = end(of: count - 1)
        weight -= chunks[..<count].reduce(0) { $0 + ContentWindow.weight(of: $1) }
        if count == chunks.count {
            // A reader that was given all of them may share this very array.
            (chunks, borders) = ([], [])
        } else {
            chunks.removeFirst(count)
            borders.removeFirst(count)
        }
    }
}
