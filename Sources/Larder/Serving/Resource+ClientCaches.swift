// SPDX-License-Identifier: Apache-2.0
package import LarderHTTP
import LarderIO
import LarderRules

/// A response for clients that was made of an entity in a cache.
package struct CachedResponse: Sendable {
    /// The entity as its stage made it, with the origin's fields.
    package let stored: AnyEntity
    /// The response for clients.
    package let served: Entity<[UInt8]>
    /// True if these may be other bytes than the origin's.
    package let isTransformed: Bool
    let outputs: [PipelineRun.Output]
}

/// The caches of stages as a daemon uses them for its clients, whose responses do not become this resource's state. None
/// of these operations waits for a cache but `readCaches`.
extension Resource {
    /// How long clients wait for one cache before the origin is asked.
    package static let cachePatience = CacheWork.patience

    /// The caches' response for clients, if they have one: the last stage's that leads to the content they get. Later
    /// stages run on `threads`, as for responses of the origin.
    package func readCaches(
        _ configuration: Configuration, on threads: TransformerThreads, clock: any ModelClock, log: ModelLog,
        sealing: @escaping @Sendable (inout Entity<[UInt8]>) -> Void
    ) async -> CachedResponse? {
        let run = PipelineRun(configuration, subject: cacheSubject)
        for (index, step) in run.steps(serving: configuration.serving).enumerated().reversed() {
            guard let entry = step.entry, let stored = await read(entry, clock, log) else { continue }
            let found = await PipelineRun.race(
                within: configuration.transformTimeout, clock: clock, on: run.ownThreads ?? threads,
                orElse: { _ in nil },
                { watch in self.response(of: stored, at: index, run, configuration, watch, sealing) })
            if let found { return found }
            log(.cache, "\(url): the entity at \(step.key) cannot become a response")
        }
        return nil
    }

    private func read(_ entry: CacheEntry, _ clock: any ModelClock, _ log: ModelLog) async -> AnyEntity? {
        let answer = await CacheWork.withPatience(clock) {
            await self.service.cacheWork.read(entry, clock: clock, log: log)
        }
        if answer == nil { log(.cache, "the cache at \(entry.stage) does not answer") }
        return answer ?? nil
    }

    /// Nil when the later stages refuse it, or it cannot be encoded.
    private func response(
        of stored: AnyEntity, at index: Int, _ run: PipelineRun, _ configuration: Configuration,
        _ watch: PipelineRun.Watch, _ sealing: (inout Entity<[UInt8]>) -> Void
    ) -> CachedResponse? {
        var (served, outputs) = (stored, [PipelineRun.Output]())
        var isTransformed = run.steps[...index].contains { !$0.transformers.isEmpty }
        if configuration.serving != .raw {
            let stage: PipelineStageKey? = if case .stage(let key) = configuration.serving { key } else { nil }
            let outcome = run.process(.success(stored), from: index + 1, serving: stage, watch: watch)
            guard case .success = outcome.response, case .success(let entity) = outcome.served else { return nil }
            (served, outputs) = (entity, outcome.outputs)
            isTransformed = isTransformed || outcome.isServedTransformed
        }
        if !isTransformed, let octets = served.content as? [UInt8] {
            return CachedResponse(
                stored: stored, served: served.withContent(octets), isTransformed: false, outputs: outputs)
        }
        guard var wire = try? served.encodedForWire(), wire.content.count <= configuration.transformedSizeLimit else {
            return nil
        }
        sealing(&wire)
        return CachedResponse(stored: stored, served: wire, isTransformed: true, outputs: outputs)
    }

    /// Fills the caches of the stages after the one that the response was found at.
    package func fillCaches(from response: CachedResponse, log: ModelLog) {
        for output in response.outputs {
            service.cacheWork.write(octets: response.served.content.count, to: output.entry, log: log) {
                output.entity
            }
        }
    }

    /// Writes the stages' output for a response that clients get.
    ///
    /// - Parameters:
    ///   - bytes: the size of the content.
    ///   - sharing: removes fields that only the first client may get.
    package func writeCaches(
        _ transformed: TransformedResponse, octets: Int, log: ModelLog,
        sharing: @escaping @Sendable (Fields) -> Fields
    ) {
        for output in transformed.outputs {
            service.cacheWork.write(octets: octets, to: output.entry, log: log) {
                var entity = output.entity
                entity.fields = sharing(entity.fields)
                return entity
            }
        }
    }

    /// Writes a response that clients get as it came, to the stages where no transformer has changed it.
    package func writeCaches(
        _ head: ResponseHead, _ configuration: Configuration, octets: Int, log: ModelLog,
        _ received: @escaping @Sendable () -> Entity<[UInt8]>
    ) {
        let run = PipelineRun(configuration, subject: cacheSubject)
        let placeholder = AnyEntity(
            content: [UInt8(0)] as any Sendable, fields: head.fields, status: head.status,
            timestamp: Timestamp(seconds: 0))
        for step in run.steps(serving: configuration.serving) {
            if step.transformers.contains(where: { $0.applies(to: .success(placeholder)) }) { return }
            guard let entry = step.entry else { continue }
            service.cacheWork.write(octets: octets, to: entry, log: log) { received().erased }
        }
    }

    /// Has the caches' entities confirmed by a 304 with these fields.
    package func freshenCaches(_ configuration: Configuration, by update: Fields, at now: Timestamp, log: ModelLog) {
        for entry in entries(configuration) { service.cacheWork.freshen(entry, by: update, at: now, log: log) }
    }

    /// Has the caches' entities validated before they are used again.
    package func expireCaches(_ configuration: Configuration, log: ModelLog) {
        for entry in entries(configuration) { service.cacheWork.expire(entry, log: log) }
    }

    /// Removes the caches' entities.
    package func emptyCaches(_ configuration: Configuration, log: ModelLog) {
        for entry in entries(configuration) { service.cacheWork.remove(entry, log: log) }
    }

    private func entries(_ configuration: Configuration) -> [CacheEntry] {
        PipelineRun(configuration, subject: cacheSubject).entries
    }
}

extension PipelineRun {
    /// The steps whose output can become the content that clients get.
    fileprivate func steps(serving: Configuration.Serving) -> ArraySlice<Step> {
        switch serving {
        case .final: steps[...]
        case .stage(let key): steps.firstIndex { $0.key == key }.map { steps[...$0] } ?? []
        case .raw: steps.prefix { $0.transformers.isEmpty }
        }
    }
}
