// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

extension Service {
    /// Adds a transformer for the resources that a glob matches, in place of those at its stage or behind them: for
    /// transformers that are no closures, such as `.decodable(User.self)`.
    public func configureTransformer(
        _ pattern: GlobPattern, methods: Set<Method> = transformedMethods, atStage stage: PipelineStageKey = .model,
        action: PipelineStage.MutationAction = .replaceExisting, description: String? = nil,
        _ transformer: some ResponseTransformer
    ) {
        configure(
            pattern, methods: methods,
            description: description ?? "\(pattern.text): \(transformer.transformerDescription)"
        ) {
            if action == .replaceExisting { $0.pipeline[stage].removeTransformers() }
            $0.pipeline[stage].add(transformer)
        }
    }
}
