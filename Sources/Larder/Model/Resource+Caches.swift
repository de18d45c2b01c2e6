// SPDX-License-Identifier: Apache-2.0
import LarderIO

extension Resource {
    /// The subject for the caches of a stage; nil for an invalid URL.
    func cacheSubject(for stage: PipelineStageKey) -> CacheSubject? {
        url.target.map { CacheSubject(service: service.name, partition: partition, url: $0, stage: stage) }
    }

    /// The places this resource has in the caches of its stages.
    func cacheEntries() -> [CacheEntry] { PipelineRun(configuration, subject: cacheSubject).entries }

    /// Reads the caches, unless that was done since the resource was made or wiped. Without caches it is done at once.
    func checkCaches() {
        let isDue = memory.withProgram(of: self) { program, state in
            memory.catchUp(&state)
            return program.machine.cacheCheck == .notStarted
        }
        guard isDue else { return }
        let configuration = configuration
        let hasCaches = configuration.caching != .none && configuration.pipeline.hasCaches
        let (check, mayBeInMemory) = memory.withProgram(of: self) { program, state in
            // A daemon may have content for its clients.
            let mayBeInMemory = isRegistered && !(state.snapshot.variants.isEmpty && state.snapshot.isStoreRead)
            return (program.machine.cacheCheckStarted(hasCaches: mayBeInMemory || hasCaches), mayBeInMemory)
        }
        guard let check else { return }
        // Not before: to make its keys, a cache may look at the resource.
        let run = PipelineRun(configuration, subject: cacheSubject)
        guard mayBeInMemory || !run.entries.isEmpty else { return finishCheck(check, nil, []) }
        let limit = configuration.transformTimeout
        Task { await self.readCaches(run, within: limit, check) }
    }

    /// Calls `body` when no cache check is running.
    func afterCacheCheck(_ body: @escaping @Sendable () -> Void) {
        checkCaches()
        let isChecking = withProgram { program in
            guard case .running = program.machine.cacheCheck else { return false }
            program.checkWaiters.append(body)
            return true
        }
        if !isChecking { body() }
    }

    /// The outcome of a load when existing data is fresh; nil when it is not.
    func confirmation() -> ResponseInfo? {
        withPlan { program, state, plan in
            let machine = program.machine
            guard program.isUpToDate(by: plan), let data = machine.latestData, machine.latestError == nil else {
                return nil
            }
            var info = ResponseInfo(.success(data))
            info.isInMemory = true
            info.landing = Landing(
                resource: ObjectIdentifier(self), method: .get, wipeGeneration: state.wipeGeneration, entries: [],
                isConfirmedByCache: true)
            return info
        }
    }

    /// Reads the caches from the last stage to the first. The first entry that the later stages make a success of
    /// is it.
    private func readCaches(_ run: PipelineRun, within limit: Duration, _ check: UInt64) async {
        for (index, step) in run.steps.enumerated().reversed() {
            guard let entry = step.entry,
                let stored = await service.cacheWork.read(entry, clock: service.clock, log: service.log)
            else {
                continue
            }
            let outcome = await run.process(
                .success(stored), from: index + 1, within: limit, clock: service.clock)
            guard case .success(let entity) = outcome.response else {
                service.log(.cache, "\(url): what \(step.key) holds does not get through the later stages")
                continue
            }
            finishCheck(check, entity, outcome.outputs)
            return
        }
        finishCheck(check, await registeredHost?.content(of: self), [])
    }

    private func finishCheck(_ check: UInt64, _ entity: AnyEntity?, _ outputs: [PipelineRun.Output]) {
        service.log(.cache, "\(url): \(entity == nil ? "miss" : "hit")")
        var waiters: [@Sendable () -> Void] = []
        perform { program, _ in
            guard program.machine.cacheCheck == .running(check) else { return .init() }
            waiters = program.checkWaiters
            program.checkWaiters = []
            let (transition, isTaken) = program.machine.cacheCheckFinished(check, entity)
            // Later stages had nothing usable, or it would have been taken.
            if isTaken { store(outputs) }
            return transition
        }
        for waiter in waiters { waiter() }
    }
}

extension PipelineRun {
    /// The pipeline of a configuration, with the caches that it allows.
    init(_ configuration: Configuration, subject: (PipelineStageKey) -> CacheSubject?) {
        let isCaching = configuration.caching != .none
        self.init(configuration.pipeline, sizeLimit: configuration.transformedSizeLimit) { key in
            isCaching ? subject(key) : nil
        }
    }
}
