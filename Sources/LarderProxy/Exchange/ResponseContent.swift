// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The content of a load's response as one client reads it: shared with others, or, where all of it arrived with the
/// head, from memory. Confined to the client's loop.
final class ResponseContent {
    let sharedLoad: SharedLoad
    private let reader: Int
    /// All of it; nil when it is read from the shared load.
    private var whole: [ContentChunk]?
    private var trailers = Fields()

    /// The content that `reader` gets from the shared load.
    init(of sharedLoad: SharedLoad, for reader: Int) {
        self.sharedLoad = sharedLoad
        self.reader = reader
    }

    /// The complete content of a finished load.
    init(_ whole: [ContentChunk], trailers: Fields, of sharedLoad: SharedLoad, for reader: Int) {
        self.sharedLoad = sharedLoad
        self.reader = reader
        self.whole = whole
        self.trailers = trailers
    }

    /// Whether `next` returns without waiting.
    var isAtHand: Bool { whole != nil || sharedLoad.hasNext(for: reader) }

    /// The next piece.
    func next() async -> SharedLoad.Piece {
        guard let chunks = whole else { return await sharedLoad.next(for: reader) }
        guard !chunks.isEmpty else { return .end(trailers: trailers) }
        whole = []
        return .chunks(chunks)
    }
}
