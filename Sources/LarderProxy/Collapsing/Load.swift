// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// One load: everything it needs of the client that made it necessary, so that it can go on without that client, and
/// what it does: it asks the upstream, tells those who wait, and puts what may be kept into memory and store. Confined
/// to the loop it was begun on.
///
/// What becomes of a response is decided by `Arrival`; the extensions do it. Mostly the task of the first client runs
/// it until all is there (`Exchange+Leading`); what lasts longer, and what no client waits for, has a task of its own.
final class Load {
    let context: LoopContext
    let service: RoutedService
    let resource: Resource
    let uri: TargetURI
    let configuration: EffectiveConfiguration
    /// The version of the service's configuration that `configuration` was made from.
    let version: UInt64
    /// By what rules the response is kept.
    let policy: CachePolicy
    /// What the client sent; `Vary` is judged by it.
    let clientHead: RequestHead
    /// The request as it goes upstream.
    let request: RequestHead
    /// The content that goes with it, where that is part of the Resource's key.
    let content: ContentChunk?
    /// The stored variant this load validates.
    let validating: Variant?
    /// Stored parts that this load completes.
    let completion: Completion?
    let isBackground: Bool
    /// The stored variant that goes through the pipeline again; nobody is asked then.
    var remaking: Variant?
    /// Whether others may read along: not when the request asks for what only its client can use.
    let isJoinable: Bool
    /// Whether whoever asks wants the origin asked even if that has failed lately.
    var bypassesBackoff = false
    /// Where the client stands.
    private let reach: Reach
    /// Which addresses the client may reach.
    let allowsAddress: (SocketAddress) -> Bool

    /// What those who wait read: made when it is known that nobody else has begun the same.
    private(set) lazy var flight = Flight(
        request: clientHead, at: context.now(), isValidation: validating != nil,
        isJoinable: isJoinable && remaking == nil, isRemaking: remaking != nil, window: context.proxy.pieceSize,
        expecting: 1, registry: context.registry)
    /// The Resource's epoch when the load began: what began before a wipe does not land after it.
    private(set) var epoch: UInt64 = 0
    /// The mark of its groups then.
    private(set) var mark: UInt64 = 0
    /// The first client, as long as its task runs this and it has not left.
    var leader: (exchange: Exchange, reader: Int)?
    /// What a 304 set for the client that was asked for alone.
    var cookies: [String] = []
    private let abort = UpstreamAbort()
    /// Where it is among the loads of its loop; nil before it begins and after its end.
    var place: Int?

    /// - Parameter clientHead: what the client sent, which asks for the whole where only that can be used.
    init(
        _ context: LoopContext, _ service: RoutedService, _ resource: Resource, _ uri: TargetURI,
        _ configuration: EffectiveConfiguration, version: UInt64, clientHead: RequestHead, request: RequestHead,
        content: ContentChunk?, validating: Variant?, completing parts: Variant?, isBackground: Bool,
        isJoinable: Bool, from reach: Reach
    ) {
        self.context = context
        self.service = service
        self.resource = resource
        self.uri = uri
        self.configuration = configuration
        self.version = version
        self.clientHead = clientHead
        policy = configuration.policy.narrowed(for: clientHead.fields)
        self.request = request
        self.content = content
        self.validating = validating
        self.isBackground = isBackground
        self.isJoinable = isJoinable
        self.reach = reach
        allowsAddress = service.allowedAddresses(for: uri, from: reach)
        completion = if let parts { Completion(of: parts, for: clientHead, sentAs: request) } else { nil }
    }

    /// What asking the origin came to.
    enum Outcome {
        /// The stored variant was still good, or was replaced by one that is.
        case settled(Variant)
        case received(UpstreamResponse, Arrival, Treatment)
    }

    /// What a response is to become.
    enum Treatment {
        case completes(Completion)
        case isTransformed
        case isKeptAsPart
        case isKept
        case passes
    }

    /// Does all of it in a task of its own.
    func start() {
        context.spawn {
            self.begin()
            await self.conclude {
                if let variant = self.remaking {
                    try await self.remake(variant)
                } else {
                    try await self.take(self.ask())
                }
            }
        }
    }

    /// Does the rest in a task of its own, once the origin has answered.
    func goOn(with outcome: Outcome) {
        context.spawn { await self.conclude { try await self.take(outcome) } }
    }

    func begin() {
        mark = resource.memory.mark
        epoch = resource.memory.epoch
        context.ticker.begin(self)
        if isBackground { flight.leave(flight.read()) }
        obey()
    }

    func end() { context.ticker.end(self) }

    private func conclude(_ body: () async throws -> Void) async {
        do {
            try await body()
            end()
        } catch {
            fail(error)
        }
    }

    /// The load came to nothing, or its content broke off.
    func fail(_ error: any Error) {
        if (error as? UpstreamError)?.hold == nil, !(error is PipelineFailure) {
            context.counters.add(.upstreamErrors)
        }
        if !abort.isAborted { remember(error) }
        let now = context.now()
        let failure = LoadFailure(at: now, retryAt: now, error: error)
        resource.memory.retire(flight, as: abort.isAborted ? .cancelled : .failed(failure))
        flight.fail(error)
        end()
    }

    /// When all clients have left, the load gets its grace and is then cancelled (T-15); an operator can cancel one
    /// that others wait for.
    private func obey() {
        let grace = isBackground ? nil : configuration.frozen.configuration.onAbandon.delay
        let (loop, memory, abort) = (context.loop, resource.memory, Confined(abort))
        flight.onWish { flight, wish in
            loop.execute { loop in
                switch wish {
                case .cancel: abort.value.abort()
                case .abandon:
                    guard let grace else { return }
                    loop.timer(after: grace) {
                        if flight.interest == 0, !memory.isObserved { abort.value.abort() }
                    }
                }
            }
        }
    }

    // MARK: The request

    /// Asks the origin.
    func ask() async throws -> Outcome {
        if let completion {
            return try await exchange(completion.request, completing: completion)
        }
        return try await exchange(nil, validating: validating)
    }

    /// - Parameter request: instead of the load's own.
    private func exchange(
        _ request: RequestHead?, validating variant: Variant? = nil, completing completion: Completion? = nil
    ) async throws -> Outcome {
        let requestTime = context.now()
        let sender = InboundSender(
            context: context, service: service, uri: uri, configuration: configuration, from: reach,
            resource: resource)
        let response = try await send(inbound(request), by: sender)
        let isForAnotherPartition = sender?.isForAnotherPartition ?? false
        let times = Arrival.Times(request: requestTime, response: context.now())
        if response.head.status == 304, let variant {
            if let answer = try await settle(variant, by: response, times) { return .settled(answer) }
            return try await exchange(unconditional(request ?? self.request))
        }
        let arrival = Arrival(response, times, for: self, belongsHere: !isForAnotherPartition)
        if let completion {
            guard isForAnotherPartition else { return .received(response, arrival, .completes(completion)) }
            if [206, 304, 416].contains(arrival.head.status) {
                // What was to be completed is another partition's now.
                response.abort()
                return try await exchange(nil)
            }
        }
        if isPartOfTransformed(arrival) {
            response.abort()
            var whole = request ?? self.request
            whole.fields.remove(.range)
            return try await exchange(whole)
        }
        return .received(response, arrival, treatment(of: arrival))
    }

    private func inbound(_ request: RequestHead?) -> UpstreamRequest {
        var inbound = UpstreamRequest(
            origin: Origin(uri), head: request ?? self.request, parent: service.parent(uri),
            allowsAddress: allowsAddress, abort: abort)
        inbound.isDescribed = service.base != nil
        inbound.tls = service.tls(for: uri)
        inbound.bypassesBackoff = bypassesBackoff
        if let content { inbound.content = .octets(content) }
        inbound.onInterim = { [self] in announce(interim: $0) }
        return inbound
    }

    /// Asks once more, without regard to what is stored, and takes what comes.
    func startAgain() async throws {
        try await take(exchange(nil))
    }

    private func announce(interim head: ResponseHead) {
        if let leader { leader.exchange.relayInterimAtOnce(head) } else { flight.announce(interim: head) }
    }

    private func treatment(of arrival: Arrival) -> Treatment {
        if isTransformed(arrival) { return .isTransformed }
        if arrival.isPart { return .isKeptAsPart }
        return arrival.isKept ? .isKept : .passes
    }

    private func send(_ request: UpstreamRequest, by sender: InboundSender?) async throws -> UpstreamResponse {
        let response: UpstreamResponse
        if let sender {
            defer { if let remark = sender.remark { flight.remarks.sending = remark } }
            response = try await sender.send(request)
        } else {
            response = try await context.send(request)
        }
        context.noteQuota(in: response.head, to: request.head, of: service)
        return response
    }

    // MARK: The response

    /// Does with the response what is to be done, to its end.
    private func take(_ outcome: Outcome) async throws {
        switch outcome {
        case .settled: return
        case .received(let response, let arrival, let treatment):
            switch treatment {
            case .completes(let completion): try await complete(completion, by: response, arrival)
            case .isTransformed: try await transform(response, arrival)
            case .isKeptAsPart: try await keepPart(response, arrival)
            case .isKept: try await keep(response, arrival)
            case .passes: try await pass(response, arrival)
            }
        }
    }

    private func remember(_ error: any Error) {
        let now = context.now()
        guard policy.retryTime > .zero, isLasting(error) else { return }
        resource.memory.remember(
            LoadFailure(at: now, retryAt: now + policy.retryTime, error: error))
    }

    /// Whether the same would come of trying again at once. An origin that answered badly once may answer well the
    /// next time; who was held back has not asked, and the hold is remembered for all; the pipeline will make the same
    /// of the same.
    private func isLasting(_ error: any Error) -> Bool {
        switch error {
        case let error as UpstreamError: error.isUnreachable && error.hold == nil
        case let error as PipelineFailure: !error.isBusy
        default: false
        }
    }
}
