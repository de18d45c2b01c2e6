// SPDX-License-Identifier: Apache-2.0

import LarderSettings

/// Converts YAML to a tree of settings, with the location of every node.
///
/// Only the shape is checked here: syntax, size, depth and references. The catalogue interprets the keys.
struct YAMLDocument {
    /// The source of the text, for messages.
    enum Source {
        case file(String)
        case option(String)

        func place(line: Int, column: Int) -> SourcePlace {
            switch self {
            case .file(let path): .file(path, line: line, column: column)
            case .option(let key): .option(key, line: line, column: column)
            }
        }

        /// The setting whose value the whole text is.
        var setting: String {
            if case .option(let key) = self { key } else { "" }
        }
    }

    let source: Source
    private(set) var references: SecretReferences
    private(set) var problems: [SettingsProblem] = []
    private var remaining = YAMLDocument.nodeLimit

    /// The most nodes of a document after expansion of its aliases: a handful of nested aliases has an unbounded
    /// expansion.
    static let nodeLimit = 100_000
    static let depthLimit = 32
    /// The deepest nesting of the text itself; deeper texts are not read to their end.
    private static let parserDepthLimit = 200

    init(source: Source, references: SecretReferences) {
        self.source = source
        self.references = references
    }

    /// The tree of `text`, or nil when it is empty or is not YAML; `problems` says which.
    mutating func read(_ text: String) -> SettingNode? {
        let limits = YAMLComposer.Limits(depth: YAMLDocument.parserDepthLimit, merged: YAMLDocument.nodeLimit)
        do throws(YAMLError) {
            guard let node = try YAMLComposer.compose(text, limits: limits) else { return nil }
            declareVariables(in: node)
            return convert(node, depth: 0)
        } catch {
            problems.append(YAMLDocument.problem(error, text: text, source: source))
            return nil
        }
    }

    /// Collects the names of variables before any text is expanded.
    private mutating func declareVariables(in node: YAMLNode) {
        guard case .file = source, case .mapping(let root) = node.kind else { return }
        for (key, value) in root where key.text == "variables" {
            guard case .mapping(let variables) = value.kind else { continue }
            references.variables.formUnion(variables.compactMap(\.key.text))
        }
    }

    // MARK: Shape

    private mutating func convert(_ node: YAMLNode, depth: Int) -> SettingNode? {
        let place = place(of: node)
        guard remaining > 0 else { return nil }
        remaining -= 1
        if remaining == 0 {
            refuse(
                at: place, found: "more than \(YAMLDocument.nodeLimit) values once aliases are written out",
                expected: "fewer", advice: "write the configuration without nested aliases")
            return nil
        }
        guard depth < YAMLDocument.depthLimit else {
            refuse(
                at: place, found: "values nested \(depth) deep", expected: "at most \(YAMLDocument.depthLimit)",
                advice: "close the brackets that are open")
            return nil
        }
        switch node.kind {
        case .scalar(let scalar):
            return SettingNode(.scalar(convert(scalar, at: place)), at: place)
        case .sequence(let sequence):
            return SettingNode(.list(sequence.compactMap { convert($0, depth: depth + 1) }), at: place)
        case .mapping(let mapping):
            var entries: [SettingNode.Entry] = []
            for (key, value) in mapping {
                guard let entry = entry(key, value, depth: depth) else { continue }
                entries.append(entry)
            }
            return SettingNode(.map(entries), at: place)
        }
    }

    private mutating func entry(_ key: YAMLNode, _ value: YAMLNode, depth: Int) -> SettingNode.Entry? {
        let place = place(of: key)
        guard let name = key.text else {
            refuse(
                at: place, found: "a list or a map as a key", expected: "a text",
                advice: "a value that starts with `{` or `[` needs quotes around it")
            return nil
        }
        return convert(value, depth: depth + 1).map { SettingNode.Entry(key: name, place: place, value: $0) }
    }

    private mutating func convert(_ scalar: YAMLNode.Scalar, at place: SourcePlace) -> SettingNode.Scalar {
        let isQuoted = !scalar.isPlain || scalar.tag == "tag:yaml.org,2002:str"
        if let tag = scalar.tag, !["!", "tag:yaml.org,2002:str"].contains(tag) {
            refuse(at: place, found: "the tag \(SettingsProblem.quoted(tag))", expected: "a value without a tag")
        }
        do throws(SecretReferences.Failure) {
            let pieces = try references.pieces(of: scalar.text)
            return SettingNode.Scalar(
                text: Secret(pieces).reveal(), written: scalar.text, isQuoted: isQuoted,
                pieces: pieces.count > 1 ? pieces : [])
        } catch {
            refuse(
                at: place, found: error.found, expected: error.expected, suggestion: error.suggestion,
                advice: error.advice)
            return SettingNode.Scalar(text: "", written: scalar.text, isQuoted: true, isUnresolved: true)
        }
    }

    private func place(of node: YAMLNode) -> SourcePlace {
        source.place(line: node.mark.line, column: node.mark.column)
    }

    private mutating func refuse(
        at place: SourcePlace, found: String, expected: String?, suggestion: String? = nil, advice: String? = nil
    ) {
        problems.append(
            SettingsProblem(
                at: place, setting: source.setting, found: found, expected: expected, suggestion: suggestion,
                advice: advice))
    }
}
