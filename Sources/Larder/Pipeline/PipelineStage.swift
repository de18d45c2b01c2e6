// SPDX-License-Identifier: Apache-2.0

/// The name of a stage. Two keys with one name are the same stage, in Swift, in YAML and in stores.
public struct PipelineStageKey: Sendable, Hashable, CustomStringConvertible {
    /// What tells stages apart.
    public let name: String

    /// Names a stage; a name of one's own makes a stage of one's own.
    public init(_ name: String) { self.name = name }

    /// Octets as the origin sent them.
    public static let rawData = PipelineStageKey("rawData")
    /// Octets decoded, decrypted, unpacked.
    public static let decoding = PipelineStageKey("decoding")
    /// Text, JSON, images: where the standard transformers are.
    public static let parsing = PipelineStageKey("parsing")
    /// Your own types.
    public static let model = PipelineStageKey("model")
    /// Last touches, such as messages taken out of error responses.
    public static let cleanup = PipelineStageKey("cleanup")

    public var description: String { name }
}

/// What happens to responses at one point of a pipeline: transformers in their order, then a cache that keeps
/// what came out of them.
public struct PipelineStage: Sendable {
    /// The transformers in the order they run.
    public private(set) var transformers: [any ResponseTransformer] = []
    /// What keeps the stage's output, if anything does.
    public private(set) var cache: AnyEntityCache?
    /// Whether a daemon keeps the stage's output in its store; nil when nobody has said so.
    package var isCached: Bool?

    /// Makes a stage without transformers and cache.
    public init() {}

    /// What to do with the transformers a stage has already.
    public enum MutationAction: Sendable {
        /// They go.
        case replaceExisting
        /// They stay, before the new one.
        case appendToExisting
    }

    /// Adds a transformer behind those already there.
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

    /// Keeps what comes out of this stage in `cache`, and looks there before asking the origin.
    public mutating func cacheUsing(_ cache: some EntityCache) { self.cache = AnyEntityCache(cache) }

    /// Keeps nothing of this stage.
    public mutating func doNotCache() {
        cache = nil
        isCached = false
    }

    var isEmpty: Bool { transformers.isEmpty && cache == nil && isCached != true }
}
