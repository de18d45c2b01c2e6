// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderCodings
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// The content of a load, collected for a program that looks at its Resource.
struct ShownContent {
    private(set) var chunks: [ContentChunk]? = []
    private var count = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    mutating func append(_ chunk: ContentChunk) {
        count += chunk.count
        if count > limit { chunks = nil } else { chunks?.collect(chunk) }
    }

    /// Nil when there is too much of it.
    var joined: [UInt8]? {
        guard let chunks else { return nil }
        var octets: [UInt8] = []
        octets.reserveCapacity(count)
        for chunk in chunks { chunk.withBytes { octets.append(contentsOf: $0) } }
        return octets
    }
}

/// Loads of Resources that a program looks at: their outcome becomes the state that it sees.
extension Load {
    /// Shows a response that no transformer has changed for clients.
    func show(_ received: ReceivedResponse) async {
        guard let shown else { return }
        guard isForAll(received) else { return listed.forPrograms.isForClientAlone = true }
        let (head, times) = (received.head, received.times)
        guard let octets = shown.joined else {
            let error = UpstreamTooLarge(limit: context.memoryObjectLimit)
            return listed.forPrograms.outcome = .failure(resource.failure(error, at: times.response))
        }
        let limit = context.memoryObjectLimit
        let result =
            if let processed {
                processed.result
            } else {
                await resource.transform(
                    configuration.frozen.configuration, on: context.proxy.transforming.threads,
                    clock: LoopClock(context.loop)
                ) {
                    Entity(
                        content: octets, fields: head.fields, status: head.status, timestamp: times.response,
                        requestTime: times.request, responseTime: times.response
                    ).decoded(limit: limit)
                }
            }
        show(result.response, of: received)
    }

    /// Shows the pipeline's result for a response.
    func show(_ response: Response, of received: ReceivedResponse) {
        guard isForAll(received) else { return listed.forPrograms.isForClientAlone = true }
        listed.forPrograms.outcome = response.mapError { resource.failure($0, at: $0.timestamp) }
    }

    /// Shows a failure, unless it is about a response for a client alone.
    func show(_ error: any Error) {
        if let failure = error as? PipelineFailure, failure.isForOne,
            !listed.forPrograms.isOwn, !resource.partition.isOfUser
        {
            return listed.forPrograms.isForClientAlone = true
        }
        listed.forPrograms.outcome = .failure(failureForPrograms(error))
    }

    /// Shows a 304 to a request without a condition of ours. It confirms the data that the program sees if the request was
    /// about just that; otherwise it says nothing about any.
    func showUnasked(_ received: ReceivedResponse, _ conditions: Fields?) {
        guard shown != nil else { return }
        guard isForAll(received) else { return listed.forPrograms.isForClientAlone = true }
        let (head, times) = (received.head, received.times)
        if let data = resource.data(validatedBy: conditions ?? request.fields) {
            listed.forPrograms.confirmation = ProgramLoad.Confirmation(
                head, of: data.fields, requestTime: times.request, responseTime: times.response)
        } else if !listed.forPrograms.isOwn, request.fields.askWhetherModified {
            // The client asked about what it has itself.
            listed.forPrograms.isForClientAlone = true
        } else {
            let error = RequestError(status: head.status, cause: NoLocalDataFor304(), timestamp: times.response)
            listed.forPrograms.outcome = .failure(resource.failure(error, at: times.response))
        }
    }

    func failureForPrograms(_ error: any Error) -> RequestError { resource.failure(error, at: context.now()) }

    /// True if the response describes the state of the Resource. False if it was made for a single client among others.
    private func isForAll(_ received: ReceivedResponse) -> Bool {
        if received.isKept || listed.forPrograms.isOwn || resource.partition.isOfUser { return true }
        let request = clientHead.fields
        guard !request.contains(.authorization), !request.contains(.cookie), !received.head.fields.contains(.setCookie)
        else { return false }
        let flags = CacheControl.Response(received.head.fields, targets: policy.targets).flags
        return !flags.contains(.noStore) && !flags.contains(.isPrivate)
    }
}

/// A response does not fit into memory, so programs cannot get it as an entity.
private struct UpstreamTooLarge: Error, CustomStringConvertible {
    let limit: Int
    var description: String { "The response is larger than memory takes (\(limit) octets)." }
}

extension Resource {
    /// A failure as a program sees it.
    func failure(_ error: any Error, at now: Timestamp) -> RequestError {
        var made =
            switch error {
            case let error as RequestError: error
            case let error as PipelineFailure: error.cause
            case let error as UpstreamError: error.cause as? RequestError ?? RequestError(cause: error, timestamp: now)
            case is ClientGone: RequestError(cause: RequestCancelled(networkError: error), timestamp: now)
            default: RequestError(cause: error, timestamp: now)
            }
        made.url = url
        made.method = .get
        return made
    }
}

extension Entity<[UInt8]> {
    /// The entity without its content coding, where that is a known one.
    func decoded(limit: Int) -> Entity<[UInt8]> {
        guard let name = fields[.contentEncoding], let coding = ContentCoding(token: name),
            let octets = try? coding.decode(content, limit: limit)
        else { return self }
        var entity = withContent(octets)
        entity.fields.remove(.contentEncoding)
        return entity
    }
}
