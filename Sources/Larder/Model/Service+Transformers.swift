// SPDX-License-Identifier: Apache-2.0
public import LarderHTTP

/// Transformers of the resources that a pattern matches, in place of those at their stage or behind them.
extension Service {
    /// The methods whose responses `configureTransformer` transforms unless told otherwise.
    public static let transformedMethods: Set<Method> = [.get, .put, .post, .patch, .delete]

    /// Adds a transformer that is no closure, such as `.decodable(User.self)`.
    public func configureTransformer(
        _ pattern: some ConfigurationPattern, methods: Set<Method> = transformedMethods,
        atStage stage: PipelineStageKey = .model, action: PipelineStage.MutationAction = .replaceExisting,
        description: String? = nil, _ transformer: some ResponseTransformer
    ) {
        configure(
            pattern, methods: methods,
            description: description ?? "\(pattern.patternDescription): \(transformer.transformerDescription)"
        ) {
            if action == .replaceExisting { $0.pipeline[stage].removeTransformers() }
            $0.pipeline[stage].add(transformer)
        }
    }

    /// Adds a closure that takes the entity; the types are the closure's.
    public func configureTransformer<Input: Sendable, Output: Sendable>(
        _ pattern: some ConfigurationPattern, methods: Set<Method> = transformedMethods,
        atStage stage: PipelineStageKey = .model, action: PipelineStage.MutationAction = .replaceExisting,
        onInputTypeMismatch: InputTypeMismatchAction = .error, transformErrors: Bool = false,
        description: String? = nil, _ body: @escaping @Sendable (Entity<Input>) throws -> Output?
    ) {
        configureTransformer(
            pattern, methods: methods, atStage: stage, action: action, description: description,
            ResponseContentTransformer(
                description, onInputTypeMismatch: onInputTypeMismatch, transformErrors: transformErrors, body))
    }

    /// Adds a closure that takes the content and the entity.
    public func configureTransformer<Input: Sendable, Output: Sendable>(
        _ pattern: some ConfigurationPattern, methods: Set<Method> = transformedMethods,
        atStage stage: PipelineStageKey = .model, action: PipelineStage.MutationAction = .replaceExisting,
        onInputTypeMismatch: InputTypeMismatchAction = .error, transformErrors: Bool = false,
        description: String? = nil,
        _ body: @escaping @Sendable (_ content: Input, _ entity: Entity<Input>) throws -> Output?
    ) {
        configureTransformer(
            pattern, methods: methods, atStage: stage, action: action, onInputTypeMismatch: onInputTypeMismatch,
            transformErrors: transformErrors, description: description
        ) { (entity: Entity<Input>) in try body(entity.content, entity) }
    }
}

/// The same for globs, which may be written as texts.
extension Service {
    /// Adds a transformer that is no closure, such as `.decodable(User.self)`.
    public func configureTransformer(
        _ glob: GlobPattern, methods: Set<Method> = transformedMethods,
        atStage stage: PipelineStageKey = .model, action: PipelineStage.MutationAction = .replaceExisting,
        description: String? = nil, _ transformer: some ResponseTransformer
    ) {
        let pattern: some ConfigurationPattern = glob
        configureTransformer(
            pattern, methods: methods, atStage: stage, action: action, description: description, transformer)
    }

    /// Adds a closure that takes the entity; the types are the closure's.
    public func configureTransformer<Input: Sendable, Output: Sendable>(
        _ glob: GlobPattern, methods: Set<Method> = transformedMethods,
        atStage stage: PipelineStageKey = .model, action: PipelineStage.MutationAction = .replaceExisting,
        onInputTypeMismatch: InputTypeMismatchAction = .error, transformErrors: Bool = false,
        description: String? = nil, _ body: @escaping @Sendable (Entity<Input>) throws -> Output?
    ) {
        let pattern: some ConfigurationPattern = glob
        configureTransformer(
            pattern, methods: methods, atStage: stage, action: action, onInputTypeMismatch: onInputTypeMismatch,
            transformErrors: transformErrors, description: description, body)
    }

    /// Adds a closure that takes the content and the entity.
    public func configureTransformer<Input: Sendable, Output: Sendable>(
        _ glob: GlobPattern, methods: Set<Method> = transformedMethods,
        atStage stage: PipelineStageKey = .model, action: PipelineStage.MutationAction = .replaceExisting,
        onInputTypeMismatch: InputTypeMismatchAction = .error, transformErrors: Bool = false,
        description: String? = nil,
        _ body: @escaping @Sendable (_ content: Input, _ entity: Entity<Input>) throws -> Output?
    ) {
        let pattern: some ConfigurationPattern = glob
        configureTransformer(
            pattern, methods: methods, atStage: stage, action: action, onInputTypeMismatch: onInputTypeMismatch,
            transformErrors: transformErrors, description: description, body)
    }
}
