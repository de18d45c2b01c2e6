// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderIO

/// A pipeline prepared for one resource at one moment: a request captures it when it is made, so that later changes of
/// the configuration do not affect it.
struct PipelineRun: Sendable {
    struct Step: Sendable {
        let key: PipelineStageKey
        let transformers: [any ResponseTransformer]
        let entry: CacheEntry?
    }

    /// The output of a stage that has a cache.
    struct Output: Sendable {
        let entry: CacheEntry
        let entity: AnyEntity
    }

    /// The result for a response.
    struct Outcome: Sendable {
        var response: Response
        var outputs: [Output] = []
        /// The output of the stage that clients are served from, and whether a transformer had changed it by then.
        var served: Response
        var isServedTransformed = false
    }

    let steps: [Step]
    private let sizeLimit: Int

    /// - Parameters:
    ///   - sizeLimit: the most bytes that a transformer may make of a response.
    ///   - subject: the subject for the cache of a stage; nil where the stage's output is not cached.
    init(_ pipeline: Pipeline, sizeLimit: Int, subject: (PipelineStageKey) -> CacheSubject?) {
        self.sizeLimit = sizeLimit
        steps = pipeline.order.map { key in
            let stage = pipeline[key]
            return Step(
                key: key, transformers: stage.transformers, entry: subject(key).flatMap { stage.cache?.entry(for: $0) })
        }
    }

    var entries: [CacheEntry] { steps.compactMap(\.entry) }

    /// True if any transformer applies to `response` as it is before the first stage.
    func hasTransformers(for response: Response) -> Bool {
        steps.contains { $0.transformers.contains { $0.applies(to: response) } }
    }

    /// The threads of the first transformer that waits for others; nil if none does.
    var ownThreads: TransformerThreads? {
        for step in steps {
            for transformer in step.transformers {
                if let threads = transformer.ownThreads { return threads }
            }
        }
        return nil
    }

    /// Runs a response through the stages from `first` on. Stages from the first failing one on have no output.
    func process(
        _ response: Response, from first: Int = 0, serving: PipelineStageKey? = nil, watch: Watch? = nil
    ) -> Outcome {
        var outcome = Outcome(response: response, served: response)
        var isTransformed = false
        for step in steps.dropFirst(first) {
            for transformer in step.transformers where transformer.applies(to: outcome.response) {
                watch?.note(step.key, transformer)
                isTransformed = true
                outcome.response = checked(
                    transformer.transform(outcome.response, until: watch?.deadline), from: outcome.response, step.key,
                    transformer)
            }
            if let entry = step.entry, case .success(let entity) = outcome.response {
                outcome.outputs.append(Output(entry: entry, entity: entity))
            }
            if step.key == serving || serving == nil {
                outcome.served = outcome.response
                outcome.isServedTransformed = isTransformed
            }
        }
        return outcome
    }

    /// The same with a time limit. A transformer that takes longer is abandoned; its result is ignored, and the
    /// response is an error that names it.
    func process(
        _ response: Response, from first: Int = 0, within limit: Duration, clock: any ModelClock
    ) async -> Outcome {
        guard hasTransformers(for: response) else { return process(response, from: first) }
        return await Self.race(
            within: limit, clock: clock, on: ownThreads ?? .own,
            orElse: { error in
                var late = error
                late.status = response.entity?.status
                late.entity = response.entity
                return Outcome(response: .failure(late), served: .failure(late))
            },
            { watch in process(response, from: first, watch: watch) })
    }

    /// The result of `work` on `threads`, or, when they take too long, accept no more work, or come to it when it is not
    /// wanted any more, the result of `orElse` for the reason.
    static func race<Value: Sendable>(
        within limit: Duration, clock: any ModelClock, on threads: TransformerThreads,
        while isWanted: @escaping @Sendable () -> Bool = { true },
        orElse: @escaping @Sendable (RequestError) -> Value, _ work: @escaping @Sendable (Watch) -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            let course = Course(threads)
            let watch = Watch(TransformDeadline(within: limit))
            course.time(limit, by: clock) {
                continuation.resume(returning: orElse(watch.timeout(limit, at: clock.now)))
            }
            let isTaken = threads.submit {
                // The time limit has passed while the work was queued.
                guard course.begin() else { return }
                let value =
                    isWanted() ? work(watch) : orElse(RequestError(cause: RequestCancelled(), timestamp: clock.now))
                guard course.finish() else { return }
                continuation.resume(returning: value)
            }
            guard !isTaken, course.end() else { return }
            continuation.resume(returning: orElse(RequestError(cause: TransformersBusy(), timestamp: clock.now)))
        }
    }

    /// The course of one piece of work: it waits for a thread, runs, and is done, or over before that.
    private final class Course: Sendable {
        /// Whether the thread that it has was given up, is said where it has one.
        private enum Phase {
            case waiting
            case running(isGivenUp: Bool)
            case done
            case over(isGivenUp: Bool)
        }

        private let threads: TransformerThreads
        private let phase = Lock(Phase.waiting)
        private let timer = Lock<ScheduledAction?>(nil)

        /// After so long another thread takes the place of the one that it has: others wait for no longer.
        private static let patience = Duration.milliseconds(500)

        init(_ threads: TransformerThreads) { self.threads = threads }

        /// False if it is over already.
        func begin() -> Bool {
            phase.withLock { phase in
                guard case .waiting = phase else { return false }
                phase = .running(isGivenUp: false)
                return true
            }
        }

        /// Calls `onEnd` when it is not done after `left`; gives up its thread before that.
        func time(_ left: Duration, by clock: any ModelClock, onEnd: @escaping @Sendable () -> Void) {
            let part = min(left, Self.patience)
            let next = clock.schedule(after: part) { [weak self] in
                guard let self else { return }
                if part < left, self.setAside() {
                    time(left - part, by: clock, onEnd: onEnd)
                } else if end() {
                    onEnd()
                }
            }
            timer.withLock { $0 = next }
            if case .done = phase.withLock({ $0 }) { next.cancel() }
        }

        /// Gives up the thread that it has, if it has one; false if it is not waited for any more.
        private func setAside() -> Bool {
            phase.withLock { phase in
                switch phase {
                case .waiting: return true
                case .running(let isGivenUp):
                    if !isGivenUp { phase = .running(isGivenUp: threads.giveUp()) }
                    return true
                case .done, .over: return false
                }
            }
        }

        /// False if nobody waits for its result any more.
        func finish() -> Bool {
            let (isInTime, isGivenUp) = phase.withLock { phase in
                switch phase {
                case .over(let isGivenUp): return (false, isGivenUp)
                case .running(let isGivenUp):
                    phase = .done
                    return (true, isGivenUp)
                case .waiting, .done: return (false, false)
                }
            }
            if isGivenUp { threads.regain() }
            if isInTime { timer.withLock { $0 }?.cancel() }
            return isInTime
        }

        /// It is not waited for any more; false if it is done.
        func end() -> Bool {
            let isInTime = phase.withLock { phase in
                switch phase {
                case .waiting: phase = .over(isGivenUp: false)
                case .running(let isGivenUp): phase = .over(isGivenUp: isGivenUp || threads.giveUp())
                case .done, .over: return false
                }
                return true
            }
            if isInTime { timer.withLock { $0 }?.cancel() }
            return isInTime
        }
    }

    /// A transformer's result, with the information that errors need: the stage, and the status and content of the
    /// input. Content that has grown beyond the limit is an error.
    private func checked(
        _ result: Response, from input: Response, _ stage: PipelineStageKey, _ transformer: any ResponseTransformer
    ) -> Response {
        if case .success(let entity) = result, let size = entity.measuredSize, size > sizeLimit {
            let cause = TransformedContentTooLarge(size: size, limit: sizeLimit)
            return .failure(failure(cause, of: input, stage, transformer, at: entity.timestamp))
        }
        guard case .failure(var error) = result else { return result }
        guard case .success(let entity) = input else {
            // In a later transformer's words it is still about that.
            if case .failure(let former) = input, former.isAboutInput { error.isAboutInput = true }
            return .failure(error)
        }
        if error.status == nil { error.status = entity.status }
        if error.entity == nil {
            error.entity = entity
            error.isAboutInput = true
        }
        error.stage = stage
        error.transformer = transformer.transformerDescription
        return .failure(error)
    }

    private func failure(
        _ cause: any Error, of input: Response, _ stage: PipelineStageKey, _ transformer: any ResponseTransformer,
        at now: Timestamp
    ) -> RequestError {
        var error = RequestError(status: input.entity?.status, entity: input.entity, cause: cause, timestamp: now)
        error.stage = stage
        error.transformer = transformer.transformerDescription
        return error
    }

    /// The transformer that is running, for the timeout's message, and the time that it has.
    final class Watch: Sendable {
        fileprivate let deadline: TransformDeadline
        private let current = Lock<(stage: PipelineStageKey, transformer: any ResponseTransformer)?>(nil)

        fileprivate init(_ deadline: TransformDeadline) { self.deadline = deadline }

        fileprivate func note(_ stage: PipelineStageKey, _ transformer: any ResponseTransformer) {
            current.withLock { $0 = (stage, transformer) }
        }

        fileprivate func timeout(_ limit: Duration, at now: Timestamp) -> RequestError {
            let current = current.withLock { $0 }
            var error = RequestError(cause: TransformerTimedOut(limit: limit), timestamp: now)
            error.stage = current?.stage
            error.transformer = current?.transformer.transformerDescription
            return error
        }
    }
}

extension Entity where Content == any Sendable {
    /// The size of the content in bytes, where it can be determined.
    fileprivate var measuredSize: Int? {
        if let octets = content as? [UInt8] { return octets.count }
        if let text = content as? String { return text.utf8.count }
        return nil
    }
}
