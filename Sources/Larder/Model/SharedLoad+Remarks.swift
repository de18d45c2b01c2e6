// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP
import LarderIO
package import LarderRules

/// The events and values that a shared load delivers to its readers.
extension SharedLoad {
    /// Further remarks about a load, known once there is an answer.
    package struct Remarks: Sendable {
        /// Why the response is not stored.
        package var unstored: UnstoredReason?
        /// How the configuration changed the request to the origin; nil for no change.
        package var sending: String?
        /// The detail in `Cache-Status` of a stored response that a stage has supplied, so that the origin was not asked.
        package var supplier: String?
        /// The origin's status, where the pipeline has made another of it.
        package var received: Status?
        /// True if the pipeline has made an error of the response, so that it is not stored.
        package var isRefused = false
        /// True if the origin's confirmation of a stored response has fields for the first client alone.
        package var isForOne = false

        package init() {}

        /// All remarks, in the words of `Cache-Status`.
        package var detail: String? {
            guard let unstored else { return sending }
            return sending.map { "\(unstored.word), \($0)" } ?? unstored.word
        }
    }

    /// The result of the request, delivered to each reader before any content.
    package enum Answer: Sendable {
        /// A response whose content follows. `stored` is set when it is being stored, and so may be shared.
        case response(ResponseHead, length: Int64?, stored: StoredResponse?)
        /// The stored response was still good, or was replaced by one that is: read the Resource again.
        case settled(Variant)
        case failed(any Error)
    }

    /// An event that a reader receives before any content.
    package enum HeadEvent: Sendable {
        /// An interim response.
        case interim(ResponseHead)
        case answer(Answer)
    }

    /// A piece of content for one reader.
    package enum Piece: Sendable {
        case chunks([ContentChunk])
        /// These bytes have left the window: read them from the spool.
        case spooled(any ContentReader, offset: Int64, count: Int)
        case end(trailers: Fields)
        case failed(any Error)
        case interrupted
    }
}
