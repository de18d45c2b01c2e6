// SPDX-License-Identifier: Apache-2.0

/// The steps of reading that are the same for values of every type. They stand apart from the generic code, which the
/// compiler makes anew for each type.
extension SettingsReader {
    /// The text of `node`; nil, and refused, if it is none or has variables that are not allowed.
    @inline(never)
    mutating func text(of node: SettingNode, expected: String, allowsVariables: Bool) -> SettingNode.Scalar? {
        guard case .scalar(let scalar) = node.content, !scalar.isNull else {
            refuse(node, found: node.summary(showingText: false), expected: expected)
            return nil
        }
        guard !scalar.isUnresolved else {
            leave(node)
            return nil
        }
        return allowsVariables || !refuseVariables(scalar, node) ? scalar : nil
    }

    /// Refuses a text that is no valid value.
    @inline(never)
    mutating func refuse(
        _ text: SettingNode.Scalar, of node: SettingNode, _ refusal: TextRefusal, expected: String, isSecret: Bool
    ) {
        if text.hasReferences {
            // It may refer to a secret: nothing derived from it may be shown.
            refuse(
                node, found: "\(SettingsProblem.quoted(text.written)), which refers to something else",
                expected: expected, advice: "correct what it refers to")
        } else {
            refuse(
                node, found: refusal.found ?? node.summary(showingText: !isSecret), expected: expected,
                suggestion: refusal.suggestion, advice: refusal.advice)
        }
    }

    /// The items of a list, or one value alone; nil, and refused, if there are too few or too many. `name` and
    /// `expected` describe an item.
    @inline(never)
    mutating func items(
        of node: SettingNode, name: String, expected: String, count: ClosedRange<Int>
    ) -> [SettingNode]? {
        let items: [SettingNode]
        switch node.content {
        case .list(let list): items = list
        case .scalar where !node.isNull: items = [node]
        default:
            let found = node.summary(showingText: false)
            refuse(node, found: found, expected: SettingsReader.listExpected(of: expected))
            return nil
        }
        guard count.contains(items.count) else {
            let least = "at least \(count.lowerBound) \(SettingsReader.plural(name, count.lowerBound))"
            let most = "at most \(count.upperBound) \(SettingsReader.plural(name, count.upperBound))"
            refuse(
                node, found: items.isEmpty ? "an empty list" : "a list of \(items.count)",
                expected: items.count < count.lowerBound ? least : most)
            return nil
        }
        return items
    }

    /// The entries of a map, each key once; nil, and refused, if it is no map or has more than `limit`.
    @inline(never)
    mutating func entries(of node: SettingNode, expected: String, count limit: Int) -> [SettingNode.Entry]? {
        guard case .map(let entries) = node.content else {
            if node.isNull { return [] }
            refuse(node, found: node.summary(showingText: false), expected: expected)
            return nil
        }
        guard entries.count <= limit else {
            refuse(node, found: "\(entries.count) keys", expected: "at most \(limit)")
            return nil
        }
        return withoutRepetitions(entries)
    }

    /// The entries with each key once; the repeated ones are refused.
    mutating func withoutRepetitions(_ entries: [SettingNode.Entry]) -> [SettingNode.Entry] {
        var first: [String: SourcePlace] = [:]
        return entries.filter { entry in
            guard let earlier = first.updateValue(entry.place, forKey: entry.key) else { return true }
            first[entry.key] = earlier
            let inside = setting
            refuse(
                SettingsProblem(
                    at: entry.place, setting: inside, found: "\(SettingsProblem.quoted(entry.key)) again",
                    expected: "each key once", advice: "it is set at \(earlier) already; remove one of them"))
            return false
        }
    }

    @inline(never)
    static func listExpected(of item: String) -> String { "a list; each item is \(item)" }

    @inline(never)
    static func plural(_ name: String, _ count: Int) -> String {
        count == 1 ? name : name + (name.hasSuffix("s") ? "es" : "s")
    }
}

extension SettingsReader {
    /// Refuses a text with variables in it where the value must be known when the configuration is read; whether there
    /// were any.
    mutating func refuseVariables(_ scalar: SettingNode.Scalar, _ node: SettingNode) -> Bool {
        guard !scalar.pieces.isEmpty else { return false }
        refuse(
            node, found: "\(SettingsProblem.quoted(scalar.written)), which has a variable in it",
            expected: "a text without variables",
            advice: "variables may stand in `headers` and in what `decorate` sends")
        return true
    }
}
