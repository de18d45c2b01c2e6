// SPDX-License-Identifier: Apache-2.0

/// The steps from the response as it came to the content that resources hold.
///
/// A pipeline is a value: what one configuration does to its pipeline, no other sees. The default order of the
/// stages is `rawData`, `decoding`, `parsing`, `model`, `cleanup`; their names carry no behaviour.
public struct Pipeline: Sendable {
    /// The stages that run, in their order. Others do nothing and keep nothing.
    public private(set) var order: [PipelineStageKey] = Pipeline.defaultOrder
    private var stages: [PipelineStageKey: PipelineStage] = [:]
    /// What was asked of this pipeline and could not be done. Services say it in their logs.
    public private(set) var problems: [PipelineError] = []

    /// The order of stages unless another one is set.
    public static let defaultOrder: [PipelineStageKey] = [.rawData, .decoding, .parsing, .model, .cleanup]

    /// Makes a pipeline with empty stages.
    public init() {}

    /// Changes which stages run in which order. Stages keep what they hold. An order that names a stage twice changes
    /// nothing, and is among the problems from then on.
    public mutating func setOrder(_ order: [PipelineStageKey]) throws(PipelineError) {
        var seen: Set<PipelineStageKey> = []
        for key in order where !seen.insert(key).inserted {
            if !problems.contains(.duplicateStage(key)) { problems.append(.duplicateStage(key)) }
            throw .duplicateStage(key)
        }
        self.order = order
    }

    /// A stage; an empty one when nothing has been put there.
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

    /// Removes everything but the order: octets pass unchanged.
    public mutating func clear() { stages = [:] }

    /// Stages that hold something but do not run, which is rarely meant.
    public var unusedStages: [PipelineStageKey] {
        stages.filter { !$0.value.isEmpty && !order.contains($0.key) }.map(\.key).sorted { $0.name < $1.name }
    }

    /// Whether any transformer runs, so that content leaves other than it came.
    public var hasTransformers: Bool { order.contains { !self[$0].transformers.isEmpty } }

    /// What the results depend on: stages and transformers in their order.
    var fingerprint: String {
        order.map { "\($0.name): \(self[$0].transformers.map(\.fingerprint))" }.joined(separator: "\n")
    }
}

/// Why a pipeline cannot be as asked.
public enum PipelineError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A stage stands twice in the order.
    case duplicateStage(PipelineStageKey)

    public var description: String {
        switch self {
        case .duplicateStage(let key): "the stage '\(key)' stands twice in the order of the pipeline"
        }
    }
}
