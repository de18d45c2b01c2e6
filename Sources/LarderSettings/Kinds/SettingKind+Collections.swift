// SPDX-License-Identifier: Apache-2.0

import LarderRules

extension SettingKind {
    /// A list of values, or one value alone.
    @inline(never)
    static func list<Element>(
        of element: SettingKind<Element>, count: ClosedRange<Int> = 0...1_000
    ) -> SettingKind<[Element]> {
        SettingKind<[Element]>(
            "list of \(SettingsReader.plural(element.name, 2))",
            expected: SettingsReader.listExpected(of: element.expected), bounds: element.bounds, unit: element.unit,
            read: { node, reader in
                let items = reader.items(of: node, name: element.name, expected: element.expected, count: count)
                guard let items else { return nil }
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

    /// A map whose keys are names; `read` turns a key and its value into an element.
    @inline(never)
    static func map<Element>(
        _ name: String, expected: String, count limit: Int,
        read: @escaping @Sendable (SettingNode.Entry, inout SettingsReader) -> Element?,
        show: @escaping @Sendable (Element) -> (name: String, value: ShownValue)
    ) -> SettingKind<[Element]> {
        SettingKind<[Element]>(
            name, expected: expected,
            read: { node, reader in
                guard let entries = reader.entries(of: node, expected: expected, count: limit) else { return nil }
                var elements: [Element] = []
                for entry in entries {
                    let element = reader.within(entry.key, at: entry.place) { read(entry, &$0) }
                    if let element { elements.append(element) }
                }
                return elements
            },
            show: { $0.isEmpty ? .nothing : .map($0.map(show)) })
    }
}

extension SettingKind where Value == [ServedCoding] {
    /// The content codings in which stored content may be sent.
    static var offeredCodings: SettingKind {
        let offered = ServedCoding.allCases.reversed().filter { $0 != .identity }
        return .list(of: .choice(offered.map { ($0.rawValue, $0) }), count: 0...offered.count)
    }
}
