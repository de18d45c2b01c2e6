// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// Stored parts, and the request for the missing bytes.
struct RangeFill {
    let variant: Variant
    let filling: Filling
    /// The request that is sent upstream.
    let request: RequestHead

    /// Nil when the request would be no smaller than the client's.
    ///
    /// - Parameter head: the client's request as it would go upstream.
    init?(of variant: Variant, for client: RequestHead, sentAs head: RequestHead, policy: CachePolicy) {
        guard case .ask(let filling) = PartialContent.fill(variant.stored, for: client, policy: policy) else {
            return nil
        }
        self.variant = variant
        self.filling = filling
        var request = head
        request.fields[.range] = filling.range
        request.fields.remove(.ifRange)
        filling.ifRange.withUnsafeBytes { request.fields.append(.ifRange, bytes: $0) }
        self.request = request
    }

    /// The bytes of the representation that are stored.
    struct Source {
        let cursor: ContentCursor
        let extent: StoredResponse.Extent

        /// Nil when the content is gone.
        init?(_ variant: Variant) async throws(StoreUnavailable) {
            guard let cursor = try await ContentCursor.open(variant.content) else { return nil }
            self.cursor = cursor
            extent = variant.stored.extent
        }

        /// Some of the bytes of `range`, from its start on; nil when they are lost.
        func read(_ range: Range<Int64>) async throws(StoreUnavailable) -> [ContentChunk]? {
            guard let offset = extent.offset(of: range.lowerBound) else { return nil }
            // Up to the end of the stored run: the bytes behind it may belong to another part.
            guard case .parts(let parts, _) = extent, let part = parts.first(where: { $0.last >= range.lowerBound })
            else { return nil }
            // A representation may claim any length: adding to a position in it might overflow.
            let run = min(range.upperBound, part.last + 1) - range.lowerBound
            return try await cursor.read(at: offset, count: Int(min(run, 256 << 10)))
        }
    }
}
