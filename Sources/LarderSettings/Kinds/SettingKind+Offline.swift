// SPDX-License-Identifier: Apache-2.0

extension SettingKind where Value == OfflineMode {
    /// `on`, `off` or `auto`; `true` means `on` and `false` means `off`.
    static var offlineMode: SettingKind {
        .text(
            "word", expected: "`off`, `on` or `auto`", bounds: "off, on, auto",
            show: { .text($0.rawValue) },
            parse: { scalar in
                switch scalar.text {
                // YAML parses the plain words as booleans, and writes them in quotes where they are words.
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
