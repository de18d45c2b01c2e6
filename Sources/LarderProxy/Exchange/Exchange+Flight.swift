// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

extension Exchange {
    /// For how long after a response that was not stored clients do not wait for each other's.
    private static let unsharedPeriod = Duration.seconds(120)

    /// Asks the upstream, collapsed with equal requests under way, and relays the response. False when the response
    /// does not match this request: the caller decides anew.
    ///
    /// - Parameters:
    ///   - variant: the stored variant to validate.
    ///   - fallback: one that may be served if the upstream fails.
    ///   - parts: one with some of the requested octets.
    func fetch(
        _ retrieval: inout Retrieval, reason: ForwardReason, validating variant: Variant?, fallback: Variant? = nil,
        completing parts: Variant? = nil
    ) async throws -> Bool {
        // Credentials that changed while the store was read: responses to them are for another partition, or wiped.
        if let successor = retrieval.service.successor(in: context.configuration.router.table) {
            try await retrieve(successor, retrieval.way)
            return true
        }
        let memory = retrieval.resource.memory
        let status = CacheStatus(.forward(reason))
        // Responses useful to this client alone are relayed without a load: HEAD has no content to share. Not where a
        // pipeline may change the content.
        if traits.method == .head || (retrieval.asksAlone && !retrieval.configuration.mayTransform) {
            do {
                try await forward(retrieval.service, retrieval.way, reason: reason, retrieval: retrieval)
            } catch let error as UpstreamError where !hasResponded {
                return try await serveFailure(error, variant ?? fallback, status, retrieval)
            }
            return true
        }
        let load = Load(exchange: self, retrieval, validating: variant, completing: parts, isBackground: false)
        let passedOver = retrieval.passedOver
        let joining = memory.join(
            since: load.isJoinable ? retrieval.snapshot : nil,
            expectingSharedUnlessSince: context.now() - Exchange.unsharedPeriod,
            where: { $0.isJoinable && load.isJoinable && $0 !== passedOver }, orStart: { load.flight })
        switch joining {
        case .overtaken: return false
        case .unshared:
            retrieval.asksAlone = true
            return false
        case .started:
            return try await lead(load, status, variant ?? fallback, &retrieval)
        case .joined(let flight):
            return try await follow(flight, status.collapsed(true), variant ?? fallback, &retrieval)
        }
    }

    /// Joins a load that another client started.
    private func follow(
        _ flight: Flight, _ status: CacheStatus, _ fallback: Variant?, _ retrieval: inout Retrieval
    ) async throws -> Bool {
        let reader = flight.read()
        linkSpan(to: flight)
        defer {
            stopWatching()
            flight.leave(reader)
        }
        try watchClient(whileAwaiting: .flight(flight, reader: reader))
        let answer = try await answer(of: flight, for: reader)
        return try await give(
            answer, ResponseContent(of: flight, for: reader), isLeader: false, status, fallback, &retrieval)
    }

    /// Answers the client with the outcome of a load. False when that does not match its request: the caller decides
    /// anew.
    func give(
        _ answer: Flight.Answer, _ content: ResponseContent, isLeader: Bool, _ status: CacheStatus,
        _ fallback: Variant?, _ retrieval: inout Retrieval
    ) async throws -> Bool {
        let flight = content.flight
        switch answer {
        case .failed(let error):
            var status = status
            status.detail = flight.remarks.sending
            return try await serveFailure(error, fallback, status, retrieval)
        case .settled(let variant):
            guard variant.stored.variance.matches(head.fields) else {
                retrieval.passedOver = flight
                return false
            }
            guard isLeader || isShared(variant.stored, with: flight, retrieval) else {
                retrieval.asksAlone = true
                return false
            }
            let age = Age.currentAge(of: variant.stored, at: context.now())
            if flight.remarks.isShared {
                record.kind = isLeader ? .hit : .collapsed
                let ttl = variant.stored.facts.freshUntil - context.now()
                return try await serve(
                    variant, StoredUse(age: age, status: CacheStatus(.hit, ttl: ttl, detail: SharingRules.detail)),
                    retrieval)
            }
            record.kind = isLeader ? .validated : .collapsed
            var status = status.answered(304)
            status.detail = flight.remarks.sending
            return try await serve(variant, StoredUse(age: age, status: status), retrieval)
        case .response(let response, let length, let stored):
            guard isLeader || stored != nil else {
                // The response is for the first client alone; so this one asks for itself (T-16).
                retrieval.asksAlone = true
                return false
            }
            if let stored, !isLeader, !stored.variance.matches(head.fields) {
                retrieval.passedOver = flight
                return false
            }
            if let stored, !isLeader, !isShared(stored, with: flight, retrieval) {
                retrieval.asksAlone = true
                return false
            }
            guard accepts(response, stored, of: flight) else {
                return try await passOver(content, isKept: stored != nil, &retrieval)
            }
            if let fallback,
                let failure = StaleUse.failure(response, inPlaceOf: fallback.stored, policy: retrieval.policy),
                try await serveStale(fallback, failure, status.answered(response.status), retrieval)
            {
                return true
            }
            record.kind = isLeader ? .miss : .collapsed
            var status = status.answered(response.status).stored(isLeader && stored != nil)
            status.detail = flight.remarks.detail
            if let word = stored?.facts.ignored { status.note(word) }
            if isLeader {
                try await relay(response, length, content, status, retrieval)
            } else {
                // Followers get what the next client will get.
                let shared = ResponseHead(
                    status: response.status, fields: stored?.sharable(response.fields) ?? response.fields)
                try await relay(shared, length, content, status, retrieval, isShared: true)
            }
            return true
        }
    }

    /// Whether the response to the load's first client also answers this one, which waited for it.
    private func isShared(_ stored: StoredResponse, with flight: Flight, _ retrieval: Retrieval) -> Bool {
        Reuse.mayShare(
            stored, askedFor: flight.request.fields, with: head.fields,
            policy: retrieval.policy.narrowed(for: flight.request.fields).narrowed(for: head.fields), now: context.now()
        )
    }

    /// The flight's answer; interim responses meanwhile are relayed to the client.
    func answer(of flight: Flight, for reader: Int) async throws -> Flight.Answer {
        while true {
            switch await flight.word(for: reader) {
            case .interim(let head): try await relayInterim(head)
            case .answer(let answer): return answer
            case nil: throw ClientGone()
            }
        }
    }

    /// Sends the head and then the content as it arrives.
    ///
    /// - Parameter isShared: whether the response was made for another client: its trailers, which are not stored, are
    ///   for that one alone.
    func relay(
        _ response: ResponseHead, _ length: Int64?, _ content: ResponseContent, _ status: CacheStatus,
        _ retrieval: Retrieval, isShared: Bool = false
    ) async throws {
        var fields = retrieval.way.isGateway ? mapped(response.fields, retrieval) : response.fields
        noteForms(in: &fields, of: response, retrieval.policy)
        beginLinks(in: &fields, of: response.status, retrieval.service, retrieval.way, retrieval.configuration)
        let evaluator = retrieval.configuration.mayTransform ? Preconditions.Evaluator.origin : .cache
        let precondition =
            traits.has(.conditional)
            ? Preconditions.evaluate(head, against: response, receivedAt: context.now(), as: evaluator) : .proceed
        switch precondition {
        case .notModified:
            startHead(status: 304, fields: Preconditions.notModifiedFields(fields))
            finishHead(length: nil, cacheStatus: status)
            return try await sendHead()
        case .preconditionFailed(let field): throw Problem.preconditionFailed(by: field)
        case .proceed: break
        }
        startHead(status: response.status, fields: fields)
        finishHead(length: length, cacheStatus: status, proxyStatus: ProxyStatus(receivedStatus: response.status))
        guard delivery != .none else { return try await sendHead() }
        // With the content in one write if it has been received; but an event stream may not begin for long.
        var isHeadPending = content.isAtHand
        if !isHeadPending { try await sendHead() }
        while true {
            switch await content.next() {
            case .chunks(let chunks):
                if isHeadPending { try await sendHead(with: chunks) } else { try await sendContent(chunks) }
                isHeadPending = false
            case .spooled(let spool, let offset, let count):
                if isHeadPending { try await sendHead() }
                isHeadPending = false
                try await send(spool, from: offset, count: count)
            case .end(let trailers):
                if isHeadPending { try await sendHead() }
                return try await endContent(trailers: isShared ? Fields() : trailers)
            case .failed(let error):
                throw error
            case .interrupted:
                throw ClientGone()
            }
        }
    }

    private func send(_ spool: any ContentReader, from start: Int64, count: Int) async throws {
        let end = start + Int64(count)
        var offset = start
        while offset < end {
            guard let chunk = await spool.read(at: offset, count: Int(end - offset)) else {
                throw FlightError.fellBehind
            }
            offset += Int64(chunk.count)
            try await sendContent([chunk])
        }
    }

    // MARK: Failures

    /// Answers after a failed load: with stale data if they may be served, else with the error.
    private func serveFailure(
        _ error: any Error, _ fallback: Variant?, _ status: CacheStatus, _ retrieval: Retrieval
    ) async throws -> Bool {
        // The origin may have entered backoff only since the decision to ask it.
        let hold = (error as? UpstreamError)?.hold
        let isRefused = error is PipelineFailure
        let failure: UpstreamFailure = hold?.failure ?? (isRefused ? .status(502) : .disconnected)
        let answered =
            hold.map { CacheStatus(.hit, detail: $0.reason.rawValue) } ?? (isRefused ? status.answered(502) : status)
        if let fallback, try await serveStale(fallback, failure, answered, retrieval) { return true }
        record.cacheStatus = hold.map { CacheStatus(.held, detail: $0.reason.rawValue) } ?? status
        throw Problem(upstream: error, place: uri.authority)
    }

    private func serveStale(
        _ variant: Variant, _ failure: UpstreamFailure, _ status: CacheStatus, _ retrieval: Retrieval
    ) async throws -> Bool {
        let decision = StaleUse.onError(
            variant.stored, failure: failure, request: head, policy: retrieval.policy, now: context.now())
        guard case .serve(let age, let ttl, let reason) = decision else { return false }
        record.kind = .stale
        var status = status
        status.ttl = ttl
        if status.outcome != .hit { status.detail = reason.rawValue }
        return try await serve(variant, StoredUse(age: age, status: status), retrieval)
    }
}
