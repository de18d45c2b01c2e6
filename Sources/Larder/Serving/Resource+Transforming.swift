// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// For loads that receive responses themselves: the pipeline, its caches, and the response for clients.
extension Resource {
    /// True if any transformer of this configuration applies to a response that begins with `head` and has content. If
    /// not, the content may be passed on as it arrives.
    package func hasTransformers(for head: ResponseHead, _ configuration: Configuration) -> Bool {
        guard configuration.serving != .raw, configuration.pipeline.hasTransformers else { return false }
        let now = service.clock.now
        let placeholder = AnyEntity(
            content: [UInt8(0)] as any Sendable, fields: head.fields, status: head.status, timestamp: now)
        return PipelineRun(configuration) { _ in nil }.hasTransformers(for: Resource.response(placeholder, at: now))
    }

    /// Runs a whole response through the pipeline, once for all clients, and encodes the result. All of that happens on
    /// `threads`, or on those of the pipeline's own programs; when they take longer than the configuration allows, or have
    /// no capacity, the result is an error.
    ///
    /// - Parameters:
    ///   - clock: measures the time; by default the service's.
    ///   - sealing: changes the response for clients, if it was transformed.
    ///   - received: makes the response to transform.
    package func transform(
        _ configuration: Configuration, on threads: TransformerThreads = .own, clock: (any ModelClock)? = nil,
        while isWanted: @escaping @Sendable () -> Bool = { true },
        sealing: @escaping @Sendable (inout Entity<[UInt8]>) -> Void = { _ in },
        _ received: @escaping @Sendable () -> Entity<[UInt8]>
    ) async -> TransformedResponse {
        let run = PipelineRun(configuration, subject: cacheSubject)
        let clock = clock ?? service.clock
        return await PipelineRun.race(
            within: configuration.transformTimeout, clock: clock, on: run.ownThreads ?? threads, while: isWanted,
            orElse: { [self] error in
                TransformedResponse(
                    response: .failure(named(error)), served: .failure(named(error)), isTransformed: true,
                    hasOtherOctets: false, outputs: [])
            },
            { [self] watch in transform(received(), configuration, run, watch, sealing) })
    }

    private func transform(
        _ received: Entity<[UInt8]>, _ configuration: Configuration, _ run: PipelineRun, _ watch: PipelineRun.Watch,
        _ sealing: (inout Entity<[UInt8]>) -> Void
    ) -> TransformedResponse {
        let serving: PipelineStageKey? = if case .stage(let key) = configuration.serving { key } else { nil }
        let outcome = run.process(
            Resource.response(received.erased, at: received.timestamp), serving: serving, watch: watch)
        let isTouched = outcome.isServedTransformed && configuration.serving != .raw
        var served: Result<Entity<[UInt8]>, RequestError> = .success(received)
        var hasOtherOctets = false
        if isTouched {
            served = encoded(outcome.served, received, limit: configuration.transformedSizeLimit).map { entity in
                if entity.content == received.content, entity.eTag != nil { return entity }
                var entity = entity
                hasOtherOctets = true
                sealing(&entity)
                return entity
            }
        }
        return TransformedResponse(
            response: outcome.response.mapError(named), served: served.mapError(named), isTransformed: isTouched,
            hasOtherOctets: hasOtherOctets, outputs: outcome.outputs)
    }

    /// A response by its status: errors are errors to the pipeline too.
    private static func response(_ entity: AnyEntity, at now: Timestamp) -> Response {
        entity.status.isError
            ? .failure(RequestError(status: entity.status, entity: entity, timestamp: now)) : .success(entity)
    }

    private func named(_ error: RequestError) -> RequestError {
        var error = error
        error.url = url
        return error
    }

    /// The bytes of a success, or of the content of an error that an origin sent or a transformer made on purpose. An
    /// error of the pipeline itself has none. Unchanged bytes keep the origin's fields about them.
    private func encoded(
        _ response: Response, _ received: Entity<[UInt8]>, limit: Int
    ) -> Result<Entity<[UInt8]>, RequestError> {
        var entity: AnyEntity
        switch response {
        case .success(let success): entity = success
        case .failure(let error):
            guard error.cause == nil, !error.isAboutInput, let content = error.entity else { return .failure(error) }
            entity = content
            if let status = error.status { entity.status = status }
        }
        if let octets = entity.content as? [UInt8], octets == received.content {
            return .success(entity.withContent(octets))
        }
        do {
            let wire = try entity.encodedForWire()
            guard wire.content.count <= limit else {
                throw TransformedContentTooLarge(size: wire.content.count, limit: limit)
            }
            return .success(wire)
        } catch {
            return .failure(
                RequestError(status: entity.status, entity: entity, cause: error, timestamp: entity.timestamp))
        }
    }
}
