// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP
import LarderIO
import LarderStores

/// Content between the engine and this process: a piece at a time, however long it is.
extension SharedTier {
    /// So many pieces are asked for, or written, together.
    private static let batch = 4
    /// How many bytes of content there are in memory at a time, at most.
    package static let octetsAtOnce = 2 * batch * SharedEntity.pieceLength

    // MARK: Reading

    /// All of an entity's content; nil if a piece is missing, does not match its digest, or is late.
    package func content(of entity: SharedEntity) async -> [ContentChunk]? {
        var chunks: [ContentChunk] = []
        let isWhole = await read(entity.content) { chunk in
            chunks.append(chunk)
            return true
        }
        return isWhole ? chunks : nil
    }

    /// Streams verified chunks to `take`, in order. False if a piece is missing, does not match its digest, or is late,
    /// or if `take` returns false.
    package func read(_ content: SharedEntity.Content, _ take: (ContentChunk) async -> Bool) async -> Bool {
        let begun = loop.monotonicHere()
        switch content {
        case .inline(let octets):
            if octets.isEmpty { return true }
            return await take(ContentChunk(octets))
        case .pieces(let digests, let length):
            return await read(digests, from: 0, of: length, since: begun, take)
        case .lists(let lists, let length):
            let all = SharedContent.count(of: length)
            for (number, list) in lists.enumerated() {
                let first = number * SharedEntity.listLength
                guard isInTime(first, since: begun), case .success(.bulk(let octets)) = await ask([list])[0] else {
                    return false
                }
                let count = min(SharedEntity.listLength, all - first)
                guard let digests = SharedContent.digests(octets, list, count: count) else {
                    return await reject(list)
                }
                guard await read(digests, from: first, of: length, since: begun, take) else { return false }
            }
            return true
        }
    }

    /// - Parameter first: the index of the first of these pieces among all of the content.
    private func read(
        _ digests: [ContentDigest], from first: Int, of length: Int64, since begun: Int64,
        _ take: (ContentChunk) async -> Bool
    ) async -> Bool {
        for start in stride(from: 0, to: digests.count, by: SharedTier.batch) {
            guard isInTime(first + start, since: begun) else { return false }
            let batch = Array(digests[start..<min(start + SharedTier.batch, digests.count)])
            for (number, outcome) in await ask(batch).enumerated() {
                guard case .success(.bulk(let octets)) = outcome else { return false }
                let expected = SharedContent.length(of: first + start + number, in: length)
                guard Int64(octets.count) == expected, let chunk = SharedContent.chunk(octets, batch[number]) else {
                    return await reject(batch[number])
                }
                guard await take(chunk), isInTime(first + start + number, since: begun) else { return false }
            }
        }
        return true
    }

    /// - Returns: false.
    private func reject(_ piece: ContentDigest) async -> Bool {
        state.counters.add(.rejected)
        _ = await engine.perform(state.keys.remove(piece), until: engine.instant(after: timeout))
        return false
    }

    /// For how long the beginning is waited for, beyond the pace that follows.
    private var contentTime: Duration { max(timeout * 10, .seconds(2)) }
    /// How long each piece that has come gives to the next ones: 33 MB/s.
    private static let pieceTime = Duration.milliseconds(8)

    /// True if the origin is not the better choice by now: the client waits for all of the content, and each batch may
    /// come just in time for itself.
    ///
    /// - Parameter pieces: how many have come.
    private func isInTime(_ pieces: Int, since begun: Int64) -> Bool {
        loop.monotonicHere() < begun.advanced(by: contentTime + SharedTier.pieceTime * pieces)
    }

    /// Each batch has its own time too.
    private func ask(_ pieces: [ContentDigest]) async -> [EngineOutcome] {
        await engine.perform(pieces.map { state.keys.read($0) }, until: engine.instant(after: timeout))
    }

    // MARK: Writing

    /// Writes content as `next` gives it, which is asked for so many bytes from an offset on; nil when it has none, or
    /// the engine takes none.
    package func write(
        contentOf length: Int64, _ next: (_ offset: Int64, _ count: Int) async -> [UInt8]?
    ) async -> SharedEntity.Content? {
        guard length > 0 else { return .inline([]) }
        let all = SharedContent.count(of: length)
        var digests: [ContentDigest] = []
        var batch: [SharedContent.Piece] = []
        for index in 0..<all {
            let count = Int(SharedContent.length(of: index, in: length))
            guard mayWrite, let octets = await next(Int64(index) * Int64(SharedEntity.pieceLength), count),
                octets.count == count
            else { return nil }
            let piece = SharedContent.Piece(digest: ContentDigest(of: octets), octets: octets)
            digests.append(piece.digest)
            batch.append(piece)
            guard batch.count == SharedTier.batch || index == all - 1 else { continue }
            guard await write(batch, until: engine.instant(after: SharedTier.writeTime)) else { return nil }
            batch = []
        }
        guard all > SharedEntity.pieceLimit else { return .pieces(digests, length: length) }
        var lists: [ContentDigest] = []
        for start in stride(from: 0, to: all, by: SharedEntity.listLength) {
            let list = SharedContent.list(digests[start..<min(start + SharedEntity.listLength, all)])
            lists.append(list.digest)
            guard await write([list], until: engine.instant(after: SharedTier.writeTime)) else { return nil }
        }
        return .lists(lists, length: length)
    }

    /// Writes those pieces that are not there, and lets the others live on.
    func write(_ pieces: [SharedContent.Piece], until deadline: Int64) async -> Bool {
        guard !pieces.isEmpty else { return true }
        let kept = await engine.perform(pieces.map { state.keys.keep($0.digest) }, until: deadline)
        let missing = zip(pieces, kept).filter { $1 != .success(.integer(1)) }.map(\.0)
        for piece in missing {
            let outcome = await change(state.keys.write(piece.digest, piece.octets), until: deadline)
            guard case .success = outcome else { return false }
        }
        return true
    }
}
