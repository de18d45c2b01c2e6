// SPDX-License-Identifier: Apache-2.0

import LarderProxy
import Yams

/// Turns YAML into a tree of settings, with the place of every piece.
///
/// Only the shape is judged here: syntax, size, depth and references. What the keys mean is the catalogue's.
struct YAMLDocument {
    /// Which text it is, for messages.
    enum Source {
        case file(String)
        case option(String)

        func place(line: Int, column: Int) -> SourcePlace {
            switch self {
            case .file(let path): .file(path, line: line, column: column)
            case .option(let key): .option(key, line: line, column: column)
            }
        }

        /// The setting that the whole text is the value of.
        var setting: String {
            if case .option(let key) = self { key } else { "" }
        }
    }

    let source: Source
    private(set) var references: SecretReferences
    private(set) var problems: [SettingsProblem] = []
    private var remaining = YAMLDocument.nodeLimit
    private var hiddenKeys: [Position: String] = [:]

    /// How many nodes a document may have once its aliases are written out: what a handful of nested aliases
    /// could stand for has no bound.
    static let nodeLimit = 100_000
    static let depthLimit = 32

    init(source: Source, references: SecretReferences) {
        self.source = source
        self.references = references
    }

    /// The tree of `text`, or nil when it is empty or is not YAML; `problems` says which.
    mutating func read(_ text: String) -> SettingNode? {
        guard let node = compose(text) else { return nil }
        declareVariables(in: node)
        return convert(node, depth: 0)
    }

    /// Notes which names are variables' before any text is looked into.
    private mutating func declareVariables(in node: Node) {
        guard case .file = source, case .mapping(let root) = node else { return }
        for (key, value) in root where key.string == "variables" {
            guard case .mapping(let variables) = value else { continue }
            references.variables.formUnion(variables.compactMap { $0.key.string })
        }
    }

    // MARK: Shape

    private mutating func convert(_ node: Node, depth: Int) -> SettingNode? {
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
        switch node {
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
        case .alias:
            return nil
        }
    }

    private mutating func entry(_ key: Node, _ value: Node, depth: Int) -> SettingNode.Entry? {
        let place = place(of: key)
        guard case .scalar(let scalar) = key else {
            refuse(
                at: place, found: "a list or a map as a key", expected: "a text",
                advice: "a value that starts with `{` or `[` needs quotes around it")
            return nil
        }
        let name = hiddenKeys[Position(key.mark)] ?? scalar.string
        return convert(value, depth: depth + 1).map { SettingNode.Entry(key: name, place: place, value: $0) }
    }

    private mutating func convert(_ scalar: Node.Scalar, at place: SourcePlace) -> SettingNode.Scalar {
        let tag = scalar.tag.description
        let isQuoted = scalar.style != .plain || tag == "tag:yaml.org,2002:str"
        if !["", "!", "tag:yaml.org,2002:str"].contains(tag) {
            refuse(at: place, found: "the tag \(SettingsProblem.quoted(tag))", expected: "a value without a tag")
        }
        do throws(SecretReferences.Failure) {
            let pieces = try references.pieces(of: scalar.string)
            return SettingNode.Scalar(
                text: Secret(pieces).reveal(), written: scalar.string, isQuoted: isQuoted,
                pieces: pieces.count > 1 ? pieces : [])
        } catch {
            refuse(
                at: place, found: error.found, expected: error.expected, suggestion: error.suggestion,
                advice: error.advice)
            return SettingNode.Scalar(text: "", written: scalar.string, isQuoted: true, isUnresolved: true)
        }
    }

    private func place(of node: Node) -> SourcePlace {
        source.place(line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
    }

    private mutating func refuse(
        at place: SourcePlace, found: String, expected: String?, suggestion: String? = nil, advice: String? = nil
    ) {
        problems.append(
            SettingsProblem(
                at: place, setting: source.setting, found: found, expected: expected, suggestion: suggestion,
                advice: advice))
    }

    // MARK: Syntax

    private struct Position: Hashable {
        var line: Int
        var column: Int

        init(_ mark: Mark?) {
            line = mark?.line ?? 0
            column = mark?.column ?? 0
        }
    }

    /// Parses `text`. The parser gives up at a map that has a key twice; since the reader can say more about that,
    /// the first of the two is disguised, one character for one so that no place moves, and the text parsed again.
    private mutating func compose(_ text: String) -> Node? {
        var text = text
        for attempt in 0..<YAMLDocument.disguises.count {
            do {
                return try Parser(yaml: text, resolver: .basic, encoding: .utf8).singleRoot()
            } catch YamlError.duplicatedKeysInMapping(let keys, let context) {
                guard let key = keys.first,
                    let disguised = text.replacingCharacter(
                        line: context.mark.line, column: context.mark.column, of: key,
                        with: YAMLDocument.disguises[attempt])
                else {
                    refuseDuplicate(keys.first, at: context.mark)
                    return nil
                }
                text = disguised
                hiddenKeys[Position(context.mark)] = key
            } catch let error as YamlError {
                problems.append(YAMLDocument.problem(error, text: text, source: source))
                return nil
            } catch {
                refuse(at: source.place(line: 1, column: 1), found: "\(error)", expected: "YAML")
                return nil
            }
        }
        refuse(
            at: source.place(line: 1, column: 1), found: "more than \(YAMLDocument.disguises.count) repeated keys",
            expected: "each key once")
        return nil
    }

    private mutating func refuseDuplicate(_ key: String?, at mark: Mark) {
        refuse(
            at: source.place(line: mark.line, column: mark.column),
            found: "\(key.map(SettingsProblem.quoted) ?? "a key") more than once in one map", expected: "each key once",
            advice: "remove the others")
    }

    /// Characters that no key has: they are for private use.
    private static let disguises = (0..<50).compactMap { Unicode.Scalar(0xE000 + UInt32($0)) }
}

extension String {
    /// The text with the first character of the key at a place replaced; nil when the key does not stand there as
    /// it is, bare or in quotes.
    fileprivate func replacingCharacter(
        line: Int, column: Int, of key: String, with replacement: Unicode.Scalar
    ) -> String? {
        var scalars = unicodeScalars
        var index = scalars.startIndex
        for _ in 1..<max(line, 1) {
            guard let end = scalars[index...].firstIndex(of: "\n") else { return nil }
            index = scalars.index(after: end)
        }
        guard scalars.formIndex(&index, offsetBy: column - 1, limitedBy: scalars.endIndex), index < scalars.endIndex
        else { return nil }
        if scalars[index] == "\"" || scalars[index] == "'" { index = scalars.index(after: index) }
        guard let first = key.unicodeScalars.first, scalars[index...].starts(with: key.unicodeScalars), first != "\n"
        else { return nil }
        scalars.replaceSubrange(index...index, with: [replacement])
        return String(scalars)
    }
}
