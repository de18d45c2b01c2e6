// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

extension SettingKind where Value == Status {
    /// A final status within bounds.
    static func status(_ range: ClosedRange<Int>) -> SettingKind {
        let number = SettingKind<Int>.integer(range)
        return SettingKind(
            "status", expected: "a status from \(range.lowerBound) to \(range.upperBound)", bounds: number.bounds,
            read: { node, reader in number.read(node, &reader).map { Status($0) } },
            show: { .number(Int($0.rawValue)) })
    }
}
