// SPDX-License-Identifier: Apache-2.0

extension SettingKind where Value: SettingsRoot {
    /// A map whose keys are the settings of `section`.
    static func section(_ name: String, _ section: SettingsSection<Value>, expected: String) -> SettingKind {
        SettingKind(
            name, expected: expected,
            read: { node, reader in
                guard case .map = node.content else {
                    reader.refuse(node, found: node.summary(showingText: false), expected: expected)
                    return nil
                }
                var value = Value()
                let before = reader.problems.count
                section.read(node, into: &value, &reader)
                return reader.problems.count == before ? value : nil
            },
            show: { section.show($0) })
    }

    /// A value of this kind, or `none`, which removes the setting of an earlier block.
    var revocable: SettingKind<Revocable<Value>> {
        let expected = "\(expected), or `none`"
        return SettingKind<Revocable<Value>>(
            "\(name), or none", expected: expected, bounds: bounds, unit: unit,
            read: { node, reader in
                switch node.content {
                case .scalar(let scalar) where scalar.text == "none": return .unset
                case .map: return read(node, &reader).map { .set($0) }
                default:
                    reader.refuse(node, found: node.summary(showingText: true), expected: expected)
                    return nil
                }
            },
            show: { $0.value.map(show) ?? .text("none") })
    }
}
