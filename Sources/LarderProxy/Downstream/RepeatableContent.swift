// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderUpstream

/// The content of a client's request, read ahead up to a limit, so that it can be sent more than once.
///
/// Confined to the exchange's loop.
final class RepeatableContent {
    private let content: RequestContent
    private var chunks: [ContentChunk] = []
    /// True if all of it was read.
    private(set) var isWhole = false
    /// True if there is room for more.
    private var isKept = true
    /// Bytes kept.
    private(set) var count = 0

    /// Content beyond this size is streamed and not kept.
    static let limit = 1 << 20

    init(_ content: RequestContent) { self.content = content }

    /// Reads to the end or the limit.
    ///
    /// - Throws: as `RequestContent.next`.
    func readAhead() async throws {
        if case .length(let length) = content.framing, length > UInt64(RepeatableContent.limit) { return }
        while count <= RepeatableContent.limit, isKept {
            guard let chunk = try await content.next() else {
                isWhole = true
                return
            }
            chunks.collect(chunk)
            count += chunk.count
            isKept = content.keep(chunk.count)
        }
    }

    /// The content as sent inbound: the kept part, then the rest from the client.
    var outgoing: UpstreamRequest.Content {
        var index = 0
        return .stream(
            content.framing,
            next: { [self] in
                guard index < chunks.count else { return isWhole ? nil : try await content.next() }
                defer { index += 1 }
                return chunks[index]
            },
            trailers: { [self] in content.trailers })
    }

    /// True if any of it was asked for.
    var hasBegun: Bool { isWhole || count > 0 }

    /// All of it; nil when it is not completely kept.
    var octets: [ContentChunk]? { isWhole ? chunks : nil }
}
