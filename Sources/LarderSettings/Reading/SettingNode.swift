// SPDX-License-Identifier: Apache-2.0

/// A piece of configuration as written, before its interpretation: a text, a list or a map, and its location.
package struct SettingNode: Sendable {
    package var content: Content
    package var place: SourcePlace

    package enum Content: Sendable {
        case scalar(Scalar)
        case list([SettingNode])
        /// In the order written; duplicate keys are possible, which the reader refuses.
        case map([Entry])
    }

    package struct Scalar: Sendable {
        /// The text, with references to secrets replaced.
        package var text: String
        /// The text as written, for messages.
        package var written: String
        /// True if it was quoted, and so is a text even if it looks like a number.
        package var isQuoted: Bool
        /// True if it contains a reference that could not be resolved, which has been reported: there is no text.
        package var isUnresolved: Bool
        /// Its parts when it contains variables, whose values are determined later and are not in `text`; else empty.
        package var pieces: [Secret.Piece]

        package init(
            text: String, written: String? = nil, isQuoted: Bool = false, isUnresolved: Bool = false,
            pieces: [Secret.Piece] = []
        ) {
            self.pieces = pieces
            self.text = text
            self.written = written ?? text
            self.isQuoted = isQuoted
            self.isUnresolved = isUnresolved
        }

        package var isNull: Bool { !isQuoted && ["", "~", "null", "Null", "NULL"].contains(text) }
        package var hasReferences: Bool { text != written }

        /// The text as a secret.
        var secret: Secret {
            Secret(pieces.isEmpty ? [.text(text)] : pieces, reference: hasReferences ? written : nil)
        }
    }

    package struct Entry: Sendable {
        package var key: String
        package var place: SourcePlace
        package var value: SettingNode

        package init(key: String, place: SourcePlace, value: SettingNode) {
            self.key = key
            self.place = place
            self.value = value
        }
    }

    package init(_ content: Content, at place: SourcePlace) {
        self.content = content
        self.place = place
    }

    package var isNull: Bool {
        if case .scalar(let scalar) = content { scalar.isNull } else { false }
    }

    /// True if it is a text that begins so.
    func begins(with beginning: String) -> Bool {
        if case .scalar(let scalar) = content { scalar.written.hasPrefix(beginning) } else { false }
    }

    /// A description for a message; a text only if it is known not to be a secret.
    func summary(showingText: Bool) -> String {
        switch content {
        case .list(let items): return items.isEmpty ? "an empty list" : "a list"
        case .map(let entries): return entries.isEmpty ? "an empty map" : "a map"
        case .scalar(let scalar):
            if scalar.isNull { return "nothing" }
            // A secret may be a number, but its value must not be shown.
            guard showingText else { return !scalar.isQuoted && Double(scalar.text) != nil ? "a number" : "a text" }
            return SettingsProblem.quoted(scalar.written)
        }
    }
}

/// The location of a piece of configuration.
package enum SourcePlace: Sendable, Hashable {
    /// Lines and columns count from 1.
    case file(String, line: Int, column: Int)
    /// The value of `--set KEY=…`; line and column are within the value.
    case option(String, line: Int, column: Int)
    case environment(String)
    /// A file as a whole, or something missing from it.
    case wholeFile(String)
    /// No location: something is missing from an empty configuration.
    case nowhere
}

extension SourcePlace: CustomStringConvertible {
    package var description: String {
        switch self {
        case .file(let path, let line, let column): "\(SourcePlace.shown(path)):\(line):\(column)"
        case .option(let key, 1, 1): "--set \(key)"
        case .option(let key, let line, let column): "--set \(key):\(line):\(column)"
        case .environment(let name): "environment variable \(name)"
        case .wholeFile(let path): SourcePlace.shown(path)
        case .nowhere: "configuration"
        }
    }

    /// A path for people.
    package static func shown(_ path: String) -> String { path == "/dev/stdin" ? "standard input" : path }
}
