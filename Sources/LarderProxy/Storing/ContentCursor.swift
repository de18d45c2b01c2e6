// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO

/// Stored content, in memory or on disk, read from any offset.
package enum ContentCursor {
    case memory([ContentChunk], length: Int64)
    case store(any ContentReader, length: Int64)

    /// Nil when the content is missing or damaged.
    package static func open(_ content: VariantContent) async throws(StoreUnavailable) -> ContentCursor? {
        switch content {
        case .memory(let chunks, let length): .memory(chunks, length: Int64(length))
        case .store(let source): try await source.open().map { .store($0, length: source.length) }
        }
    }

    package var length: Int64 {
        switch self {
        case .memory(_, let length), .store(_, let length): length
        }
    }

    /// At least one byte and up to `count` from `offset` on; nil when they are lost.
    package func read(at offset: Int64, count: Int) async throws(StoreUnavailable) -> [ContentChunk]? {
        switch self {
        case .store(let reader, _): try await reader.read(at: offset, count: count).map { [$0] }
        case .memory(let chunks, _): ContentChunk.slice(of: chunks, from: offset, count: count)
        }
    }
}
