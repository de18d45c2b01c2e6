// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// Performs one load: asks the upstream, tells the flight's readers, and puts what may be kept into memory and
/// store. Confined to the loop it was started on.
///
/// What becomes of a response is decided by `Arrival`; its extensions do it.
final class FlightRunner {
    let launch: FlightLaunch
    let flight: Flight
    let context: LoopContext
    /// The Resource's epoch when the load began: what began before a wipe does not land after it.
    let epoch: UInt64
    /// The mark of its groups then.
    let mark: UInt64
    private let abort: UpstreamAbort

    init(launch: FlightLaunch, flight: Flight) {
        self.launch = launch
        self.flight = flight
        context = launch.context
        mark = launch.resource.memory.mark
        epoch = launch.resource.memory.epoch
        abort = UpstreamAbort()
    }

    func run() async {
        context.ticker.begin(
            flight, of: launch.resource.memory,
            every: launch.configuration.frozen.configuration.progressReportingInterval)
        defer { context.ticker.end(flight) }
        if launch.isBackground { flight.leave(flight.read()) } else { watchInterest() }
        obeyCancelling()
        do {
            if let variant = launch.remaking {
                try await remake(variant)
            } else if let completion = launch.completion {
                try await load(completion.request, validating: nil, completing: completion)
            } else {
                try await load(launch.request, validating: launch.validating)
            }
        } catch {
            if (error as? UpstreamError)?.hold == nil, !(error is PipelineFailure) {
                context.counters.add(.upstreamErrors)
            }
            if !abort.isAborted { remember(error) }
            retire(after: error)
            flight.fail(error)
        }
        launch.resource.memory.retire(flight)
    }

    /// When all clients have left, the load gets its grace and is then cancelled (T-15).
    private func watchInterest() {
        let grace = context.configuration.settings.timeouts.abandon
        let loop = context.loop
        let flight = flight
        let abort = Confined(abort)
        let resource = launch.resource
        flight.onAbandoned { [weak flight] in
            loop.execute { [weak flight] loop in
                loop.timer(after: grace) {
                    if flight?.interest == 0, !resource.memory.isObserved { abort.value.abort() }
                }
            }
        }
    }

    /// An operator can cancel a load that others wait for.
    private func obeyCancelling() {
        let loop = context.loop
        let abort = Confined(abort)
        flight.onCancelled { loop.execute { _ in abort.value.abort() } }
    }

    private func retire(after error: any Error) {
        let now = context.now()
        let failure = LoadFailure(at: now, retryAt: now, error: error)
        launch.resource.memory.retire(flight, as: abort.isAborted ? .cancelled : .failed(failure))
    }

    // MARK: The request

    func load(
        _ request: RequestHead, validating variant: Variant?, completing completion: Completion? = nil
    ) async throws {
        let requestTime = context.now()
        var inbound = UpstreamRequest(
            origin: Origin(launch.uri), head: request, parent: launch.service.parent(launch.uri),
            allowsAddress: launch.allowsAddress, abort: abort)
        inbound.isDescribed = launch.service.base != nil
        inbound.insists = launch.insists
        if let content = launch.content { inbound.content = .octets(content) }
        inbound.onInterim = { [flight] in flight.announce(interim: $0) }
        let sender = launch.sender
        let response = try await send(inbound, by: sender)
        let times = Arrival.Times(request: requestTime, response: context.now())
        if response.head.status == 304, let variant {
            return try await settle(variant, by: response, times)
        }
        let arrival = Arrival(response, times, for: launch, belongsHere: !sender.isForAnotherPartition)
        if sender.isForAnotherPartition, completion != nil, [206, 304, 416].contains(arrival.head.status) {
            // What was to be completed is another partition's now.
            response.abort()
            return try await load(launch.request, validating: nil)
        }
        if let completion, !sender.isForAnotherPartition {
            return try await complete(completion, by: response, arrival)
        }
        if isPartOfTransformed(arrival) {
            response.abort()
            var whole = request
            whole.fields.remove(.range)
            try await load(whole, validating: nil)
        } else if isTransformed(arrival) {
            try await transform(response, arrival)
        } else if arrival.isPart {
            try await keepPart(response, arrival)
        } else if arrival.isKept {
            try await keep(response, arrival)
        } else {
            try await pass(response, arrival)
        }
    }

    private func send(_ request: UpstreamRequest, by sender: InboundSender) async throws -> UpstreamResponse {
        defer { flight.wasSent(sender.remark) }
        return try await sender.send(request)
    }

    private func remember(_ error: any Error) {
        let now = context.now()
        guard launch.policy.retryTime > .zero, isLasting(error) else { return }
        launch.resource.memory.remember(
            LoadFailure(at: now, retryAt: now + launch.policy.retryTime, error: error))
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
