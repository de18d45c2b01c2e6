// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// What a flight tells its readers.
extension Flight {
    /// What else is known of a load once there is an answer.
    package struct Remarks: Sendable {
        /// Why the response is not stored.
        package var unstored: UnstoredReason?
        /// What the configuration did to the request on its way to the origin; nil for nothing.
        package var sending: String?

        /// All of it, in the words of `Cache-Status`.
        package var detail: String? {
            guard let unstored else { return sending }
            return sending.map { "\(unstored.word), \($0)" } ?? unstored.word
        }
    }

    /// What became of the request, told to each reader before any content.
    package enum Answer: Sendable {
        /// A response whose content follows. `stored` is set when it is being stored, and so may be shared.
        case response(ResponseHead, length: Int64?, stored: StoredResponse?)
        /// The stored response was still good, or was replaced by one that is: look at the Resource again.
        case settled(Variant)
        case failed(any Error)
    }

    /// What a reader hears before any content.
    package enum Word: Sendable {
        /// A response on the way to the final one.
        case interim(ResponseHead)
        case answer(Answer)
    }

    /// What is known of how far the load has come, in the model's terms: the request is on its way until there is an
    /// answer, which counts as its first octet.
    package var transferred: TransferProgress.Counters {
        guard let answer = currentAnswer else { return TransferProgress.Counters() }
        var counters = TransferProgress.Counters(received: Int(clamping: max(1, received)))
        if case .response(_, let length?, _) = answer { counters.toReceive = Int(clamping: max(1, length)) }
        return counters
    }

    /// A piece of content for one reader.
    package enum Piece: Sendable {
        case chunks([ContentChunk])
        /// These octets have left the window: read them from the spool.
        case spooled(any ContentReader, offset: Int64, count: Int)
        case end(trailers: Fields)
        case failed(any Error)
        case interrupted
    }
}
