// SPDX-License-Identifier: Apache-2.0

/// A resource whose content is known to be of one type, or should be.
public struct TypedResource<Content: Sendable>: Sendable {
    /// The resource itself.
    public let base: Resource

    /// Declares that the content of a resource has this type.
    public init(_ base: Resource) { self.base = base }

    /// The latest data, if it is of the type.
    public var latestData: Entity<Content>? { base.latestData?.withContentRetyped() }

    /// The latest content, if it is of the type.
    public var content: Content? { base.typedContent() }

    /// Asks the origin and waits for the entity. Content of another type is an error.
    public func load() async throws(RequestError) -> Entity<Content> { try typed(try await base.load().entity()) }

    /// The entity if it is up to date, else that of a load. Content of another type is an error.
    ///
    /// While a recent error delays the next load, that error is thrown.
    public func loadIfNeeded() async throws(RequestError) -> Entity<Content> {
        if let request = base.loadIfNeeded() { return try typed(try await request.entity()) }
        let state = base.state
        if let error = state.latestError { throw error }
        if let data = state.latestData { return try typed(data) }
        return try await load()
    }

    private func typed(_ entity: AnyEntity) throws(RequestError) -> Entity<Content> {
        if let typed = entity.withContentRetyped(as: Content.self) { return typed }
        var error = RequestError(
            status: entity.status, entity: entity,
            cause: WrongInputTypeInTransformerPipeline(
                expected: String(describing: Content.self), actual: String(describing: type(of: entity.content as Any)),
                transformer: "typed resource"),
            timestamp: entity.timestamp)
        error.url = base.url
        throw error
    }
}

extension Resource {
    /// This resource with content of a known type.
    public func typed<Content: Sendable>(as type: Content.Type = Content.self) -> TypedResource<Content> {
        TypedResource(self)
    }
}
