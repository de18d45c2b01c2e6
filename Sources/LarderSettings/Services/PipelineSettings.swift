// SPDX-License-Identifier: Apache-2.0

package import Larder
package import LarderTransformers

/// A block's settings of the pipeline: the processing of responses between the origin and the clients.
///
/// Unset properties keep the values of earlier blocks.
package struct PipelineSettings: Sendable {
    /// The stages to run, in order; nil keeps the order.
    package var order: [PipelineStageKey]?
    /// Removes the transformers and caches of earlier blocks from all stages.
    package var clear = false
    package var removeAllTransformers = false
    package var removeAllCaches = false
    /// In the order of the file.
    package var stages: [StageSettings] = []

    package init() {}

    /// Keys beside the stages, which cannot be names of stages.
    static let words = ["order", "clear", "removeAllTransformers", "removeAllCaches"]
}

/// A block's settings of one stage.
package struct StageSettings: Sendable {
    package var key: PipelineStageKey
    /// Removes the transformers of earlier blocks from this stage.
    package var clear = false
    /// Transformers to append to the existing ones.
    package var add: [TransformerSettings] = []
    package var cache: StageCaching?

    package init(_ key: PipelineStageKey) { self.key = key }
}

/// The choice to store the output of a stage.
package enum StageCaching: String, Sendable, CaseIterable {
    case `default`, none
}

/// One transformer: its function, and the content it applies to. Exactly one of the properties up to `exec` is set.
package struct TransformerSettings: Sendable {
    /// Transformers without options.
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
    /// For codings: decode with any value of `Content-Encoding`.
    package var always: Bool?

    package init() {}
}
