// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderUpstream

/// The content of a request on its way out, wherever it is.
enum OutgoingContent: Sendable {
    case none
    case octets([UInt8])
    case file(FileReader)

    /// Bytes.
    var count: Int {
        switch self {
        case .none: 0
        case .octets(let octets): octets.count
        case .file(let file): file.count
        }
    }

    /// So much goes out in one piece, and the request with it can be sent again by the pool.
    private static let wholeLimit = 64 << 10
    private static let pieceSize = 256 << 10

    /// The content in the pool's form; `sent` is called with the number of bytes sent.
    func upstream(for method: Method, sent: @escaping (Int) -> Void) -> UpstreamRequest.Content {
        switch self {
        case .none:
            // These usually have content, so that its absence is said (RFC 9110 §8.6).
            [.post, .put, .patch].contains(method) ? .octets(ContentChunk([])) : .none
        case .octets(let octets) where octets.count <= OutgoingContent.wholeLimit: .octets(ContentChunk(octets))
        case .octets(let octets):
            stream { offset in
                octets.withUnsafeBytes { all in
                    let end = min(offset + OutgoingContent.pieceSize, all.count)
                    return ContentChunk(copying: UnsafeRawBufferPointer(rebasing: all[offset..<end]))
                }
            } sent: {
                sent($0)
            }
        case .file(let file):
            stream {
                try await file.read(from: $0, count: OutgoingContent.pieceSize)
            } sent: {
                sent($0)
            }
        }
    }

    /// The pieces one after the other. When the next one is asked for, those before it have left.
    private func stream(
        _ piece: @escaping (Int) async throws -> ContentChunk, sent: @escaping (Int) -> Void
    ) -> UpstreamRequest.Content {
        let count = count
        var offset = 0
        let next: () async throws -> ContentChunk? = {
            sent(offset)
            guard offset < count else { return nil }
            let chunk = try await piece(offset)
            offset += chunk.count
            return chunk
        }
        return .stream(.length(UInt64(count)), next: next, trailers: { Fields() })
    }
}
