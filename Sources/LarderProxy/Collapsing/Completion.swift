// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Stored parts, and the request for what is missing of them.
struct Completion {
    let variant: Variant
    let filling: Filling
    /// As it goes upstream.
    let request: RequestHead

    /// Nil when nothing is gained by asking for less than the client does.
    ///
    /// - Parameter head: the client's request as it would go upstream.
    init?(of variant: Variant, for client: RequestHead, sentAs head: RequestHead) {
        guard case .ask(let filling) = PartialContent.fill(variant.stored, for: client) else { return nil }
        self.variant = variant
        self.filling = filling
        var request = head
        request.fields[.range] = filling.range
        request.fields.remove(.ifRange)
        filling.ifRange.withUnsafeBytes { request.fields.append(.ifRange, bytes: $0) }
        self.request = request
    }

    /// Octets of the representation, as far as they are held.
    struct Source {
        let cursor: ContentCursor
        let extent: StoredResponse.Extent

        /// Nil when the content is gone.
        init?(_ variant: Variant) async {
            guard let cursor = await ContentCursor.open(variant.content) else { return nil }
            self.cursor = cursor
            extent = variant.stored.extent
        }

        /// Some of the octets of `range`, from its start on; nil when they cannot be had.
        func read(_ range: Range<Int64>) async -> [ContentChunk]? {
            guard let offset = extent.offset(of: range.lowerBound) else { return nil }
            // Up to the end of the run that is held: what follows in the content may be from elsewhere.
            guard case .parts(let parts, _) = extent, let part = parts.first(where: { $0.last >= range.lowerBound })
            else { return nil }
            // A representation may be said to be as long as numbers go: nothing is added to a position in it.
            let run = min(range.upperBound, part.last + 1) - range.lowerBound
            return await cursor.read(at: offset, count: Int(min(run, 256 << 10)))
        }
    }
}
