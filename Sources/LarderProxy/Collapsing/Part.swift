// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderRules

/// A 206 response for a load, about to be stored.
struct Part {
    let head: ResponseHead
    /// The request it answers, with the client's `Range`.
    let request: RequestHead
    let times: ReceivedResponse.Times
    /// The URL that redirects have led to; nil for none.
    var place: String?

    /// The stored result: its content, and the response made of it.
    struct Landing {
        let stored: StoredResponse
        let content: [ContentChunk]
        /// True if enough is new to rewrite the store's copy.
        let isWorthWriting: Bool
    }

    /// The response to be stored for this part alone; a part with all bytes becomes a 200.
    func stored(_ policy: CachePolicy, length: Int64?) -> StoredResponse {
        var kept = head
        if case .range(let range, let completeLength?) = ContentRange(head.fields), range.count == completeLength,
            length ?? completeLength == completeLength
        {
            kept.status = 200
            kept.fields.remove(.contentRange)
        }
        return StoredResponse(
            kept, to: request, from: place, requestTime: times.request, responseTime: times.response,
            contentLength: length,
            policy: policy)
    }

    /// The part of `content`, which is the whole 206, and of `held` to store; nil to leave `held` as it is.
    func landing(
        _ stored: StoredResponse, _ content: [ContentChunk], beside held: Variant?, for load: Load
    ) async -> Landing? {
        let length = content.reduce(0) { $0 + Int64($1.count) }
        let alone = Landing(
            stored: self.stored(load.policy, length: length), content: content, isWorthWriting: true)
        guard let held else { return alone }
        guard held.stored.isPartial else { return nil }
        // A whole replaces any part.
        guard alone.stored.isPartial, place == nil else { return alone }
        let decision = PartialContent.combine(
            held.stored, with: head, to: request, contentLength: length, requestTime: times.request,
            responseTime: times.response, policy: load.policy)
        guard case .combined(let combined, isForAll: true) = decision,
            case .range(let range, _) = ContentRange(head.fields)
        else {
            return held.stored.extent == .asReceived || alone.stored.extent != .asReceived ? alone : nil
        }
        let octets = combined.contentLength ?? 0
        if case .parts(let parts, _) = combined.extent, parts.count > PartialContent.partLimit { return nil }
        guard octets <= Int64(load.context.memoryObjectLimit) else { return nil }
        let spliced: [ContentChunk]
        do {
            guard let octets = try await splice(held, combined, content, at: range) else { return alone }
            spliced = octets
        } catch {
            // The stored parts may have more bytes than this one.
            return nil
        }
        return Landing(
            stored: combined, content: spliced,
            isWorthWriting: !combined.isPartial || (octets - held.content.length) * 4 >= octets)
    }

    /// The bytes of `combined`: the new part, and stored bytes around it. Nil if the stored bytes are lost.
    private func splice(
        _ held: Variant, _ combined: StoredResponse, _ content: [ContentChunk], at range: ByteRange
    ) async throws(StoreUnavailable) -> [ContentChunk]? {
        guard let source = try await RangeFill.Source(held) else { return nil }
        var spliced: [ContentChunk] = []
        var ranges = [ByteRange(first: 0, last: (combined.contentLength ?? 1) - 1)]
        if case .parts(let parts, _) = combined.extent { ranges = parts }
        for part in ranges {
            var position = part.first
            while position <= part.last {
                if range.first == position {
                    spliced += content
                    position = range.last + 1
                    continue
                }
                let end = position < range.first ? min(part.last + 1, range.first) : part.last + 1
                guard let chunks = try await source.read(position..<end) else { return nil }
                spliced += chunks
                position += chunks.reduce(0) { $0 + Int64($1.count) }
            }
        }
        return spliced
    }
}
