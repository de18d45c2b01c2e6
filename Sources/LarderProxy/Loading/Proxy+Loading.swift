// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import LarderUpstream

/// The outcome of a load requested by an operator.
package enum LoadOutcome: Sendable {
    /// The stored response is up to date, or a stage has supplied a response; the origin was not asked.
    case upToDate(Variant)
    /// The origin validated the stored response.
    case validated(Variant)
    /// The origin sent a new response.
    case loaded(Status, length: Int64, isStored: Bool)
}

extension Proxy {
    /// Asks the origin for a resource, like a client with these fields and `no-cache`, and waits for the response.
    ///
    /// - Parameters:
    ///   - onlyIfNeeded: like a client without `no-cache`.
    ///   - despiteFailure: the origin is asked even right after a failure.
    ///   - network: whose address rules apply, and whose resource is loaded.
    package func load(
        _ subject: ResourceSubject, fields: Fields, onlyIfNeeded: Bool, despiteFailure: Bool = false,
        from network: ClientNetwork
    ) async throws -> LoadOutcome {
        guard subject.content == nil else { throw Problem.contentUnknown }
        var head = RequestHead(method: .get, target: subject.uri.pathAndQuery, fields: fields)
        head.fields[.host] = subject.uri.authority
        let request = head
        return try await anyContext().run { context in
            try await OperatorLoad(
                subject: subject, head: request, context: context, network: network
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
    let network: ClientNetwork

    func run(onlyIfNeeded: Bool, despiteFailure: Bool) async throws -> LoadOutcome {
        let service = subject.service
        guard service.allows(subject.uri) else { throw Problem.hostNotAllowed(subject.uri.host, service: service.name) }
        if let answer = context.configuration.router.table.hardWiredAnswer(toLoadOf: subject.uri, of: service) {
            throw Problem.hardWired(answer)
        }
        let partition = service.partition(of: head.fields, for: subject.uri, from: network)
        let registry = context.registry
        let resource = subject.resource(in: partition, of: registry)
        let version = service.configurationVersion
        let configuration = service.configuration(for: resource)
        guard configuration.caches else { throw Problem.notCached(by: service.name) }
        if !resource.memory.snapshot.isStoreRead, context.diskTier != nil || configuration.hasOwnCaches {
            await context.readStored(resource, service, configuration)
            registry.charge(resource)
        }
        let snapshot = resource.memory.snapshot
        var head = head
        configuration.policy.ignoredRequest.remove(from: &head.fields)
        let wish = LoadWish(
            subject: subject, resource: resource, configuration: configuration, head: head, network: network,
            onlyIfNeeded: onlyIfNeeded, despiteFailure: despiteFailure)
        let (validating, completing): (Variant?, Variant?)
        switch wish.course(by: snapshot, on: context) {
        case nil: return try await run(onlyIfNeeded: onlyIfNeeded, despiteFailure: despiteFailure)
        case .answered(let variant) where onlyIfNeeded: return .upToDate(variant)
        case .answered, .refused(.offline): throw Problem.offline(service: service.name)
        case .refused(let reason): throw Problem.notStored(reason, uri: subject.uri)
        case .held(let error): throw error
        case .asks(let variant, let parts): (validating, completing) = (variant, parts)
        }
        let load = Load(
            subject, resource: resource, head: head, configuration: configuration, version: version,
            validating: validating, completing: completing, context: context, network: network)
        load.bypassesBackoff = wish.bypassesBackoff
        load.maySettle = onlyIfNeeded && load.isJoinable && completing == nil
        let joining = resource.memory.join(
            since: onlyIfNeeded ? snapshot : nil,
            // The origin is asked: a response that began before is not its answer.
            where: { load.mayJoin($0) && (onlyIfNeeded || !$0.isAnswered) }, orStart: { load.listed })
        switch joining {
        case .overtaken, .unshared: return try await run(onlyIfNeeded: onlyIfNeeded, despiteFailure: despiteFailure)
        case .joined(let running):
            do {
                return try await running.loadOutcome()
            } catch let failure as PipelineFailure where failure.isForOne {
                return try await run(onlyIfNeeded: onlyIfNeeded, despiteFailure: despiteFailure)
            }
        case .started(let listed):
            load.start()
            return try await listed.loadOutcome()
        }
    }
}

extension ActiveLoad {
    /// Waits for the outcome of a load without a client.
    func loadOutcome() async throws -> LoadOutcome {
        let shared = share()
        let reader = shared.read()
        defer { leave(reader) }
        while let event = await shared.nextEvent(for: reader) {
            guard case .answer(let answer) = event else { continue }
            switch answer {
            case .failed(let error): throw error
            case .settled(let variant): return shared.remarks.supplier == nil ? .validated(variant) : .upToDate(variant)
            case .response(let response, _, let stored):
                return .loaded(
                    response.status, length: try await shared.length(for: reader), isStored: stored != nil)
            }
        }
        throw SharedLoadError.cancelled
    }
}

extension SharedLoad {
    /// Reads the content to its end, so that the load is complete when the operator gets the outcome.
    fileprivate func length(for reader: Int) async throws -> Int64 {
        var length: Int64 = 0
        while true {
            switch await next(for: reader) {
            case .chunks(let chunks): length += chunks.reduce(0) { $0 + Int64($1.count) }
            case .spooled(_, _, let count): length += Int64(count)
            case .end: return length
            case .failed(let error): throw error
            case .interrupted: throw SharedLoadError.cancelled
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
