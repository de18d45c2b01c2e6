// SPDX-License-Identifier: Apache-2.0

/// One problem of a configuration: where, what was found, what was expected, what to do.
package struct SettingsProblem: Error, Sendable, Equatable {
    package var place: SourcePlace
    /// The dotted path of the setting, as `services.github.baseURL`; empty for the file as a whole.
    package var setting: String
    /// A clause that follows "found": `` `10 minuets` ``, `an unknown key`.
    package var found: String
    package var expected: String?
    /// The probable intention, as it would be written.
    package var suggestion: String?
    package var advice: String?

    package init(
        at place: SourcePlace, setting: String, found: String, expected: String? = nil, suggestion: String? = nil,
        advice: String? = nil
    ) {
        self.place = place
        self.setting = setting
        self.found = found
        self.expected = expected
        self.suggestion = suggestion
        self.advice = advice
    }

    /// `text` in backquotes, without control characters and not too long for a line.
    package static func quoted(_ text: String) -> String {
        var shown = ""
        for (count, scalar) in text.unicodeScalars.enumerated() {
            if count == 60 {
                shown += "…"
                break
            }
            shown += scalar.escaped(asASCII: false)
        }
        return "`\(shown.replacing("\\\"", with: "\"").replacing("\\'", with: "'"))`"
    }
}

extension SettingsProblem: CustomStringConvertible {
    /// `larder.yaml:3:7: cache.disk: found …; did you mean …? Expected …; …`
    package var description: String {
        // The suggestion comes first: the list of valid values can be long.
        let meant = suggestion.map { "; did you mean \(SettingsProblem.quoted($0))? " } ?? ""
        let rest = [expected.map { "expected \($0)" }, advice].compactMap(\.self).joined(separator: "; ")
        // An option names its setting itself.
        let isNamed = setting.isEmpty || place.description == "--set \(setting)"
        let prefix = isNamed ? "\(place): " : "\(place): \(setting): "
        if meant.isEmpty { return prefix + "found \(found)" + (rest.isEmpty ? "" : "; " + rest) }
        return (prefix + "found \(found)" + meant + rest.prefix(1).uppercased() + rest.dropFirst()).withoutBlankAtEnd
    }
}

extension String {
    fileprivate var withoutBlankAtEnd: String { hasSuffix(" ") ? String(dropLast()) : self }
}

/// Every problem of a configuration, in the order of the text.
package struct SettingsProblems: Error, Sendable, CustomStringConvertible {
    package var problems: [SettingsProblem]
    /// The number of further problems that were not kept.
    package var omitted: Int
    /// Settings of the same configuration that are valid and cannot work.
    package var warnings: [SettingsProblem]

    package init(_ problems: [SettingsProblem], omitted: Int = 0, warnings: [SettingsProblem] = []) {
        self.problems = problems
        self.omitted = omitted
        self.warnings = warnings
    }

    package var description: String {
        var lines = problems.map(\.description)
        if omitted > 0 { lines.append("… and \(omitted) more") }
        return lines.joined(separator: "\n")
    }
}
