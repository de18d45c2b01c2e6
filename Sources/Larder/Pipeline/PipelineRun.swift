// SPDX-License-Identifier: Apache-2.0
import LarderHTTP

/// A pipeline made ready for one resource at one moment: what a request takes along when it is made, so that a
/// configuration that changes meanwhile changes nothing for it.
struct PipelineRun: Sendable {
    struct Step: Sendable {
        let key: PipelineStageKey
        let transformers: [any ResponseTransformer]
        let entry: CacheEntry?
    }

    /// What came out of a stage that has a cache.
    struct Output: Sendable {
        let entry: CacheEntry
        let entity: AnyEntity
    }

    let steps: [Step]

    init(_ pipeline: Pipeline, subject: (PipelineStageKey) -> CacheSubject?) {
        steps = pipeline.order.map { key in
            let stage = pipeline[key]
            return Step(
                key: key, transformers: stage.transformers,
                entry: subject(key).flatMap { stage.cache?.entry(for: $0) })
        }
    }

    var entries: [CacheEntry] { steps.compactMap(\.entry) }

    /// Puts a response through the stages from `first` on. Stages from the first failing one on have no output.
    func process(_ response: Response, from first: Int = 0) -> (response: Response, outputs: [Output]) {
        var response = response
        var outputs: [Output] = []
        for step in steps.dropFirst(first) {
            for transformer in step.transformers {
                response = PipelineRun.keepingContext(transformer.process(response), from: response)
            }
            if let entry = step.entry, case .success(let entity) = response {
                outputs.append(Output(entry: entry, entity: entity))
            }
        }
        return (response, outputs)
    }

    /// An error made by a transformer without status or entity gets those of what it was made from.
    private static func keepingContext(_ result: Response, from input: Response) -> Response {
        guard case .failure(var error) = result, case .success(let entity) = input else { return result }
        if error.status == nil { error.status = entity.status }
        if error.entity == nil { error.entity = entity }
        return .failure(error)
    }
}
