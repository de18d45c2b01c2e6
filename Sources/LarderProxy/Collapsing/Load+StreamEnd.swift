// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores

/// Event streams that are stored only if they end as configured.
extension Load {
    /// How many octets of the end are examined.
    static let streamEndLength = 4 << 10

    /// Whether the response is a stream whose end must be examined.
    func hasStreamEnd(_ head: ResponseHead) -> Bool {
        !configuration.streamEnds.isEmpty && head.isEventStream
    }

    /// Whether a stream that ends in these octets is complete.
    func isWhole(_ head: ResponseHead, endingIn tail: @autoclosure () -> [UInt8]) -> Bool {
        guard hasStreamEnd(head) else { return true }
        // The end of encoded content cannot be read.
        guard ServedCoding(of: head.fields) == .identity else { return false }
        let end = String(decoding: tail().suffix(Load.streamEndLength), as: UTF8.self)
        return configuration.streamEnds.contains { end.contains($0) }
    }

    /// Ends the readers' content and stores nothing.
    func dropCut(_ head: ResponseHead, _ sink: ContentSink, trailers: Fields) {
        sink.writer?.finishUnstored()
        note(UnstoredResponse(head, at: context.now(), .allPassed, hindrance: .cut))
        finish(trailers)
    }
}
