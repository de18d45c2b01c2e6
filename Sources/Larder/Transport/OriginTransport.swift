// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP
package import LarderIO
import LarderUpstream

/// Sends requests to origins over HTTP/1.1: the default transport of services.
///
/// Its threads start when it is first used and end with it or with the process. Connections are kept open and reused.
/// Redirections are followed (RFC 9110 §15.4): after 301, 302 or 303 a POST continues as GET, requests to another
/// origin lose all fields that could contain a credential, and https is never redirected to http. Certificates are
/// verified. There are no cookies.
///
/// It fails with a `TransportError`, or a `TransportFailure` around one when a part of the response had arrived.
public final class OriginTransport: UpstreamTransport {
    /// The transport of services without one of their own.
    public static let shared = OriginTransport()

    /// How origins are reached.
    public let options: TransportOptions
    private let time: any TimeSource
    private let loops = Lock<TransportLoops?>(nil)

    /// Makes a transport with connections of its own. Nothing is opened before its first use.
    public convenience init(_ options: TransportOptions = TransportOptions()) {
        self.init(options, time: SystemTime())
    }

    /// The same with clocks of its own for everything that has a limit.
    package init(_ options: TransportOptions, time: any TimeSource) {
        self.options = options
        self.time = time
    }

    public func send(_ request: OutgoingRequest, progress: TransferProgress) async throws -> IncomingResponse {
        try await send(request, request.body.map(OutgoingContent.octets) ?? .none, progress)
    }

    // MARK: Parts

    func exchange(_ progress: TransferProgress) throws(TransportError) -> OriginExchange {
        OriginExchange(loops: try startedLoops(), options: options, progress: progress)
    }

    private func startedLoops() throws(TransportError) -> TransportLoops {
        let result: Result<TransportLoops, TransportError> = loops.withLock { loops in
            if let loops { return .success(loops) }
            do throws(TransportError) {
                let made = try TransportLoops(options, time: time)
                loops = made
                return .success(made)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Sends a request with content from any source and reads the whole response into memory.
    func send(
        _ request: OutgoingRequest, _ content: OutgoingContent, _ progress: TransferProgress
    ) async throws -> IncomingResponse {
        let limit = options.contentLimit
        return try await exchange(progress).perform(request, content) { arrival in
            let response = arrival.response
            func tooLarge() -> TransportError {
                response.abort()
                return TransportError(
                    .contentTooLarge, "The response is longer than \(limit) octets.",
                    advice: "Raise `contentLimit` of the transport's options, or download it into a file.",
                    url: arrival.url)
            }
            var octets: [UInt8] = []
            if let length = response.contentLength {
                guard length <= limit else { throw tooLarge() }
                octets.reserveCapacity(Int(length))
            }
            do {
                while let chunk = try await response.nextChunk() {
                    guard octets.count + chunk.count <= limit else { throw tooLarge() }
                    chunk.withBytes { octets.append(contentsOf: $0) }
                    progress.update { $0.received = octets.count }
                }
            } catch let error as UpstreamError {
                throw TransportFailure(
                    OriginExchange.error(error, for: arrival.url),
                    response: IncomingResponse(response: response.head, body: octets))
            }
            return IncomingResponse(response: response.head, body: octets)
        }
    }
}

/// The transport is a session: each iteration of the values for a request sends it once.
extension OriginTransport: Session {
    public func values(for request: OutgoingRequest) -> Values<IncomingResponse, any Error> {
        Values(single: { try await self.send(request, progress: TransferProgress()) })
    }
}

extension OriginTransport {
    /// Sends a request and returns as soon as its response begins; the content is read piece by piece.
    ///
    /// The connection is in use until the content is read to its end, or the stream is released.
    public func stream(
        _ request: OutgoingRequest, progress: TransferProgress = TransferProgress()
    ) async throws
        -> ResponseStream
    {
        let exchange = try exchange(progress)
        let content = request.body.map(OutgoingContent.octets) ?? .none
        return try await exchange.perform(request, content) { arrival in
            ResponseStream(ResponseSource(arrival, exchange.loops, progress))
        }
    }
}

/// A response whose content is read as it arrives, once, by one task.
public struct ResponseStream: AsyncSequence, Sendable {
    public typealias Element = ContentChunk

    private let source: ResponseSource

    init(_ source: ResponseSource) { self.source = source }

    /// Status and fields.
    public var response: ResponseHead { source.head }
    /// The URL of the response, after redirections.
    public var url: TargetURI { source.url }
    /// Bytes of content, if that is known.
    public var contentLength: Int? { source.contentLength }

    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// The pieces of the content that have not been read.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: ResponseSource

        public mutating func next() async throws -> ContentChunk? { try await source.next() }
    }
}

/// A response on its loop, used from outside that loop.
final class ResponseSource: Sendable {
    private final class Box {
        var response: UpstreamResponse?
        init(_ response: UpstreamResponse) { self.response = response }
    }

    let head: ResponseHead
    let url: TargetURI
    let contentLength: Int?
    private let box: Confined<Box>
    private let abort: Confined<UpstreamAbort>
    private let loop: TransportLoop
    /// Keeps the loop running.
    private let loops: TransportLoops
    private let progress: TransferProgress

    init(_ arrival: OriginExchange.Arrival, _ loops: TransportLoops, _ progress: TransferProgress) {
        head = arrival.response.head
        url = arrival.url
        contentLength = arrival.response.contentLength.map { Int($0) }
        box = Confined(Box(arrival.response))
        abort = Confined(arrival.abort)
        loop = arrival.loop
        self.loops = loops
        self.progress = progress
    }

    deinit {
        let (box, loops) = (box, loops)
        loop.loop.execute { _ in
            // Here, because its contents belong to the loop.
            box.value.response?.abort()
            box.value.response = nil
            withExtendedLifetime(loops) {}
        }
    }

    func next() async throws -> ContentChunk? {
        let (box, abort, loop, url, progress) = (box, abort, loop, url, progress)
        return try await withTaskCancellationHandler {
            try await loop.run { _ in
                do {
                    guard let chunk = try await box.value.response?.nextChunk() else { return nil }
                    progress.update { $0.received += chunk.count }
                    return chunk
                } catch {
                    throw OriginExchange.error(error, for: url)
                }
            }
        } onCancel: {
            loop.loop.execute { _ in abort.value.abort() }
        }
    }
}
