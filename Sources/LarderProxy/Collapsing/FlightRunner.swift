// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderIO
import LarderRules
import LarderUpstream

/// Performs one load: asks the upstream, tells the flight's readers, and puts what may be kept into memory and
/// store. Confined to the loop it was started on.
///
/// What becomes of a response is decided by `Arrival`; the extensions do it. Mostly the task of the first client runs
/// it until all is there (`Exchange+Leading`); what lasts longer, and what no client waits for, has a task of its own.
final class FlightRunner {
    let launch: FlightLaunch
    let flight: Flight
    let context: LoopContext
    /// The Resource's epoch when the load began: what began before a wipe does not land after it.
    let epoch: UInt64
    /// The mark of its groups then.
    let mark: UInt64
    /// The first client, as long as its task runs this and it has not left.
    var leader: (exchange: Exchange, reader: Int)?
    /// What a 304 set for the client that was asked for alone.
    var cookies: [String] = []
    private let abort = UpstreamAbort()

    init(launch: FlightLaunch, flight: Flight) {
        self.launch = launch
        self.flight = flight
        context = launch.context
        mark = launch.resource.memory.mark
        epoch = launch.resource.memory.epoch
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
                if let variant = self.launch.remaking {
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
        context.ticker.begin(
            flight, of: launch.resource.memory,
            every: launch.configuration.frozen.configuration.progressReportingInterval)
        if launch.isBackground { flight.leave(flight.read()) }
        obey()
    }

    func end() { context.ticker.end(flight) }

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
        launch.resource.memory.retire(flight, as: abort.isAborted ? .cancelled : .failed(failure))
        flight.fail(error)
        end()
    }

    /// When all clients have left, the load gets its grace and is then cancelled (T-15); an operator can cancel one
    /// that others wait for.
    private func obey() {
        let grace = launch.isBackground ? nil : context.configuration.settings.timeouts.abandon
        let (loop, memory, abort) = (context.loop, launch.resource.memory, Confined(abort))
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

    /// Asks the origin what the launch says.
    func ask() async throws -> Outcome {
        if let completion = launch.completion {
            return try await exchange(completion.request, completing: completion)
        }
        return try await exchange(nil, validating: launch.validating)
    }

    /// - Parameter request: instead of the launch's own.
    private func exchange(
        _ request: RequestHead?, validating variant: Variant? = nil, completing completion: Completion? = nil
    ) async throws -> Outcome {
        let requestTime = context.now()
        var inbound = UpstreamRequest(
            origin: Origin(launch.uri), head: request ?? launch.request, parent: launch.service.parent(launch.uri),
            allowsAddress: launch.allowsAddress, abort: abort)
        inbound.isDescribed = launch.service.base != nil
        inbound.tls = launch.service.tls(for: launch.uri)
        inbound.bypassesBackoff = launch.bypassesBackoff
        if let content = launch.content { inbound.content = .octets(content) }
        inbound.onInterim = { [self] in announce(interim: $0) }
        let sender = launch.sender
        let response = try await send(inbound, by: sender)
        let times = Arrival.Times(request: requestTime, response: context.now())
        if response.head.status == 304, let variant {
            if let answer = try await settle(variant, by: response, times) { return .settled(answer) }
            return try await exchange(unconditional(request ?? launch.request))
        }
        let arrival = Arrival(response, times, for: launch, belongsHere: !sender.isForAnotherPartition)
        if let completion {
            guard sender.isForAnotherPartition else { return .received(response, arrival, .completes(completion)) }
            if [206, 304, 416].contains(arrival.head.status) {
                // What was to be completed is another partition's now.
                response.abort()
                return try await exchange(nil)
            }
        }
        if isPartOfTransformed(arrival) {
            response.abort()
            var whole = request ?? launch.request
            whole.fields.remove(.range)
            return try await exchange(whole)
        }
        return .received(response, arrival, treatment(of: arrival))
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

    private func send(_ request: UpstreamRequest, by sender: InboundSender) async throws -> UpstreamResponse {
        defer { if let remark = sender.remark { flight.remarks.sending = remark } }
        return try await sender.send(request)
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
