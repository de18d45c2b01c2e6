// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules

extension LoadedAnswer {
    /// Sends the head and then the content as it arrives.
    ///
    /// - Parameter isShared: whether the response was made for another client: its trailers, which are not stored, are
    ///   for that one alone.
    func relay(
        _ response: ResponseHead, _ length: Int64?, _ content: ResponseContent, _ status: CacheStatus,
        isShared: Bool = false
    ) async throws {
        var fields = request.mapped(response.fields, by: lookup.service)
        request.noteForms(in: &fields, of: response, lookup.policy)
        writer.links = lookup.mapsLinks ? lookup.links.begin(in: &fields, of: response.status) : nil
        let evaluator = lookup.configuration.mayTransform ? Preconditions.Evaluator.origin : .cache
        let precondition =
            request.traits.has(.conditional)
            ? Preconditions.evaluate(request.head, against: response, receivedAt: context.now(), as: evaluator)
            : .proceed
        switch precondition {
        case .notModified:
            writer.startHead(status: 304, fields: Preconditions.notModifiedFields(fields))
            writer.finishHead(length: nil, cacheStatus: status)
            return try await writer.sendHead()
        case .preconditionFailed(let field): throw Problem.preconditionFailed(by: field)
        case .proceed: break
        }
        writer.startHead(status: response.status, fields: fields)
        writer.finishHead(
            length: length, cacheStatus: status,
            proxyStatus: ProxyStatus(receivedStatus: content.remarks.received ?? response.status))
        guard writer.delivery != .none else { return try await writer.sendHead() }
        // With the content in one write if it has been received; but an event stream may not begin for long.
        if !content.isAtHand { try await writer.sendHead() }
        var content = content
        while true {
            switch await content.next() {
            case .chunks(let chunks): try await writer.sendContent(chunks)
            case .spooled(let spool, let offset, let count): try await send(spool, from: offset, count: count)
            case .end(let trailers): return try await writer.endContent(trailers: isShared ? Fields() : trailers)
            case .failed(let error): throw error
            case .interrupted: throw ClientGone()
            }
        }
    }

    private func send(_ spool: any ContentReader, from start: Int64, count: Int) async throws {
        let end = start + Int64(count)
        var offset = start
        while offset < end {
            guard let chunk = try await spool.read(at: offset, count: Int(end - offset)) else {
                throw SharedLoadError.fellBehind
            }
            offset += Int64(chunk.count)
            try await writer.sendContent([chunk])
        }
    }
}
