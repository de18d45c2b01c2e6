// SPDX-License-Identifier: Apache-2.0

/// The name of a stage. Two keys with one name are the same stage, in Swift, in YAML and in stores.
public struct PipelineStageKey: Sendable, Hashable, CustomStringConvertible {
    /// The name, which identifies the stage.
    public let name: String

    /// Names a stage; a name of your own makes a custom stage.
    public init(_ name: String) { self.name = name }

    /// Bytes as the origin sent them.
    public static let rawData = PipelineStageKey("rawData")
    /// Bytes decoded, decrypted, unpacked.
    public static let decoding = PipelineStageKey("decoding")
    /// Text, JSON, images: the stage of the standard transformers.
    public static let parsing = PipelineStageKey("parsing")
    /// Your own types.
    public static let model = PipelineStageKey("model")
    /// Final changes, such as messages extracted from error responses.
    public static let cleanup = PipelineStageKey("cleanup")

    public var description: String { name }
}
