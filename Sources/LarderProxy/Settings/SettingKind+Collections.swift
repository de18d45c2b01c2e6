// SPDX-License-Identifier: Apache-2.0

extension SettingKind {
    /// A list of values, or one value alone.
    static func list<Element>(
        of element: SettingKind<Element>, count: ClosedRange<Int> = 0...1_000
    ) -> SettingKind<[Element]> {
        SettingKind<[Element]>(
            "list of \(plural(element.name, 2))",
            expected: "a list; each item is \(element.expected)", bounds: element.bounds,
            unit: element.unit,
            read: { node, reader in
                let items: [SettingNode]
                switch node.content {
                case .list(let list): items = list
                case .scalar where !node.isNull: items = [node]
                default:
                    let found = node.summary(showingText: false)
                    reader.refuse(node, found: found, expected: "a list; each item is \(element.expected)")
                    return nil
                }
                guard count.contains(items.count) else {
                    let least = "at least \(count.lowerBound) \(plural(element.name, count.lowerBound))"
                    let most = "at most \(count.upperBound) \(plural(element.name, count.upperBound))"
                    reader.refuse(
                        node, found: items.isEmpty ? "an empty list" : "a list of \(items.count)",
                        expected: items.count < count.lowerBound ? least : most)
                    return nil
                }
                var values: [Element] = []
                var areComplete = true
                for (index, item) in items.enumerated() {
                    let value = reader.within("[\(index)]", at: item.place) { element.read(item, &$0) }
                    if let value { values.append(value) } else { areComplete = false }
                }
                return areComplete ? values : nil
            },
            show: { .list($0.map(element.show)) })
    }

    private static func plural(_ name: String, _ count: Int) -> String {
        count == 1 ? name : name + (name.hasSuffix("s") ? "es" : "s")
    }

    /// A map whose keys are names; `read` turns a key and its value into an element.
    static func map<Element>(
        _ name: String, expected: String, count limit: Int,
        read: @escaping @Sendable (SettingNode.Entry, inout SettingsReader) -> Element?,
        show: @escaping @Sendable (Element) -> (name: String, value: ShownValue)
    ) -> SettingKind<[Element]> {
        SettingKind<[Element]>(
            name, expected: expected,
            read: { node, reader in
                guard case .map(let entries) = node.content else {
                    if node.isNull { return [] }
                    reader.refuse(node, found: node.summary(showingText: false), expected: expected)
                    return nil
                }
                guard entries.count <= limit else {
                    reader.refuse(node, found: "\(entries.count) keys", expected: "at most \(limit)")
                    return nil
                }
                var elements: [Element] = []
                for entry in reader.withoutRepetitions(entries) {
                    let element = reader.within(entry.key, at: entry.place) { read(entry, &$0) }
                    if let element { elements.append(element) }
                }
                return elements
            },
            show: { $0.isEmpty ? .nothing : .map($0.map(show)) })
    }
}

extension SettingsReader {
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
}
