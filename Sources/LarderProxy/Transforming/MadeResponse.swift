// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import LarderUpstream

/// A transformed response, as clients get it.
struct MadeResponse {
    let head: ResponseHead
    let chunks: [ContentChunk]
    let length: Int
    /// True if it differs from the origin's.
    let isTransformed: Bool
    /// True if the pipeline turned a success into an error: clients get it, and it is not stored (T-06).
    let isRefusal: Bool
    /// True if it turned an error into data: it is stored as data is (T-06).
    let isPromoted: Bool
    /// The pipeline's result.
    let result: TransformedResponse
    private let originStatus: Status

    /// - Throws: `PipelineFailure`, when there is no response for clients.
    init(
        _ result: TransformedResponse, of received: ResponseHead, _ content: CollectedContent, _ sealed: SealedContent
    ) throws(PipelineFailure) {
        let served: Entity<[UInt8]>
        do {
            served = try result.served.get()
        } catch {
            throw PipelineFailure(cause: error)
        }
        var isSuccess = true
        if case .failure(let error) = result.response {
            if error.cause != nil { throw PipelineFailure(cause: error) }
            isSuccess = false
        }
        self.result = result
        originStatus = received.status
        isTransformed = result.isTransformed
        isPromoted = isSuccess && received.status.isError
        isRefusal = !isSuccess && !received.status.isError
        // A refused response with a successful status has no error status.
        let status = isRefusal && !served.status.isError ? 502 : served.status
        head = ResponseHead(status: status, fields: served.fields)
        chunks = result.hasOtherOctets ? sealed.chunks : ContentChunk.coalesced(content.chunks)
        length = chunks.reduce(0) { $0 + $1.count }
    }

    /// The variant of the response `stored` with this content.
    func variant(
        of stored: StoredResponse, storedAt: Timestamp, _ policy: CachePolicy, fingerprint: UInt64, via: String
    ) -> Variant {
        var rendition: Rendition?
        if isTransformed || isPromoted {
            // Only storable fields of the origin's response are stored.
            let kept = StoredResponse(
                status: head.status, fields: head.fields, requestTime: stored.requestTime,
                responseTime: stored.responseTime, policy: policy)
            rendition = Rendition(
                status: head.status, fields: kept.fields, originStatus: originStatus, isPromoted: isPromoted)
        }
        return Variant(
            stored: isTransformed ? stored : stored.complete(length: Int64(length), policy: policy),
            content: .memory(chunks, length: length), storedAt: storedAt, via: via,
            fingerprint: fingerprint, rendition: rendition)
    }
}

/// A response, and the pipeline's result for it.
struct ProcessedResponse {
    let response: UpstreamResponse
    let result: TransformedResponse
    let sealed: SealedContent
}

/// The pipeline's content, in chunks, with a strong entity tag computed where it was produced.
final class SealedContent: Sendable {
    private let made = Lock<[ContentChunk]>([])

    var chunks: [ContentChunk] { made.withLock { $0 } }

    func seal(_ entity: inout Entity<[UInt8]>) {
        let octets = entity.content
        entity.fields[.eTag] = "\"\(ContentDigest(of: octets).hexadecimal.prefix(32))\""
        made.withLock { $0 = octets.isEmpty ? [] : [ContentChunk(octets)] }
        entity.content = []
    }
}

/// A clock that waits on a loop.
struct LoopClock: ModelClock {
    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    var now: Timestamp { Timestamp(nanoseconds: loop.time.now()) }

    func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        let timer = Lock<Confined<LarderIO.Timer>?>(nil)
        loop.execute { loop in
            let made = Confined(loop.timer(after: delay, action))
            timer.withLock { $0 = made }
        }
        return ScheduledAction { [loop] in
            loop.execute { _ in timer.withLock { $0 }?.value.cancel() }
        }
    }
}
