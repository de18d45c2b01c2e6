// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The content of a load's response as one client reads it: shared with others, or, where all of it arrived with the
/// head, from memory. Confined to the client's loop.
struct ResponseContent {
    private enum Source {
        /// All of it.
        case whole([ContentChunk], trailers: Fields)
        case shared(SharedLoad, reader: Int)
    }

    let load: ActiveLoad
    /// Further information about the response.
    let remarks: SharedLoad.Remarks
    private var source: Source

    /// The content that a reader gets of an answered load.
    init(of load: ActiveLoad, _ shared: SharedLoad, for reader: Int) {
        self.load = load
        remarks = shared.remarks
        source = .shared(shared, reader: reader)
    }

    /// The complete content of a finished load, for its first client.
    init(_ whole: [ContentChunk] = [], trailers: Fields = Fields(), of load: Load) {
        self.load = load.listed
        remarks = load.remarks
        source = .whole(whole, trailers: trailers)
    }

    /// True if `next` returns without waiting.
    var isAtHand: Bool {
        switch source {
        case .whole: true
        case .shared(let shared, let reader): shared.hasNext(for: reader)
        }
    }

    /// The next piece.
    mutating func next() async -> SharedLoad.Piece {
        switch source {
        case .shared(let shared, let reader): return await shared.next(for: reader)
        case .whole(let chunks, let trailers):
            guard !chunks.isEmpty else { return .end(trailers: trailers) }
            source = .whole([], trailers: trailers)
            return .chunks(chunks)
        }
    }
}
