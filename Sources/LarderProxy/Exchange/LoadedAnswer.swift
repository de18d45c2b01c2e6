// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// The answer to a client from a load, which it leads or has joined. Confined to its loop.
struct LoadedAnswer: ExchangeStep {
    /// The outcome for the client's request.
    enum Outcome {
        case answered
        /// The situation changed: it is decided again.
        case decidedAnew
        /// The response is for another client alone: this one's request is sent on its own.
        case askedAlone
        /// The request of another client may be why the load failed.
        case decidedWarily
        /// The response does not match: it is decided again without this load.
        case passedOver(ActiveLoad)
    }

    let lookup: CacheLookup
    let status: CacheStatus
    /// A stored variant that may be served if the load fails.
    let fallback: Variant?

    var exchange: Exchange { lookup.exchange }

    /// Runs a load in this client's task until all of it is received, which for most loads is when the origin answers.
    /// A longer load continues in a new task, and this client reads it like any other client, so that a slow or leaving
    /// client does not affect the others.
    func lead(_ load: Load) async throws -> Outcome {
        defer {
            watch.stop()
            load.dismissClient(request.passOnOriginPlace)
        }
        do {
            try watch.start(whileAwaiting: .led(load))
        } catch {
            load.start()
            throw error
        }
        load.leader = writer.onInterim
        load.begin()
        var answer: SharedLoad.Answer?
        var content: ResponseContent?
        var shared: (SharedLoad, reader: Int)?
        do {
            let outcome = try await load.ask()
            switch outcome {
            case .settled(let variant):
                load.end()
                keepCookies(load.cookies)
                answer = .settled(variant)
            case .received(let response, let received, let disposition):
                answer = try load.takeAtOnce(response, received, disposition)
                if answer == nil {
                    if load.leader != nil { shared = load.readAsFirst() }
                    load.goOn(with: outcome)
                } else {
                    content = ResponseContent(response.contentHere, trailers: response.trailers, of: load)
                }
            }
        } catch {
            load.fail(error)
            answer = .failed(error)
        }
        guard load.leader != nil else { throw ClientGone() }
        load.leader = nil
        if let answer { return try await give(answer, content ?? ResponseContent(of: load), isLeader: true) }
        // Holds: a load that goes on is shared, unless its client has left.
        guard let (shared, reader) = shared else { throw ClientGone() }
        let told = try await self.answer(of: shared, for: reader)
        return try await give(told, ResponseContent(of: load.listed, shared, for: reader), isLeader: true)
    }

    private func keepCookies(_ values: [String]) {
        guard !values.isEmpty else { return }
        var fields = Fields()
        for value in values { fields.append(.setCookie, value) }
        writer.ownCookies = request.mapped(fields, by: lookup.service)[all: .setCookie]
    }

    /// Joins a load that another client started.
    func follow(_ load: ActiveLoad) async throws -> Outcome {
        let shared = load.share()
        let reader = shared.read()
        request.linkSpan(to: load)
        defer {
            watch.stop()
            load.leave(reader)
        }
        try watch.start(whileAwaiting: .load(load, reader: reader))
        let answer = try await answer(of: shared, for: reader)
        return try await give(answer, ResponseContent(of: load, shared, for: reader), isLeader: false)
    }

    /// The shared load's answer; interim responses meanwhile are relayed to the client.
    func answer(of shared: SharedLoad, for reader: Int) async throws -> SharedLoad.Answer {
        while true {
            switch await shared.nextEvent(for: reader) {
            case .interim(let head): try await writer.relayInterim(head)
            case .answer(let answer): return answer
            case nil: throw ClientGone()
            }
        }
    }

    // MARK: Outcomes

    /// Answers the client with the outcome of a load.
    private func give(
        _ answer: SharedLoad.Answer, _ content: ResponseContent, isLeader: Bool
    ) async throws -> Outcome {
        let load = content.load
        switch answer {
        case .failed(let error):
            if !isLeader, let outcome = outcome(of: error, with: load) { return outcome }
            var status = status
            status.detail = content.remarks.sending
            return try await serve(insteadOf: error, status) ? .answered : .decidedAnew
        case .settled(let variant):
            guard variant.stored.variance.matches(request.head.fields) else { return .passedOver(load) }
            guard isLeader || !content.remarks.isForOne && isShared(variant.stored, with: load) else {
                return .askedAlone
            }
            return try await give(variant, content.remarks, isLeader: isLeader) ? .answered : .decidedAnew
        case .response(let response, let length, let stored):
            // For all who wait, not for the first alone: the others would only ask a failing origin again.
            if try await serveStale(insteadOf: response) { return .answered }
            if !isLeader {
                // The response is for the first client alone; so this one asks for itself (T-16).
                guard let stored else { return .askedAlone }
                guard stored.variance.matches(request.head.fields) else { return .passedOver(load) }
                guard isShared(stored, with: load) else { return .askedAlone }
            }
            guard isLeader && mustRelay(stored, length) || request.accepts(response, stored, of: load) else {
                return try await passOver(response, stored, content, isLeader: isLeader)
            }
            try await give(response, length, stored, content, isLeader: isLeader)
            return .answered
        }
    }

    /// Answers with the stored response that a load has found to be good.
    private func give(_ variant: Variant, _ remarks: SharedLoad.Remarks, isLeader: Bool) async throws -> Bool {
        let age = Age.currentAge(of: variant.stored, at: context.now())
        if let supplier = remarks.supplier {
            writer.record.kind = isLeader ? .hit : .collapsed
            let ttl = variant.stored.facts.freshUntil - context.now()
            return try await lookup.serve(
                variant, StoredUse(age: age, status: CacheStatus(.hit, ttl: ttl, detail: supplier)))
        }
        writer.record.kind = isLeader ? .validated : .collapsed
        var status = status.answered(304)
        status.detail = remarks.sending
        return try await lookup.serve(variant, StoredUse(age: age, status: status))
    }

    /// Answers with a response as it arrives.
    private func give(
        _ response: ResponseHead, _ length: Int64?, _ stored: StoredResponse?, _ content: ResponseContent,
        isLeader: Bool
    ) async throws {
        writer.record.kind = isLeader ? .miss : .collapsed
        var status = status.answered(content.remarks.received ?? response.status)
            .stored(isLeader && stored != nil && !content.remarks.isRefused)
        status.detail = content.remarks.detail
        if let word = stored?.facts.ignored { status.note(word) }
        if isLeader { return try await relay(response, length, content, status) }
        // Followers get the same response as later clients.
        var shared = ResponseHead(
            status: response.status, fields: stored?.sharable(response.fields) ?? response.fields)
        // It may have begun long ago.
        let age = stored.map { Age.currentAge(of: $0, at: context.now()).wholeSeconds } ?? 0
        if age > 0 { shared.fields[.age] = String(age) }
        try await relay(shared, length, content, status, isShared: true)
    }

    /// The outcome if an error does not concern this client, which waited for the load: the pipeline refused a response
    /// that this client would not have received, or the origin may object to the request that was sent. Else nil.
    private func outcome(of error: any Error, with load: ActiveLoad) -> Outcome? {
        if let error = error as? UpstreamError {
            guard error.isOfExchange, !lookup.isWary, fallback == nil else { return nil }
            return TraceFields.areSame(load.request.fields, request.head.fields) ? nil : .decidedWarily
        }
        guard let failure = error as? PipelineFailure, !failure.isBusy else { return nil }
        guard let refused = failure.refused else { return .askedAlone }
        guard refused.variance.matches(request.head.fields) else { return .passedOver(load) }
        return isShared(refused, with: load) ? nil : .askedAlone
    }

    /// True if the response to the load's first client also answers this one, which waited for it.
    private func isShared(_ stored: StoredResponse, with load: ActiveLoad) -> Bool {
        let fields = request.head.fields
        return Reuse.mayShare(
            stored, askedFor: load.request.fields, with: fields,
            policy: lookup.policy.narrowed(for: load.request.fields).narrowed(for: fields), now: context.now())
    }

    /// True if the first client gets the response as it arrives, in any coding: the stored form lacks fields that are
    /// for this client alone, the response may have no end, or collapsing was tried and it was not shareable.
    private func mustRelay(_ stored: StoredResponse?, _ length: Int64?) -> Bool {
        guard let directives = stored?.facts.directives, let length, length <= Recoding.longest else { return true }
        return lookup.asksAlone || !directives.noCacheFields.isEmpty || !directives.privateFields.isEmpty
    }

    /// Waits until a shareable response is complete, to be sent in another coding then.
    private func passOver(
        _ response: ResponseHead, _ stored: StoredResponse?, _ content: ResponseContent, isLeader: Bool
    ) async throws -> Outcome {
        guard let stored else { return .askedAlone }
        var content = content
        waiting: while true {
            switch await content.next() {
            case .chunks, .spooled: continue
            case .end: break waiting
            case .failed(let error): throw error
            case .interrupted: throw ClientGone()
            }
        }
        guard isLeader else { return .passedOver(content.load) }
        // Not decided anew: it is an answer to this very request, even where it is stale at once.
        guard let variant = await landed(stored) else { return .askedAlone }
        writer.record.kind = .miss
        keepCookies(response.fields[all: .setCookie])
        var status = status.answered(content.remarks.received ?? response.status).stored(true)
        status.detail = content.remarks.detail
        let age = Age.currentAge(of: variant.stored, at: context.now())
        return try await lookup.serve(variant, StoredUse(age: age, status: status)) ? .answered : .decidedAnew
    }

    /// The variant that a load has made of its response; nil where it came to be none.
    private func landed(_ stored: StoredResponse) async -> Variant? {
        if let variant = lookup.resource.memory.snapshot.variants.first(where: { $0.isLanded(stored) }) {
            return variant
        }
        return await context.diskTier?.variant(
            like: stored, of: lookup.resource, lookup.service, lookup.configuration)
    }

    // MARK: Failures

    /// Answers after a failed load: with stale data if they may be served, else with the error.
    func serve(insteadOf error: any Error, _ status: CacheStatus) async throws -> Bool {
        // The origin may have entered backoff only since the decision to ask it.
        let hold = (error as? UpstreamError)?.hold
        let refusal = (error as? PipelineFailure)?.status
        let failure: UpstreamFailure = hold?.failure ?? refusal.map { .status($0) } ?? .disconnected
        let answered =
            hold.map { CacheStatus(.hit, detail: $0.reason.rawValue) } ?? refusal.map(status.answered) ?? status
        if let fallback, try await serveStale(fallback, failure, answered) { return true }
        writer.record.cacheStatus = hold.map { CacheStatus(.held, detail: $0.reason.rawValue) } ?? status
        throw Problem(upstream: error, place: request.uri.authority)
    }

    /// Answers with stale data in place of a response that is a failure, if they may be served.
    func serveStale(insteadOf response: ResponseHead) async throws -> Bool {
        guard let fallback,
            let failure = StaleUse.failure(response, inPlaceOf: fallback.stored, policy: lookup.policy)
        else { return false }
        return try await serveStale(fallback, failure, status.answered(response.status))
    }

    private func serveStale(
        _ variant: Variant, _ failure: UpstreamFailure, _ status: CacheStatus
    ) async throws -> Bool {
        let decision = StaleUse.onError(
            variant.stored, failure: failure, request: request.head, policy: lookup.policy, now: context.now())
        guard case .serve(let age, let ttl, let reason) = decision else { return false }
        writer.record.kind = .stale
        var status = status
        status.ttl = ttl
        if status.outcome != .hit { status.detail = reason.rawValue }
        return try await lookup.serve(variant, StoredUse(age: age, status: status))
    }
}
