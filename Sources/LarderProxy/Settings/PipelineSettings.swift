// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderTransformers

/// What a block says about the pipeline: what happens to responses between the origin and the clients.
///
/// What it does not say stays as earlier blocks left it.
package struct PipelineSettings: Sendable {
    /// The stages that run, in their order; nil keeps the order.
    package var order: [PipelineStageKey]?
    /// Removes the transformers and caches that earlier blocks put into stages.
    package var clear = false
    package var removeAllTransformers = false
    package var removeAllCaches = false
    /// In the order of the file.
    package var stages: [StageSettings] = []

    package init() {}

    /// Words that stand beside the stages, so that no stage can be called like them.
    static let words = ["order", "clear", "removeAllTransformers", "removeAllCaches"]
}

/// What a block says about one stage.
package struct StageSettings: Sendable {
    package var key: PipelineStageKey
    /// Removes the transformers that earlier blocks put here.
    package var clear = false
    /// What comes behind the transformers that are there.
    package var add: [TransformerSettings] = []
    package var cache: StageCaching?

    package init(_ key: PipelineStageKey) { self.key = key }
}

/// Whether the output of a stage is kept in the store.
package enum StageCaching: String, Sendable, CaseIterable {
    case `default`, none
}

/// One transformer: what it does, and for which content. Exactly one of the properties up to `exec` is set.
package struct TransformerSettings: Sendable {
    /// Those without anything to say but their name.
    package enum Plain: String, Sendable, CaseIterable {
        case json, text, image, decode, gunzip, brotli, zstd
    }

    /// A jq program, and how it is shown.
    package struct JQ: Sendable {
        package var program: JQProgram
        var shown: String
    }

    package struct Pointers: Sendable {
        package var select: JSONPointer?
        package var omit: [JSONPointer] = []

        package init() {}
    }

    /// A program to run, and how its arguments are shown.
    package struct Exec: Sendable {
        package var program: ExecProgram
        var shown: [String]
    }

    package var use: Plain?
    package var jq: JQ?
    package var jsonPointer: Pointers?
    package var errorMessageFrom: JSONPointer?
    package var successIfStatus: [Int]?
    package var requireType: ContentType?
    package var headers: [HeaderEdit]?
    package var exec: Exec?

    package var contentTypes: [ContentTypePattern]?
    package var onMismatch: InputTypeMismatchAction?
    package var transformErrors: Bool?
    /// For codings: undo it whatever `Content-Encoding` says.
    package var always: Bool?

    package init() {}
}
