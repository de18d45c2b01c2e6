// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream
import Logging

/// Sends a request to its origin as the decorators of its resource say: held back, and repeated.
///
/// A load is sent by one of these, so that everybody who waits for the load shares what becomes of it. Confined to
/// its loop.
struct InboundSender {
    let context: LoopContext
    let service: RoutedService
    let configuration: EffectiveConfiguration

    /// Content up to this size is read before a response is given up for another, so that its connection is free.
    static let discardLimit = 64 << 10

    /// - Parameter content: the request's content, if it has any and may have to be sent again.
    func send(
        _ request: UpstreamRequest, repeating content: RepeatableContent? = nil
    ) async throws -> UpstreamResponse {
        guard let decorators = configuration.decorators, decorators.changesRequests else {
            return try await context.send(request)
        }
        if let delay = decorators.delay {
            await context.sleep(for: delay)
            if request.abort.isAborted { throw ClientGone() }
        }
        if decorators.retry != nil { service.retryBudget.earn() }
        var attempt = 1
        while true {
            let outcome = await attemptOnce(request, content)
            guard let wait = wait(after: outcome, decorators, attempt, request, content) else {
                return try outcome.get()
            }
            if case .success(let response) = outcome { try await discard(response) }
            await context.sleep(for: wait)
            if request.abort.isAborted { throw ClientGone() }
            attempt += 1
        }
    }

    private func attemptOnce(
        _ request: UpstreamRequest, _ content: RepeatableContent?
    ) async -> Result<UpstreamResponse, any Error> {
        var request = request
        if let content { request.content = content.outgoing }
        do {
            return .success(try await context.send(request))
        } catch {
            return .failure(error)
        }
    }

    /// How long to wait before the request is made again; nil when it is not.
    private func wait(
        after outcome: Result<UpstreamResponse, any Error>, _ decorators: Decorators, _ attempt: Int,
        _ request: UpstreamRequest, _ content: RepeatableContent?
    ) -> Duration? {
        guard !request.abort.isAborted, !context.isDraining else { return nil }
        var cause: RetryCause?
        var retryAfter: Duration?
        switch outcome {
        case .success(let response):
            cause = .status(response.head.status)
            retryAfter = RetryAfter.delay(response.head.fields, now: context.now())
        case .failure(let error): cause = (error as? UpstreamError).flatMap(RetryCause.init)
        }
        let decision = RetryDecision.decide(
            decorators.retry, cause: cause, attempt: attempt, method: request.head.method,
            isRepeatable: request.content.isNone || content?.isWhole == true, retryAfter: retryAfter,
            chance: Double.random(in: 0...1), budget: service.retryBudget.spend)
        switch decision {
        case .repeatAfter(let wait):
            context.proxy.logger.debug(
                "asking an origin again",
                metadata: ["service": "\(service.name)", "attempt": "\(attempt + 1)", "wait": "\(wait)"])
            return wait
        case .giveUp: return nil
        }
    }

    private func discard(_ response: UpstreamResponse) async throws {
        if try await !response.readAhead(upTo: InboundSender.discardLimit) { response.abort() }
    }
}

extension UpstreamRequest.Content {
    fileprivate var isNone: Bool { if case .none = self { true } else { false } }
}

extension RetryCause {
    /// nil for failures that are no origin's, and for origins that are left alone for now.
    fileprivate init?(_ error: UpstreamError) {
        let ours: [UpstreamError.Code] = [
            .aborted, .internalError, .configurationError, .destinationProhibited, .requestDenied, .connectionLimit,
        ]
        guard error.hold == nil, !ours.contains(error.code) else { return nil }
        self = .unreachable
    }
}
