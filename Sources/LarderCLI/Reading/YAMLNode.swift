// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML document as written, with its location.
struct YAMLNode {
    enum Kind {
        case scalar(Scalar)
        case sequence([YAMLNode])
        /// In the order of the text; keys may be duplicated.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    struct Scalar {
        let text: String
        /// Neither quoted nor a block scalar.
        let isPlain: Bool
        /// Nil where none was written.
        let tag: String?
    }

    let kind: Kind
    let mark: YAMLMark

    /// The text of a scalar.
    var text: String? { if case .scalar(let scalar) = kind { scalar.text } else { nil } }

    /// True if it is the key that merges maps into its own (YAML 1.1, "Merge Key Language-Independent Type").
    var isMergeKey: Bool {
        if case .scalar(let scalar) = kind { scalar.isPlain && scalar.tag == nil && scalar.text == "<<" } else { false }
    }
}

/// A location in a YAML text; both numbers count from 1, the column in characters.
struct YAMLMark: Equatable {
    let line: Int
    let column: Int

    static let start = YAMLMark(line: 1, column: 1)
}

/// Why a text is not a readable YAML document.
struct YAMLError: Error {
    let problem: String
    let mark: YAMLMark
    /// The construct that was being parsed, and the line it begins in.
    var context: (text: String, line: Int)?
}
