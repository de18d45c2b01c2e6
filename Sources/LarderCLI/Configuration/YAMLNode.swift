// SPDX-License-Identifier: Apache-2.0

/// A value of a YAML document as it was written, with the place where it begins.
struct YAMLNode {
    enum Kind {
        case scalar(Scalar)
        case sequence([YAMLNode])
        /// In the order of the text; a key may stand there twice.
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    struct Scalar {
        let text: String
        /// Without quotes, and not a block of lines.
        let isPlain: Bool
        /// Nil where none was written.
        let tag: String?
    }

    let kind: Kind
    let mark: YAMLMark

    /// The text of a scalar.
    var text: String? { if case .scalar(let scalar) = kind { scalar.text } else { nil } }

    /// Whether it is the key that merges maps into the one it stands in (YAML 1.1, "Merge Key Language-Independent Type").
    var isMergeKey: Bool {
        if case .scalar(let scalar) = kind { scalar.isPlain && scalar.tag == nil && scalar.text == "<<" } else { false }
    }
}

/// A place in a YAML text; both numbers count from 1, the column in characters.
struct YAMLMark: Equatable {
    let line: Int
    let column: Int

    static let start = YAMLMark(line: 1, column: 1)
}

/// Why a text is not a YAML document that can be read.
struct YAMLError: Error {
    let problem: String
    let mark: YAMLMark
    /// The construct that was being read, and the line it begins in.
    var context: (text: String, line: Int)?
}
