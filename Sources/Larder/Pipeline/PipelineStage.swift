// SPDX-License-Identifier: Apache-2.0

/// One step of a pipeline: transformers in their order, then a cache that stores their output.
public struct PipelineStage: Sendable {
    /// The transformers in the order they run.
    public private(set) var transformers: [any ResponseTransformer] = []
    /// The cache of the stage's output, if there is one.
    public private(set) var cache: AnyEntityCache?
    /// True if a daemon stores the stage's output; nil when that was not configured.
    package var isCached: Bool?

    /// Makes a stage without transformers and cache.
    public init() {}

    /// How adding a transformer affects the stage's existing ones.
    public enum MutationAction: Sendable {
        /// They are removed.
        case replaceExisting
        /// They stay, before the new one.
        case appendToExisting
    }

    /// Adds a transformer after the existing ones.
    public mutating func add(_ transformer: some ResponseTransformer) { transformers.append(transformer) }

    /// Adds a transformer for content of certain types only.
    public mutating func add(_ transformer: some ResponseTransformer, contentTypes: [ContentTypePattern]) {
        transformers.append(ContentTypeFilter(transformer, contentTypes: contentTypes))
    }

    mutating func addStandard(_ transformer: StandardTransformer) {
        if let group = transformers.last as? StandardTransformers {
            transformers[transformers.count - 1] = StandardTransformers(members: group.members + [transformer])
        } else {
            transformers.append(StandardTransformers(members: [transformer]))
        }
    }

    /// Removes the transformers and keeps the cache.
    public mutating func removeTransformers() { transformers = [] }

    /// Removes the transformers and keeps the cache.
    public mutating func removeAllTransformers() { removeTransformers() }

    /// Stores the output of this stage in `cache`, and looks there before asking the origin: for the program's own
    /// resources, and in a daemon for what all clients get of a URL.
    public mutating func cacheUsing(_ cache: some EntityCache) { self.cache = AnyEntityCache(cache) }

    /// Stores no output of this stage.
    public mutating func doNotCache() {
        cache = nil
        isCached = false
    }

    var isEmpty: Bool { transformers.isEmpty && cache == nil && isCached != true }
}
