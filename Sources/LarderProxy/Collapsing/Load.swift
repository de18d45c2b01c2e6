// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderStores
import LarderUpstream

/// One load, with everything it needs from the client that started it, so that it can outlive that client. It asks the
/// upstream, informs the waiting exchanges, and stores the response in memory and store. Confined to the loop it was
/// started on.
///
/// `ReceivedResponse` decides the disposition of the response; the extensions carry it out. Usually the first client's
/// task runs the load until all content is received (`LoadedAnswer`); longer loads and background loads have tasks of
/// their own.
final class Load: LoopLoad {
    let context: LoopContext
    let service: RoutedService
    let uri: TargetURI
    /// The version of the service's configuration that `configuration` was made from.
    let version: UInt64
    /// The rules by which the response is stored.
    let policy: CachePolicy
    /// The client's request; `Vary` is evaluated against it.
    let clientHead: RequestHead
    /// The request that is sent upstream.
    let request: RequestHead
    /// The request's content, where that is part of the Resource's key.
    let content: ContentChunk?
    /// The stored variant this load validates.
    let validating: Variant?
    /// Stored parts that this load completes.
    let rangeFill: RangeFill?
    let isBackground: Bool
    /// The stored variant that is transformed again; the origin is not asked then.
    var remaking: Variant?
    /// True if other requests may join: not when the response is useful to its client alone.
    let isJoinable: Bool
    /// True if the origin is asked even during backoff.
    var bypassesBackoff = false
    /// True if an error does not replace what is stored.
    var keepsStored = false
    /// True if a fresh stored response that a stage supplies is as good as one of the origin.
    var maySettle = false
    /// The states of stages, initially copied from the lookup.
    var states = StageStates()
    /// The value for `UpstreamRequest.client`.
    var clientDigest = 0
    /// The network of the client.
    private let network: ClientNetwork
    /// True for addresses that the client may reach.
    let allowsAddress: (SocketAddress) -> Bool

    /// The entry for this load in its Resource, created once it is certain that no equal load is in flight.
    private(set) lazy var listed = ActiveLoad(
        request: clientHead, at: context.now(), isValidation: validating != nil,
        isJoinable: isJoinable && remaking == nil, isRemaking: remaking != nil,
        version: version, window: context.proxy.pieceSize, hasClient: hasClient,
        registry: context.registry, onCancel: cancelling)
    /// Further information about its response.
    var remarks = SharedLoad.Remarks()
    /// True if its first client is still there.
    private var hasClient: Bool
    /// The first client's number, once it reads the shared response.
    private var firstReader: Int?
    private var hasEnded = false
    /// Called once at its end.
    var whenEnded: (() -> Void)?
    /// Passes interim responses on to the first client, while its task runs this load and it has not left.
    var leader: ((ResponseHead) -> Void)?
    /// The `Set-Cookie` fields of a 304, for the first client alone.
    var cookies: [String] = []
    let abort = UpstreamAbort()
    /// The pipeline's result for the response, where decorators have seen it.
    var processed: ProcessedResponse?
    /// The content, for a program that looks at the Resource.
    var shown: ShownContent?

    /// - Parameter clientHead: the client's request, which asks for the whole where a part would be useless.
    init(
        _ context: LoopContext, _ service: RoutedService, _ resource: Resource, _ uri: TargetURI,
        _ configuration: EffectiveConfiguration, version: UInt64, clientHead: RequestHead, request: RequestHead,
        content: ContentChunk?, validating: Variant?, completing parts: Variant?, isBackground: Bool,
        isJoinable: Bool, from network: ClientNetwork
    ) {
        self.context = context
        self.service = service
        self.uri = uri
        self.version = version
        policy = configuration.policy.narrowed(for: clientHead.fields)
        rangeFill = if let parts { RangeFill(of: parts, for: clientHead, sentAs: request, policy: policy) } else { nil }
        self.clientHead = clientHead
        self.request = request
        self.content = content
        self.validating = validating
        self.isBackground = isBackground
        hasClient = !isBackground
        self.isJoinable = isJoinable
        self.network = network
        allowsAddress = service.allowedAddresses(for: uri, from: network)
        super.init(resource, configuration)
    }

    /// The outcome of asking the origin.
    enum Outcome {
        /// The stored variant is still valid, or was replaced by a valid one.
        case settled(Variant)
        case received(UpstreamResponse, ReceivedResponse, Disposition)
    }

    /// The disposition of a response.
    enum Disposition {
        case completes(RangeFill)
        case isTransformed
        case isKeptAsPart
        case isKept
        case passes
    }

    /// Runs the load in a new task.
    func start() {
        if hasClient { _ = listed.share() }
        context.spawn {
            self.begin()
            await self.conclude {
                if let variant = self.remaking {
                    try await self.retransform(variant)
                } else {
                    try await self.take(self.ask())
                }
            }
        }
    }

    /// Continues in a new task after the origin has answered.
    func goOn(with outcome: Outcome) {
        context.spawn { await self.conclude { try await self.take(outcome) } }
    }

    func begin() {
        if resource.memory.isFollowed { shown = ShownContent(limit: context.memoryObjectLimit) }
        context.ticker.begin(self, listed)
    }

    func end() {
        hasEnded = true
        whenEnded.take()?()
        if !service.stages.onEnd.isEmpty { for point in service.stages.onEnd { point(self) } }
        context.ticker.end(self)
    }

    private func conclude(_ body: () async throws -> Void) async {
        do {
            try await body()
            end()
        } catch {
            fail(error)
        }
    }

    /// The load failed, or its content broke off.
    func fail(_ error: any Error) {
        if (error as? UpstreamError)?.hold == nil, !(error is PipelineFailure), !(error is StoreUnavailable) {
            context.counters.add(.upstreamErrors)
        }
        if !abort.isAborted { remember(error) }
        let now = context.now()
        let failure = LoadFailure(at: now, retryAt: now, error: error)
        if shown != nil { show(abort.isAborted ? RequestCancelled(networkError: error) : error) }
        let isCancelled = abort.isAborted || failureForPrograms(error).isCancellation
        resource.memory.retire(listed, as: isCancelled ? .cancelled : .failed(failure))
        listed.shared?.fail(error, remarks)
        end()
    }

    /// When all clients have left, the load is cancelled after a grace period (T-15), which begins anew with the last who
    /// leaves; an operator can cancel one with waiting clients.
    private var cancelling: ActiveLoad.CancelAction {
        let grace = isBackground ? nil : configuration.abandonDelay
        let (loop, resource, abort) = (context.loop, resource, Confined(abort))
        return { load, reason in
            @Sendable func cancel() {
                load.noteCancelled()
                abort.value.abort()
            }
            loop.execute { loop in
                switch reason {
                case .cancel: cancel()
                case .abandon(let departure):
                    guard let grace else { return }
                    loop.timer(after: grace) {
                        guard !resource.memory.hasInterest, load.closeIfAbandoned(since: departure) else { return }
                        cancel()
                    }
                }
            }
        }
    }

    // MARK: Clients

    /// The first client reads what is shared.
    func readAsFirst() -> (SharedLoad, reader: Int) {
        let shared = listed.share()
        let reader = shared.read(isFirst: true)
        firstReader = reader
        return (shared, reader)
    }

    /// The first client has its response, or is gone. `givePlace` gives up its place among the requests to origins, which
    /// the load has from then on; the result releases it.
    func dismissClient(_ givePlace: () -> (() -> Void)?) {
        leader = nil
        guard hasClient else { return }
        hasClient = false
        if !hasEnded { whenEnded = givePlace() }
        if let firstReader {
            listed.shared?.interrupt(firstReader)
            listed.leave(firstReader)
        } else if !hasEnded || listed.shared != nil {
            // Others can join it until it is abandoned.
            listed.forgo()
        }
    }

    /// Announces a response whose content follows to all who read it.
    func announce(
        _ head: ResponseHead, length: Int64?, stored: StoredResponse?, retains: Bool = false, expected: Int = 0,
        spool: EntityWriter? = nil
    ) -> SharedLoad {
        let shared = listed.share()
        shared.announce(
            .response(head, length: length, stored: stored), remarks, retains: retains, expected: expected,
            spool: spool)
        return shared
    }

    // MARK: The request

    /// Asks the origin, if no stage supplies a stored response.
    func ask() async throws -> Outcome {
        if !service.stages.onSend.isEmpty, let supply = await service.stages.supply(for: self) {
            remarks.supplier = supply.detail
            listed.shared?.conclude(.settled(supply.variant), remarks)
            return .settled(supply.variant)
        }
        if let rangeFill {
            return try await exchange(rangeFill.request, completing: rangeFill)
        }
        return try await exchange(nil, validating: validating)
    }

    /// - Parameter request: instead of the load's own.
    private func exchange(
        _ request: RequestHead?, validating variant: Variant? = nil, completing rangeFill: RangeFill? = nil
    ) async throws -> Outcome {
        let requestTime = context.now()
        let sender =
            InboundSender.isNeeded(for: configuration)
            ? InboundSender(
                context: context, service: service, uri: uri, configuration: configuration, from: network,
                resource: resource, load: listed) : nil
        let response = try await send(inbound(request), by: sender, validating: variant)
        let isForAnotherPartition = sender?.isForAnotherPartition ?? false
        let times = ReceivedResponse.Times(request: requestTime, response: context.now())
        if response.head.status == 304, let variant {
            // A 304 for another partition says nothing of this one; a response no longer kept is not confirmed.
            let isKept = !isForAnotherPartition && sender?.redirectsAreKept != false
            // At another place, the entity tag has another meaning.
            if isKept, variant.stored.place == sender?.place,
                let answer = try await settle(variant, by: response, times)
            {
                return .settled(answer)
            }
            return try await exchange(unconditional(request ?? self.request))
        }
        let received = ReceivedResponse(
            response, times, for: self,
            hindrance: isForAnotherPartition ? .otherPartition : response.isOfOtherMethod ? .otherMethod : nil,
            place: sender?.place,
            redirectsAreKept: sender?.redirectsAreKept ?? true)
        if let rangeFill {
            guard isForAnotherPartition else { return .received(response, received, .completes(rangeFill)) }
            if [206, 304, 416].contains(received.head.status) {
                // The variant to be completed belongs to another partition now.
                response.abort()
                return try await exchange(nil)
            }
        }
        if isPartOfTransformed(received) {
            response.abort()
            var whole = request ?? self.request
            guard whole.fields.contains(.range) else { throw UpstreamError.partOfWhole(from: Origin(uri)) }
            whole.fields.remove(.range)
            // It may still have the condition, and be answered 304.
            return try await exchange(whole, validating: variant)
        }
        return .received(response, received, disposition(of: received))
    }

    private func inbound(_ request: RequestHead?) -> UpstreamRequest {
        var inbound = UpstreamRequest(
            origin: Origin(uri), head: request ?? self.request, parent: service.parent(uri),
            allowsAddress: allowsAddress, abort: abort)
        inbound.belongsToService = service.base != nil
        inbound.tls = service.tls(for: uri)
        inbound.bypassesBackoff = bypassesBackoff
        inbound.client = clientDigest
        if let content { inbound.content = .octets(content) }
        inbound.onInterim = { [self] in announce(interim: $0) }
        return inbound
    }

    /// Repeats the request without our own conditions or ranges, and accepts any response.
    func startAgain() async throws {
        try await take(exchange(nil))
    }

    private func announce(interim head: ResponseHead) {
        if let leader { leader(head) } else { listed.shared?.announce(interim: head) }
    }

    private func disposition(of received: ReceivedResponse) -> Disposition {
        if isTransformed(received) { return .isTransformed }
        if received.isPart { return .isKeptAsPart }
        return received.isKept ? .isKept : .passes
    }

    private func send(
        _ request: UpstreamRequest, by sender: InboundSender?, validating variant: Variant?
    ) async throws -> UpstreamResponse {
        let response: UpstreamResponse
        if let sender {
            defer { if let remark = sender.remark { remarks.sending = remark } }
            let client = InboundSender.Asking(head: clientHead, policy: policy, stored: variant?.stored)
            response = try await sender.send(request, for: client)
            processed = sender.result(for: response)
        } else {
            response = try await context.send(request)
        }
        context.noteQuota(in: response.head, to: request, of: service, at: sender?.place)
        return response
    }

    // MARK: The response

    /// Handles the response, to its end.
    private func take(_ outcome: Outcome) async throws {
        switch outcome {
        case .settled: return
        case .received(let response, let received, let disposition):
            switch disposition {
            case .completes(let rangeFill): try await complete(rangeFill, by: response, received)
            case .isTransformed: try await transform(response, received)
            case .isKeptAsPart: try await keepPart(response, received)
            case .isKept: try await keep(response, received)
            case .passes: try await pass(response, received)
            }
        }
    }

    private func remember(_ error: any Error) {
        let now = context.now()
        guard policy.retryTime > .zero, isLasting(error) else { return }
        resource.memory.remember(
            LoadFailure(
                at: now, retryAt: now + policy.retryTime, error: error,
                variance: (error as? PipelineFailure)?.refused?.variance ?? .none))
    }

    /// True if an immediate retry would fail the same way. An origin that answered badly once may recover; a request
    /// refused by backoff was not sent, and the backoff is remembered for all; the pipeline is deterministic, but says
    /// nothing about a response that others do not get.
    private func isLasting(_ error: any Error) -> Bool {
        switch error {
        case let error as UpstreamError: error.isUnreachable && error.hold == nil
        case let error as PipelineFailure:
            !error.isBusy
                && error.refused.map { Reuse.answersEveryone($0, policy, at: context.now()) } ?? false
        default: false
        }
    }
}
