// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderProxy

/// A recording as an HTTP Archive for others, made as it is sent: exchanges lose their secrets when it is their turn, so
/// that no thread is busy with them for long, nor when the client has gone.
///
/// `@unchecked Sendable`: the exchange that sends it asks for one piece after another, on its loop.
final class RecordingExport: OwnContent, @unchecked Sendable {
    struct Ending: Error, CustomStringConvertible {
        let description = "Larder ends before the export"
    }

    /// When a piece is long enough to be sent.
    private static let piece = 256 << 10

    private let recording: Recording
    private let walkers: WorkerPool
    private let isEnding: @Sendable () -> Bool
    private var rest: ArraySlice<RecordedExchange>
    /// The bytes and values of the exchanges so far, which an import will count in the same way.
    private var octets = 0
    private var values = 0
    private var omitted: Int
    private var hasBegun = false
    private var hasEnded = false

    /// - Parameter isEnding: whether nothing more is to be made.
    init(_ recording: Recording, walkers: WorkerPool, isEnding: @escaping @Sendable () -> Bool) {
        self.recording = recording
        self.walkers = walkers
        self.isEnding = isEnding
        rest = recording.exchanges[...]
        omitted = recording.omitted
    }

    func next() async throws -> ContentChunk? {
        guard !hasEnded else { return nil }
        var piece: [UInt8] = []
        if !hasBegun { piece += HTTPArchive.beginning.utf8 }
        while piece.count < RecordingExport.piece, let exchange = rest.popFirst() {
            guard !isEnding() else { throw Ending() }
            let (room, valuesLeft) = (Recording.limit - octets, Recording.valueLimit - values)
            let made = try await walkers.run { () -> (entry: [UInt8], size: Int, values: Int)? in
                let clean = exchange.withoutSecrets
                guard clean.size <= room, clean.valueCount <= valuesLeft else { return nil }
                return (HTTPArchive.entry(clean).octets, clean.size, clean.valueCount)
            }
            guard let made else {
                omitted += 1
                continue
            }
            if octets > 0 { piece.append(UInt8(ascii: ",")) }
            octets += made.size
            values += made.values
            piece += made.entry
        }
        hasBegun = true
        if rest.isEmpty {
            hasEnded = true
            piece += HTTPArchive.end(name: recording.name, omitted: omitted).utf8
        }
        return ContentChunk(piece)
    }
}
