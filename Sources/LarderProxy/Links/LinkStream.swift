// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderCodings
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// The content of one response on its way to a client of the gateway: decoded, and its links mapped, as it arrives.
/// Confined to its loop.
final class LinkStream {
    private var scanner: LinkScanner
    private let decoder: LarderCodings.ContentDecoder?

    /// The most bytes that content may decode to.
    private static let limit = 1 << 30
    /// Bytes of output without regard to the input. Beyond, each byte of input may make `expansion` bytes: several
    /// times more than real text does, and a fraction of a decompression bomb's.
    private static let allowance = 16 << 20
    private static let expansion = 128
    /// Bytes that are decoded and mapped at once.
    private static let stepLength = 16 << 10
    /// Work before others get their turn: bytes that are read, as `LinkScanner.work` counts them.
    private static let turnLength = 32 << 10

    /// A chunk of the response, as far as it was mapped.
    struct Part {
        private let chunk: ContentChunk
        fileprivate var offset = 0
        fileprivate(set) var isDone = false

        fileprivate init(_ chunk: ContentChunk) { self.chunk = chunk }

        fileprivate var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: chunk.bytes[offset...]) }
    }

    /// Bytes of coded content so far.
    private var consumed = 0
    /// Work at the end of the last turn.
    private var turnStart = 0

    init?(_ map: LinkMap, undoing coding: ServedCoding) {
        scanner = LinkScanner(map)
        guard coding != .identity else {
            decoder = nil
            return
        }
        guard let decoder = try? ContentCoding(token: coding.rawValue)?.decoder(limit: LinkStream.limit) else {
            return nil
        }
        self.decoder = decoder
    }

    func part(_ chunk: ContentChunk) -> Part { Part(chunk) }

    /// True if others on the loop should get their turn now; the caller gives it to them. It counts across chunks: a
    /// response that is being loaded comes in chunks that are each shorter than a turn, and the next is often there.
    func endsTurn() -> Bool {
        let work = scanner.work + consumed + (decoder?.produced ?? 0)
        guard work - turnStart >= LinkStream.turnLength else { return false }
        turnStart = work
        return true
    }

    /// The next piece made of a part: a bounded one, so that the content of a short part that expands to a long one is
    /// never in memory all at once.
    func take(_ part: inout Part) throws -> [ContentChunk] {
        let result: [UInt8]
        if let decoder {
            var plain: [UInt8] = []
            let progress: LarderCodings.ContentDecoder.Progress
            do {
                progress = try decoder.decode(part.rest, untilOutputOf: LinkStream.stepLength, into: &plain)
            } catch {
                throw LinkStream.failure(error)
            }
            part.offset += progress.consumed
            part.isDone = progress.isDone
            consumed += progress.consumed
            let allowed = LinkStream.allowance + consumed * LinkStream.expansion
            guard decoder.produced <= allowed else {
                throw LinkStream.failure(CodingError(decoder.coding, .tooLarge(limit: allowed)))
            }
            result = scanner.take(plain)
        } else {
            let rest = part.rest
            let step = UnsafeRawBufferPointer(rebasing: rest.prefix(LinkStream.stepLength))
            part.offset += step.count
            part.isDone = step.count == rest.count
            result = scanner.take(step)
        }
        return result.isEmpty ? [] : [ContentChunk(result)]
    }

    /// The rest at the end of the content.
    func finish() throws -> [ContentChunk] {
        do { try decoder?.finish() } catch { throw LinkStream.failure(error) }
        let rest = scanner.take([], isLast: true)
        return rest.isEmpty ? [] : [ContentChunk(rest)]
    }

    private static func failure(_ error: CodingError) -> UpstreamError {
        UpstreamError(.protocolError, "The origin sent content whose links cannot be mapped: \(error).")
    }
}

/// Entity tags of content with mapped links: the origin's tag, with a digest of the map appended. A URL of the gateway
/// keeps its tag only while the map is unchanged.
enum LinkTag {
    private static let mark = Array(";larder-links.".utf8)
    private static let length = mark.count + 16 + 1

    static func make(_ original: EntityTag, digest: String) -> EntityTag? {
        guard original.isWellFormed else { return nil }
        let octets = Array(original.octets.dropLast()) + mark + Array(digest.utf8) + [UInt8(ascii: "\"")]
        return octets.withUnsafeBytes { EntityTag($0) }
    }

    /// The origin's tag, if `tag` was made with this digest.
    static func original(of tag: EntityTag, digest: String) -> EntityTag? {
        let end = mark + Array(digest.utf8) + [UInt8(ascii: "\"")]
        guard tag.isWellFormed, tag.octets.count > length, tag.octets.suffix(length).elementsEqual(end) else {
            return nil
        }
        return (Array(tag.octets.dropLast(length)) + [UInt8(ascii: "\"")]).withUnsafeBytes { EntityTag($0) }
    }
}
