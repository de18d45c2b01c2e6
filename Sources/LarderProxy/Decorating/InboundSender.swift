// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream
import Logging

/// Sends a request to its origin with the decorators of its resource: delayed, repeated, and with a new credential when
/// the old one is refused.
///
/// A load is sent by one of these, so that all exchanges waiting for it share the outcome. Confined to its loop.
final class InboundSender {
    let context: LoopContext
    let service: RoutedService
    /// The target of the requests.
    let uri: TargetURI
    let configuration: EffectiveConfiguration
    /// The network of the client.
    let network: ClientNetwork
    private let decorators: Decorators?
    /// The decorators' resource; nil where it is looked up on demand.
    private let resource: Resource?
    /// The load whose requests they are; nil for none.
    private let load: ActiveLoad?
    /// The last response, if the pipeline was run on it already.
    private var processed: ProcessedResponse?
    /// How many redirects were followed.
    var redirects = 0
    /// The URL they have led to; nil for none.
    var place: String?
    /// True if each of them may be kept, so that the response may be.
    var redirectsAreKept = true
    /// True if the response was obtained with another credential than the request started with.
    var hasRenewed: Bool { renewal != nil }
    /// The service and its configuration with that credential; nil before.
    private var renewal: (service: RoutedService, configuration: EffectiveConfiguration)?
    var currentService: RoutedService { renewal?.service ?? service }
    var currentConfiguration: EffectiveConfiguration { renewal?.configuration ?? configuration }
    /// How many times the request was sent, not counting repetitions with a new credential.
    private var attempts = 1

    /// The decorators' effects, in the words of `Cache-Status`; nil for none.
    var remark: String? {
        guard redirects > 0 || decorators?.changesRequests == true else { return nil }
        var words: [String] = []
        if decorators?.delay != nil { words.append("delayed") }
        if redirects > 0 { words.append("redirected") }
        if hasRenewed { words.append("refreshed") }
        if attempts > 1 { words.append("attempt-\(attempts)") }
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }

    /// Content up to this size is read before a response is discarded for another, so that its connection can be
    /// reused.
    static let discardLimit = 64 << 10

    /// True if requests are not sent unchanged, by the loop itself.
    static func isNeeded(for configuration: EffectiveConfiguration) -> Bool {
        configuration.decorators?.changesRequests == true || configuration.followsRedirects
            || configuration.isProgrammed
    }

    init(
        context: LoopContext, service: RoutedService, uri: TargetURI, configuration: EffectiveConfiguration,
        from network: ClientNetwork, resource: Resource? = nil, load: ActiveLoad? = nil
    ) {
        self.load = load
        self.resource = resource
        self.configuration = configuration
        self.network = network
        self.context = context
        self.service = service
        self.uri = uri
        decorators = configuration.decorators
    }

    /// True if the response belongs to another partition than the request (T-03).
    var isForAnotherPartition: Bool { hasRenewed && configuration.frozen.configuration.privacy == .partitioned }

    /// The request of the client for which requests are sent, and the rules for caching the response to it.
    struct Asking {
        var head: RequestHead
        var policy: CachePolicy
        /// The stored response that is validated.
        var stored: StoredResponse?
    }

    /// - Parameter content: the request's content, if any, kept where it may be sent again.
    func send(
        _ request: UpstreamRequest, for client: Asking, repeating content: RepeatableContent? = nil
    ) async throws -> UpstreamResponse {
        var request = request
        let response = try await sendDecorated(&request, repeating: content)
        return configuration.followsRedirects ? try await follow(response, of: request, for: client) : response
    }

    /// Sends `request`, and replaces it with the request that received the response.
    private func sendDecorated(
        _ request: inout UpstreamRequest, repeating content: RepeatableContent?
    ) async throws -> UpstreamResponse {
        guard let decorators, decorators.changesRequests else { return try await sendOnce(request, content) }
        if let delay = decorators.delay { try await wait(delay, request) }
        if let retry = decorators.retry {
            service.retryBudget.earn()
            let bound = retry.within ?? context.configuration.upstreamSettings.silenceTimeout
            request.responseDeadline = context.loop.time.monotonic().advanced(by: bound)
        }
        var attempt = 1
        while true {
            let outcome = await attemptOnce(request, content)
            let isRepeatable = request.content.isAtHand || content?.isWhole == true
            if case .success(let response) = outcome,
                let renewed = try await renewed(request, after: response, decorators, isRepeatable)
            {
                request = renewed
                continue
            }
            guard let pause = pause(after: outcome, decorators, attempt, request, isRepeatable) else {
                return try outcome.get()
            }
            if case .success(let response) = outcome { await discard(response) }
            try await wait(pause, request)
            attempt += 1
            attempts = attempt
        }
    }

    private func wait(_ duration: Duration, _ request: UpstreamRequest) async throws {
        let pause = Pause(on: context.loop)
        request.abort.onAbortOfWhole { pause.end() }
        defer { request.abort.onAbortOfWhole(nil) }
        guard await pause.wait(for: duration) else { throw ClientGone() }
    }

    private func attemptOnce(
        _ request: UpstreamRequest, _ content: RepeatableContent?
    ) async -> Result<UpstreamResponse, any Error> {
        var request = request
        if let content { request.content = content.outgoing }
        do {
            return .success(try await sendOnce(request, content))
        } catch {
            return .failure(error)
        }
    }

    /// Sends it through the program that supplies the service, if there is one.
    private func sendOnce(_ request: UpstreamRequest, _ content: RepeatableContent?) async throws -> UpstreamResponse {
        let configuration = configuration.frozen.configuration
        guard configuration.isProgrammed else { return try await context.send(request) }
        let resource = resource ?? service.service.resource(for: ResourceURL(uri))
        let sender = ProgramSender(
            context: context, service: service, resource: resource, uri: uri, configuration, request, content, of: load)
        let response = try await sender.send()
        processed = sender.chosen
        return response
    }

    /// The pipeline's result for a response, if there is one.
    func result(for response: UpstreamResponse) -> ProcessedResponse? {
        processed?.response === response ? processed : nil
    }

    // MARK: Trying again

    /// The wait before the request is repeated; nil when it is not.
    private func pause(
        after outcome: Result<UpstreamResponse, any Error>, _ decorators: Decorators, _ attempt: Int,
        _ request: UpstreamRequest, _ isRepeatable: Bool
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
        let left = request.responseDeadline.map { $0 - context.loop.time.monotonic() } ?? 0
        let decision = RetryDecision.decide(
            decorators.retry, cause: cause, attempt: attempt, method: request.head.method,
            isRepeatable: isRepeatable, retryAfter: retryAfter, chance: Double.random(in: 0...1),
            left: .nanoseconds(left), budget: service.retryBudget.spend)
        switch decision {
        case .repeatAfter(let pause):
            context.proxy.logger.debug(
                "asking an origin again",
                metadata: ["service": "\(service.name)", "attempt": "\(attempt + 1)", "pause": "\(pause)"])
            return pause
        case .giveUp: return nil
        }
    }

    private func discard(_ response: UpstreamResponse) async {
        response.giveUpRequest()
        let isRead = try? await response.readAhead(upTo: InboundSender.discardLimit)
        if isRead != true { response.abort() }
    }

    // MARK: A new credential

    /// The request with a new credential, if `response` refuses the old one and a new one is available. Done once.
    private func renewed(
        _ request: UpstreamRequest, after response: UpstreamResponse, _ decorators: Decorators, _ isRepeatable: Bool
    ) async throws -> UpstreamRequest? {
        guard let rule = decorators.refresh, rule.onStatus.contains(response.head.status), !hasRenewed, isRepeatable
        else { return nil }
        // The refusal is read first: connections still carrying one would leave none for the refresh.
        response.giveUpRequest()
        var failure: (any Error)?
        do {
            guard try await response.readAhead(upTo: InboundSender.discardLimit) else { return nil }
        } catch {
            // A refusal that breaks off has said what it had to say, but is nothing to answer clients with.
            failure = error
        }
        if let renewed = try await renewed(request, by: rule) { return renewed }
        if let failure { throw failure }
        return nil
    }

    private func renewed(_ request: UpstreamRequest, by rule: RefreshRule) async throws -> UpstreamRequest? {
        let refresher = TokenRefresher(context: context, service: service, rule: rule)
        guard await refresher.renew(), let current = refresher.current else { return nil }
        if request.abort.isAborted { throw ClientGone() }
        // A write that began as one user's is not another's.
        guard request.head.method.isSafe || refresher.isSameOwner(in: current) else { return nil }
        let configuration = current.configuration(for: uri, method: request.head.method)
        renewal = (current, configuration)
        var request = request
        configuration.apply(to: &request.head.fields)
        return request
    }
}

extension UpstreamRequest.Content {
    /// True if the request can be sent again unchanged: there is no content, or all of it was read.
    fileprivate var isAtHand: Bool { if case .stream = self { false } else { true } }
}

extension RetryCause {
    /// nil for failures that are not the origin's, and for origins in backoff.
    fileprivate init?(_ error: UpstreamError) {
        let ours: [UpstreamError.Code] = [
            .aborted, .internalError, .configurationError, .destinationProhibited, .requestDenied, .connectionLimit,
        ]
        guard error.hold == nil, !ours.contains(error.code) else { return nil }
        self = .unreachable
    }
}
