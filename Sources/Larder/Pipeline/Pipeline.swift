// SPDX-License-Identifier: Apache-2.0

/// The steps from the received response to the content that resources hold.
///
/// A pipeline is a value: changes to one configuration's pipeline do not affect others. The default order of the stages
/// is `rawData`, `decoding`, `parsing`, `model`, `cleanup`; their names carry no behaviour.
public struct Pipeline: Sendable {
    /// The stages that run, in their order. Others do nothing and store nothing. Stages keep their transformers and caches
    /// when it is changed; an order that names a stage twice changes nothing, and is among the problems from then on.
    public var order: [PipelineStageKey] {
        get { stageOrder }
        set { try? setOrder(newValue) }
    }
    private var stageOrder = Pipeline.defaultOrder
    private var stages: [PipelineStageKey: PipelineStage] = [:]
    /// Changes to this pipeline that failed. Services log them.
    public private(set) var problems: [PipelineError] = []

    /// The default order of stages.
    public static let defaultOrder: [PipelineStageKey] = [.rawData, .decoding, .parsing, .model, .cleanup]

    /// Makes a pipeline with empty stages.
    public init() {}

    /// Sets `order`, and throws for one that names a stage twice.
    public mutating func setOrder(_ order: [PipelineStageKey]) throws(PipelineError) {
        var seen: Set<PipelineStageKey> = []
        for key in order where !seen.insert(key).inserted {
            if !problems.contains(.duplicateStage(key)) { problems.append(.duplicateStage(key)) }
            throw .duplicateStage(key)
        }
        stageOrder = order
    }

    /// A stage; an empty one when it has not been changed.
    public subscript(key: PipelineStageKey) -> PipelineStage {
        get { stages[key] ?? PipelineStage() }
        set { stages[key] = newValue }
    }

    /// Adds a standard transformer to its stage, or to another one. Standard transformers that follow each other
    /// exclude each other: the first whose content types match is the one that runs.
    public mutating func add(_ transformer: StandardTransformer, atStage key: PipelineStageKey? = nil) {
        self[key ?? transformer.stage].addStandard(transformer)
    }

    /// Removes the transformers of all stages and keeps the caches.
    public mutating func removeAllTransformers() {
        for key in stages.keys { stages[key]?.removeTransformers() }
    }

    /// Removes the caches of all stages and keeps the transformers.
    public mutating func removeAllCaches() {
        for key in stages.keys { stages[key]?.doNotCache() }
    }

    /// Removes everything but the order: bytes pass unchanged.
    public mutating func clear() { stages = [:] }

    /// Stages with transformers or caches that do not run, which is probably a mistake.
    public var unusedStages: [PipelineStageKey] {
        stages.filter { !$0.value.isEmpty && !order.contains($0.key) }.map(\.key).sorted { $0.name < $1.name }
    }

    /// True if any transformer runs, so that content may change.
    public var hasTransformers: Bool { order.contains { !self[$0].transformers.isEmpty } }

    /// True if a stage that runs has a cache.
    package var hasCaches: Bool { order.contains { self[$0].cache != nil } }

    /// The inputs of the results: stages and transformers in their order.
    var fingerprint: String {
        order.map { "\($0.name): \(self[$0].transformers.map(\.fingerprint))" }.joined(separator: "\n")
    }
}

/// Why a change to a pipeline is refused.
public enum PipelineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A stage occurs twice in the order.
    case duplicateStage(PipelineStageKey)

    public var description: String {
        switch self {
        case .duplicateStage(let key): "the stage '\(key)' stands twice in the order of the pipeline"
        }
    }
}
