// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The content of a load's response as one client reads it: along with others, or, where all of it came with its
/// head, from what is here. Confined to the client's loop.
final class ResponseContent {
    let flight: Flight
    private let reader: Int
    /// All of it; nil when it is read from the flight.
    private var whole: [ContentChunk]?
    private var trailers = Fields()

    /// What `reader` gets from the flight.
    init(of flight: Flight, for reader: Int) {
        self.flight = flight
        self.reader = reader
    }

    /// What a load has brought by its end.
    init(_ whole: [ContentChunk], trailers: Fields, of flight: Flight, for reader: Int) {
        self.flight = flight
        self.reader = reader
        self.whole = whole
        self.trailers = trailers
    }

    /// Whether `next` has an answer without waiting.
    var isAtHand: Bool { whole != nil || flight.hasNext(for: reader) }

    /// The next piece.
    func next() async -> Flight.Piece {
        guard let chunks = whole else { return await flight.next(for: reader) }
        guard !chunks.isEmpty else { return .end(trailers: trailers) }
        whole = []
        return .chunks(chunks)
    }
}
