// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP

/// What a pipeline made of a response that a daemon received.
package struct TransformedResponse: Sendable {
    /// What becomes the resource's data or error.
    package let response: Response
    /// What clients get: octets and the fields that describe them, or why there is nothing they can get.
    package let served: Result<Entity<[UInt8]>, RequestError>
    let outputs: [PipelineRun.Output]
}

/// For loads that receive responses themselves: the pipeline, its caches, and what clients get of it.
extension Resource {
    /// Whether any transformer of this configuration has something to do with a response that begins with `head`
    /// and has content. If not, the content may be passed on as it comes.
    package func hasTransformers(for head: ResponseHead, _ configuration: Configuration) -> Bool {
        guard configuration.serving != .raw, configuration.pipeline.hasTransformers else { return false }
        let now = service.clock.now
        let placeholder = AnyEntity(
            content: [UInt8(0)] as any Sendable, fields: head.fields, status: head.status, timestamp: now)
        return PipelineRun(configuration) { _ in nil }.hasTransformers(for: Resource.response(placeholder, at: now))
    }

    /// Puts a whole response through the pipeline, once for all who want it. Give it to threads that may be busy.
    package func transform(_ received: Entity<[UInt8]>, _ configuration: Configuration) async -> TransformedResponse {
        let run = PipelineRun(configuration, subject: cacheSubject)
        let raw = Resource.response(received.erased, at: service.clock.now)
        let serving: PipelineStageKey? = if case .stage(let key) = configuration.serving { key } else { nil }
        let outcome = await run.process(
            raw, serving: serving, within: configuration.transformTimeout, clock: service.clock)
        let isTouched = outcome.isServedTransformed && configuration.serving != .raw
        let served = isTouched ? encoded(outcome.served, received) : .success(received)
        return TransformedResponse(
            response: outcome.response.mapError(named), served: served.mapError(named), outputs: outcome.outputs)
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

    /// The octets of a success, or of the content of an error that an origin sent; errors of the pipeline itself
    /// have none. Octets that are still the origin's keep what the origin said of them.
    private func encoded(
        _ response: Response, _ received: Entity<[UInt8]>
    ) -> Result<Entity<[UInt8]>, RequestError> {
        let entity: AnyEntity
        switch response {
        case .success(let success): entity = success
        case .failure(let error):
            guard error.stage == nil, error.cause == nil, let content = error.entity else { return .failure(error) }
            entity = content
        }
        if let octets = entity.content as? [UInt8], octets == received.content {
            return .success(entity.withContent(octets))
        }
        do {
            return .success(try entity.encodedForWire())
        } catch {
            return .failure(
                RequestError(status: entity.status, entity: entity, cause: error, timestamp: service.clock.now))
        }
    }
}
