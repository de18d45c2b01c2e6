// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

/// The content of a load's response as one client reads it: shared with others, or, where all of it arrived with the
/// head, from memory. Confined to the client's loop.
final class ResponseContent {
    let flight: Flight
    private let reader: Int
    /// All of it; nil when it is read from the flight.
    private var whole: [ContentChunk]?
    private var trailers = Fields()

    /// The content that `reader` gets from the flight.
    init(of flight: Flight, for reader: Int) {
        self.flight = flight
        self.reader = reader
    }

    /// The complete content of a finished load.
    init(_ whole: [ContentChunk], trailers: Fields, of flight: Flight, for reader: Int) {
        self.flight = flight
        self.reader = reader
        self.whole = whole
        self.trailers = trailers
    }

    /// Whether `next` returns without waiting.
    var isAtHand: Bool { whole != nil || flight.hasNext(for: reader) }

    /// The next piece.
    func next() async -> Flight.Piece {
        guard let chunks = whole else { return await flight.next(for: reader) }
        guard !chunks.isEmpty else { return .end(trailers: trailers) }
        whole = []
        return .chunks(chunks)
    }
}
