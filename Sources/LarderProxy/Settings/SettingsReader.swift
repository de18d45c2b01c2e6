// SPDX-License-Identifier: Apache-2.0

/// Walks a configuration, keeping count of where it is and of what is wrong.
///
/// Reading goes on after a problem, so that all of them are told at once; a value that cannot be read leaves the
/// default, which nobody sees because a configuration with problems is refused.
package struct SettingsReader {
    package private(set) var problems: [SettingsProblem] = []
    package private(set) var omitted = 0
    /// What is read as it stands, but cannot work or does not do what it seems to.
    package private(set) var warnings: [SettingsProblem] = []
    /// Where each setting that was read stood, by its dotted path; the checks over several settings use it.
    package private(set) var places: [String: SourcePlace] = [:]
    /// The services that the configuration has, for suggestions.
    var serviceNames: [String] = []
    /// The stages that the blocks of the service being read have named so far.
    var stageNames: Set<String> = []
    private var path: [String] = []

    /// More problems than this are counted but not kept.
    package static let problemLimit = 100

    package init() {}

    /// The dotted path of the setting being read.
    package var setting: String {
        path.reduce(into: "") { text, part in
            text += text.isEmpty || part.hasPrefix("[") ? part : "." + part
        }
    }

    /// Reads what is called `part` inside the setting being read.
    mutating func within<Value>(
        _ part: String, at place: SourcePlace, _ body: (inout SettingsReader) -> Value
    ) -> Value {
        path.append(part)
        defer { path.removeLast() }
        places[setting] = place
        return body(&self)
    }

    package mutating func refuse(_ problem: SettingsProblem) {
        guard problems.count < SettingsReader.problemLimit else {
            omitted += 1
            return
        }
        problems.append(problem)
    }

    package mutating func warn(_ warning: SettingsProblem) {
        if warnings.count < SettingsReader.problemLimit { warnings.append(warning) }
    }

    mutating func refuse(
        _ node: SettingNode, found: String? = nil, expected: String, suggestion: String? = nil, advice: String? = nil
    ) {
        refuse(
            SettingsProblem(
                at: node.place, setting: setting, found: found ?? node.summary(showingText: true), expected: expected,
                suggestion: suggestion, advice: advice))
    }

    /// The place of a setting that was read, or of the nearest one around it.
    package func place(of setting: String) -> SourcePlace {
        var name = Substring(setting)
        while !name.isEmpty {
            if let place = places[String(name)] { return place }
            name = name[..<(name.lastIndex { $0 == "." || $0 == "[" } ?? name.startIndex)]
        }
        return .nowhere
    }
}
