// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores

/// Streams of events that must end in a certain way to be kept.
extension Load {
    /// How much of the end is looked at.
    static let streamEndLength = 4 << 10

    /// Whether the response is a stream whose end has to be seen.
    func hasStreamEnd(_ head: ResponseHead) -> Bool {
        !configuration.frozen.configuration.streamEnds.isEmpty
            && head.fields[.contentType].flatMap { MediaType($0) }?.essence == "text/event-stream"
    }

    /// Whether a stream that ends in these octets is whole.
    func isWhole(_ head: ResponseHead, endingIn tail: @autoclosure () -> [UInt8]) -> Bool {
        guard hasStreamEnd(head) else { return true }
        // In another coding the end cannot be read.
        guard ServedCoding(of: head.fields) == .identity else { return false }
        let end = String(decoding: tail().suffix(Load.streamEndLength), as: UTF8.self)
        return configuration.frozen.configuration.streamEnds.contains { end.contains($0) }
    }

    /// Lets the readers go and keeps nothing.
    func dropCut(_ head: ResponseHead, _ sink: ContentSink, trailers: Fields) {
        sink.writer?.abort()
        note(UnstoredResponse(head, at: context.now(), .allPassed, isCut: true))
        finish(trailers)
    }
}
