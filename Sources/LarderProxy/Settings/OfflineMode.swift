// SPDX-License-Identifier: Apache-2.0

/// Whether origins are asked.
package enum OfflineMode: String, Sendable, CaseIterable {
    /// As the rules say.
    case off
    /// Never: clients get what is stored, whatever its age, else 504.
    case on
    /// As `on` for as long as the origin is out of reach, else as `off`.
    case auto
}

extension SettingKind where Value == OfflineMode {
    /// `on`, `off` or `auto`; `true` and `false` mean the first two.
    static var offlineMode: SettingKind {
        .text(
            "word", expected: "`off`, `on` or `auto`", bounds: "off, on, auto",
            show: { .text($0.rawValue) },
            parse: { scalar in
                switch scalar.text {
                // YAML reads the plain words as flags, and writes them in quotes where they are words.
                case "true", "on", "yes": return .success(.on)
                case "false", "off", "no": return .success(.off)
                case "auto": return .success(.auto)
                default:
                    return .failure(
                        TextRefusal(suggestion: Nearest.name(to: scalar.text, in: OfflineMode.allCases.map(\.rawValue)))
                    )
                }
            })
    }
}
