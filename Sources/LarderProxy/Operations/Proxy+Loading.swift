// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

/// The outcome of a load requested by an operator.
package enum LoadOutcome: Sendable {
    /// The stored response is up to date; the origin was not asked.
    case upToDate(Variant)
    /// The origin validated the stored response.
    case validated(Variant)
    /// The origin sent a new response.
    case loaded(Status, length: Int64, isStored: Bool)
}

extension Proxy {
    /// Asks the origin for a resource, like a client with these fields, and waits for the response.
    ///
    /// - Parameters:
    ///   - onlyIfNeeded: the origin is not asked while the stored response is up to date.
    ///   - despiteFailure: the origin is asked even right after a failure.
    ///   - reach: whose address rules apply, and whose resource is loaded.
    package func load(
        _ subject: ResourceSubject, fields: Fields, onlyIfNeeded: Bool, despiteFailure: Bool = false, from reach: Reach
    ) async throws -> LoadOutcome {
        guard subject.content == nil else { throw Problem.contentUnknown }
        var head = RequestHead(method: .get, target: subject.uri.pathAndQuery, fields: fields)
        head.fields[.host] = subject.uri.authority
        let request = head
        return try await anyContext().run { context in
            try await OperatorLoad(
                subject: subject, head: request, context: context, reach: reach
            )
            .run(onlyIfNeeded: onlyIfNeeded, despiteFailure: despiteFailure)
        }
    }
}

/// One load on its loop.
private struct OperatorLoad {
    let subject: ResourceSubject
    let head: RequestHead
    let context: LoopContext
    let reach: Reach

    func run(onlyIfNeeded: Bool, despiteFailure: Bool) async throws -> LoadOutcome {
        let service = subject.service
        let partition = service.partition(of: head.fields, for: subject.uri, from: reach)
        let registry = context.registry
        let resource = registry.resource(for: subject.key(in: partition)) { key in
            service.makeResource(key: key, partition: partition, url: subject.uri)
        }
        let version = service.configurationVersion
        let configuration = service.configuration(for: resource)
        guard configuration.caches else { throw Problem.notCached(by: service.name) }
        guard context.proxy.offlineMode(service, configuration) != .on else {
            throw Problem.offline(service: service.name)
        }
        if let answer = context.configuration.router.table.hardWiredAnswer(toLoadOf: subject.uri, of: service) {
            throw Problem.hardWired(answer)
        }
        guard service.allows(subject.uri) else { throw Problem.hostNotAllowed(subject.uri.host, service: service.name) }
        if !resource.memory.snapshot.isStoreRead, context.storing != nil || configuration.hasOwnCaches {
            await context.readStored(resource, service, configuration)
            registry.charge(resource, content: resource.memory.cost)
        }
        let snapshot = resource.memory.snapshot
        if onlyIfNeeded {
            let plan = plan(by: snapshot, configuration)
            if case .answer(let selection) = plan.action { return .upToDate(snapshot.variants[selection.index]) }
            if !despiteFailure, plan.wait?.cause == .retryTime, let failure = snapshot.failure { throw failure.error }
        }
        let selected = Reuse.select(head, snapshot.candidates, policy: configuration.policy).map {
            snapshot.variants[$0]
        }
        let load = Load(
            subject, resource: resource, head: head, configuration: configuration, version: version,
            validating: selected.flatMap { $0.stored.facts.hasValidator && !$0.stored.isPartial ? $0 : nil },
            completing: selected, context: context,
            reach: reach)
        load.bypassesBackoff = !onlyIfNeeded
        let isJoinable = load.isJoinable
        let joining = resource.memory.join(
            since: onlyIfNeeded ? snapshot : nil, where: { $0.isJoinable && isJoinable },
            orStart: { load.flight })
        switch joining {
        case .overtaken, .unshared: return try await run(onlyIfNeeded: true, despiteFailure: despiteFailure)
        case .joined(let flight): return try await flight.loadOutcome()
        case .started(let flight):
            load.start()
            return try await flight.loadOutcome()
        }
    }

    /// The plan for a client's request. Backoff is handled where the origin is asked.
    private func plan(by snapshot: ResourceMemory.Snapshot, _ configuration: EffectiveConfiguration) -> Plan {
        Plan.decide(head, snapshot.candidates, policy: configuration.policy, now: context.now()) {
            var outlook = LiveOutlook(
                proxy: context.proxy, proxyConfiguration: context.configuration, service: subject.service,
                configuration: configuration, uri: subject.uri, way: subject.way, spelling: subject.spelling,
                head: head, reach: reach)
            outlook.snapshot = snapshot
            outlook.takesProbe = false
            return outlook
        }
    }
}

extension Flight {
    /// Waits for the outcome of a load without a client.
    func loadOutcome() async throws -> LoadOutcome {
        let reader = read()
        defer { leave(reader) }
        while let word = await self.word(for: reader) {
            guard case .answer(let answer) = word else { continue }
            switch answer {
            case .failed(let error): throw error
            case .settled(let variant): return .validated(variant)
            case .response(let response, _, let stored):
                return .loaded(
                    response.status, length: try await length(for: reader), isStored: stored != nil)
            }
        }
        throw FlightError.cancelled
    }

    /// Reads the content to its end, so that the load is complete when the operator gets the outcome.
    private func length(for reader: Int) async throws -> Int64 {
        var length: Int64 = 0
        while true {
            switch await next(for: reader) {
            case .chunks(let chunks): length += chunks.reduce(0) { $0 + Int64($1.count) }
            case .spooled(_, _, let count): length += Int64(count)
            case .end: return length
            case .failed(let error): throw error
            case .interrupted: throw FlightError.cancelled
            }
        }
    }
}

extension Problem {
    static let contentUnknown = Problem(
        status: 409, title: "Not loadable", proxyError: .httpRequestError,
        detail: "The content that the response depends on is not kept, only its digest.",
        advice: "Send the request once more, with `Cache-Control: no-cache` to have the origin asked.")

    static func notCached(by service: String) -> Problem {
        Problem(
            status: 409, title: "Not cached", proxyError: .proxyConfigurationError,
            detail: "The configuration of ‘\(service)’ keeps nothing for this URL (`cache: none`).",
            advice: "Take `cache: none` out of its configure block, or ask the origin through the proxy.")
    }

    /// Operators get no further than clients.
    static func hardWired(_ answer: HardWiredAnswer) -> Problem {
        switch answer {
        case .refusal(let rule, let reading): .denied(rule, as: reading)
        case .response:
            Problem(
                status: 409, title: "Not loadable", proxyError: .proxyConfigurationError,
                detail: "A `decorate.respond` of the configuration answers requests for this URL.",
                advice: "Take it out to have the origin asked; `larder explain` names the block.")
        }
    }

    static func offline(service: String) -> Problem {
        Problem(
            status: 409, title: "Offline", proxyError: .proxyConfigurationError,
            detail: "The origin of ‘\(service)’ is not asked (`offline`).",
            advice: "Go online: `larder offline off`, or take `offline` out of the configuration.")
    }
}
