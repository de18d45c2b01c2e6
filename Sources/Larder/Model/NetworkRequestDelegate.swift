// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO
import LarderRules

/// A request that is sent by the service's transport and whose response goes through the pipeline.
final class NetworkRequestDelegate: RequestDelegate {
    /// The data that a conditional request is based on.
    struct Basis: Sendable {
        let entity: AnyEntity
        let version: UInt64
    }

    private let resource: Resource
    private let method: Method
    private let body: RequestBody
    private let mutation: RequestMutation
    private let isConditional: Bool
    private let outgoing: OutgoingRequest
    private let basis: Basis?
    private let configuration: Configuration
    private let run: PipelineRun
    let wipeGeneration: UInt64
    private let attempt: Int
    private let progress = TransferProgress()
    private let estimate: Lock<ProgressEstimate>
    private let task = Lock<Task<Void, Never>?>(nil)
    /// The sent content as data of the resource, once a write has succeeded after which it is; shared with repetitions.
    private let sent: Lock<AnyEntity?>

    /// Builds the request: configured fields, the caller's own changes, configured mutators.
    init(
        _ resource: Resource, target: TargetURI, method: Method, body: RequestBody, isConditional: Bool,
        attempt: Int = 1, sent: Lock<AnyEntity?> = Lock(nil),
        mutation: @escaping RequestMutation
    ) {
        self.sent = sent
        self.resource = resource
        self.method = method
        self.body = body
        self.mutation = mutation
        self.isConditional = isConditional
        self.attempt = attempt
        var request = OutgoingRequest(method: method, url: target)
        let own = resource.configuration(for: method)
        own.fields.apply(to: &request.fields)
        if case .octets(let octets, let contentType) = body.form {
            request.body = octets
            request.fields[.contentType] = contentType
        }
        let (basis, wipeGeneration) = resource.conditionalBasis(isWanted: isConditional)
        if let basis { NetworkRequestDelegate.addValidators(of: basis.entity, to: &request.fields) }
        mutation(&request)
        for mutator in own.mutators { mutator(&request) }
        // Mutators may have changed the request; its response is handled by the configuration for the new one.
        let isSameMethod = request.method == method
        let final = isSameMethod ? own : resource.configuration(for: request.method)
        let isBasis = basis.map { NetworkRequestDelegate.hasValidators(of: $0.entity, request.fields) } ?? false
        // On a request with another method, validators would be a condition for its effect (RFC 9110 §13.1.2).
        if isBasis, !isSameMethod { request.removeConditions() }
        // A mutator has taken a part away: with the rest, a 304 would confirm nothing that is known here.
        if let basis, !isBasis { NetworkRequestDelegate.removeValidators(of: basis.entity, from: &request.fields) }
        outgoing = request
        self.basis = isBasis && isSameMethod ? basis : nil
        self.wipeGeneration = wipeGeneration
        configuration = final
        run = PipelineRun(final, subject: resource.cacheSubject)
        estimate = Lock(ProgressEstimate(isGet: request.method == .get))
    }

    var decorators: [RequestDecorator] { configuration.decorators }
    var sentMethod: Method { outgoing.method }
    /// The configured action on the resource after a successful write, if this request may change it.
    var afterWrite: Configuration.AfterWrite? { outgoing.method.isSafe ? nil : configuration.writtenAfterWrite }

    /// The sent content as data of the resource: the result of the pipeline. Nil before a write has succeeded, and where
    /// another action follows it.
    var sentEntity: AnyEntity? { sent.withLock { $0 } }

    private func makeSentEntity() async -> AnyEntity? {
        guard let body = outgoing.body else { return nil }
        var entity = AnyEntity(content: body as any Sendable, timestamp: resource.service.clock.now)
        entity.fields[.contentType] = outgoing.fields[first: .contentType]
        let limit = configuration.transformTimeout
        return try? await run.process(.success(entity), within: limit, clock: resource.service.clock).response.get()
    }

    var requestDescription: String { "\(outgoing.method) \(outgoing.url)" }
    var progressReportingInterval: Duration { configuration.progressReportingInterval }

    func startUnderlyingOperation(_ completion: RequestCompletion) {
        resource.service.log(.network, "\(requestDescription) started")
        resource.service.log(.networkDetails, "\(requestDescription)\n\(outgoing.fields)")
        // Made under the lock, so that it is stored before it can end.
        task.withLock { task in
            task = Task {
                let info = await self.perform()
                completion.complete(info)
                self.task.withLock { $0 = nil }
            }
        }
    }

    func cancelUnderlyingOperation() {
        let running = task.withLock { task in
            defer { task = nil }
            return task
        }
        running?.cancel()
    }

    func repeated() -> any RequestDelegate {
        NetworkRequestDelegate(
            resource, target: resource.url.target ?? outgoing.url, method: method, body: body,
            isConditional: isConditional,
            attempt: attempt + 1, sent: sent, mutation: mutation)
    }

    func computeProgress() -> Double {
        let seconds = Double(resource.service.clock.now.nanoseconds) / 1e9
        return estimate.withLock { $0.update(progress.counters, at: seconds) }
    }

    // MARK: The operation

    private func perform() async -> ResponseInfo {
        if configuration.isOffline { return failure(ServiceOffline()) }
        var info = await exchange(outgoing)
        if info == nil {
            // The 304 was about data that is no longer here: request the whole content.
            var unconditional = outgoing
            unconditional.removeConditions()
            info = await exchange(unconditional)
        }
        let result = info ?? failure(NoLocalDataFor304())
        if afterWrite?.action == .override, case .success = result.response {
            let made = await makeSentEntity()
            sent.withLock { $0 = made }
        }
        resource.service.log(.network, "\(requestDescription) \(NetworkRequestDelegate.word(for: result))")
        return result
    }

    /// One request and its response; nil when it must be repeated without conditions.
    private func exchange(_ request: OutgoingRequest) async -> ResponseInfo? {
        let clock = resource.service.clock
        let requestTime = clock.now
        let message: IncomingResponse
        do {
            message = try await resource.service.transport.send(request, progress: progress)
        } catch {
            let partial = (error as? TransportFailure)?.response.map { makeEntity($0, requestTime) }
            return failure((error as? TransportFailure)?.cause ?? error, entity: partial)
        }
        resource.service.log(
            .networkDetails, "\(requestDescription) \(message.response.status)\n\(message.response.fields)")
        if message.response.status == 304 {
            guard let basis else { return failure(NoLocalDataFor304(), status: 304) }
            guard resource.isCurrent(basis.version) else {
                return request.isConditional ? nil : failure(NoLocalDataFor304(), status: 304)
            }
            let confirmed = basis.entity.freshened(by: message.response, requestTime: requestTime, at: clock.now)
            var info = ResponseInfo(.success(confirmed), isNew: false)
            info.landing = landing(message.response)
            info.landing?.confirmedVersion = basis.version
            return info
        }
        let entity = makeEntity(message, requestTime)
        let raw: Response =
            message.response.status.isError
            ? .failure(complete(RequestError(status: message.response.status, entity: entity, timestamp: clock.now)))
            : .success(entity)
        let outcome = await run.process(raw, within: configuration.transformTimeout, clock: clock)
        var info = ResponseInfo(outcome.response.mapError(complete))
        info.landing = landing(message.response)
        info.landing?.outputs = outcome.outputs
        if case .failure(let error) = outcome.response {
            resource.service.log(.pipeline, "\(requestDescription): \(error)")
        }
        return info
    }

    private func makeEntity(_ message: IncomingResponse, _ requestTime: Timestamp) -> AnyEntity {
        let now = resource.service.clock.now
        var fields = message.response.fields
        HopByHop.strip(&fields, for: .store)
        return Entity(
            content: message.body as any Sendable, fields: fields, status: message.response.status,
            timestamp: now, requestTime: requestTime, responseTime: now)
    }

    private func landing(_ response: ResponseHead) -> Landing {
        var landing = Landing(
            resource: ObjectIdentifier(resource), method: outgoing.method, wipeGeneration: wipeGeneration,
            entries: run.entries)
        landing.isUnstorable =
            CacheControl.Response(response.fields).flags.contains(.noStore)
            || CacheControl.Request(outgoing.fields).noStore
        return landing
    }

    private func failure(_ cause: any Error, status: Status? = nil, entity: AnyEntity? = nil) -> ResponseInfo {
        .failure(
            complete(
                RequestError(
                    status: status ?? entity?.status, entity: entity,
                    cause: cause is CancellationError ? RequestCancelled(networkError: cause) : cause,
                    timestamp: resource.service.clock.now)))
    }

    private func complete(_ error: RequestError) -> RequestError {
        var error = error
        error.url = resource.url
        error.method = outgoing.method
        error.attempt = attempt
        return error
    }

    private static func addValidators(of entity: AnyEntity, to fields: inout Fields) {
        if let tag = entity.eTag { fields[.ifNoneMatch] = tag }
        if let date = entity.fields[first: .lastModified] { fields[.ifModifiedSince] = date }
    }

    private static func removeValidators(of entity: AnyEntity, from fields: inout Fields) {
        if fields[.ifNoneMatch] == entity.eTag { fields.remove(.ifNoneMatch) }
        if fields[.ifModifiedSince] == entity.fields[first: .lastModified] { fields.remove(.ifModifiedSince) }
    }

    /// True if a 304 to a request with such fields confirms the entity.
    fileprivate static func hasValidators(of entity: AnyEntity, _ fields: Fields) -> Bool {
        entity.eTag.map { fields[.ifNoneMatch] == $0 }
            ?? (!fields.contains(.ifNoneMatch)
                && fields[.ifModifiedSince] == entity.fields[first: .lastModified])
    }

    private static func word(for info: ResponseInfo) -> String {
        switch info.response {
        case .success(let entity): info.isNew ? "→ \(entity.status)" : "→ not modified"
        case .failure(let error): "→ \(error.userMessage)"
        }
    }
}

extension Fields {
    /// True if a request with them may be answered with a 304.
    package var askWhetherModified: Bool { contains(.ifNoneMatch) || contains(.ifModifiedSince) }
}

extension Resource {
    /// The data that a 304 confirms, if the request was about that.
    package func data(validatedBy conditions: Fields) -> AnyEntity? {
        guard let data = readProgram({ $0?.machine.latestData }), !data.isLocalOverride else { return nil }
        return NetworkRequestDelegate.hasValidators(of: data, conditions) ? data : nil
    }
}

extension OutgoingRequest {
    fileprivate var isConditional: Bool { fields.askWhetherModified }

    fileprivate mutating func removeConditions() {
        fields.remove(.ifNoneMatch)
        fields.remove(.ifModifiedSince)
    }
}

/// The configuration forbids requests to origins.
public struct ServiceOffline: Error, CustomStringConvertible {
    /// Makes the error.
    public init() {}
    public var description: String { "the service is offline" }
}
