// SPDX-License-Identifier: Apache-2.0

/// Traverses a configuration, tracking its position and the problems found.
///
/// Reading continues after a problem, so that all of them are reported at once; an invalid value leaves the default,
/// which is never used because a configuration with problems is refused.
package struct SettingsReader {
    package private(set) var problems: [SettingsProblem] = []
    package private(set) var omitted = 0
    /// Valid settings that cannot work or do not do what they suggest.
    package private(set) var warnings: [SettingsProblem] = []
    /// The location of each setting that was read, by its dotted path; used by the checks over several settings.
    package private(set) var places: [String: SourcePlace] = [:]
    /// The settings whose references could not be resolved, by their location; those have been reported.
    package private(set) var unresolved: [SourcePlace: String] = [:]
    /// The services in the configuration, for suggestions.
    var serviceNames: [String] = []
    /// The stages named so far by the blocks of the service being read.
    var stageNames: Set<String> = []
    private var path: [String] = []

    /// The most problems kept; more are counted.
    package static let problemLimit = 100

    package init() {}

    /// The dotted path of the setting being read.
    package var setting: String {
        path.reduce(into: "") { text, part in
            text += text.isEmpty || part.hasPrefix("[") ? part : "." + part
        }
    }

    /// Reads `part` of the setting being read.
    mutating func within<Value>(
        _ part: String, at place: SourcePlace, _ body: (inout SettingsReader) -> Value
    ) -> Value {
        enter(part, at: place)
        defer { path.removeLast() }
        return body(&self)
    }

    @inline(never)
    private mutating func enter(_ part: String, at place: SourcePlace) {
        path.append(part)
        places[setting] = place
    }

    /// Leaves out the setting being read, as a reference in it could not be resolved.
    mutating func leave(_ node: SettingNode) { unresolved[node.place] = setting }

    /// A problem of a reference with the name of its setting: when it was resolved, that was not known. Nil for others.
    package func named(_ problem: SettingsProblem) -> SettingsProblem? {
        guard problem.setting.isEmpty, let setting = unresolved[problem.place] else { return nil }
        var problem = problem
        problem.setting = setting
        return problem
    }

    /// True if a problem of the setting was reported. The setting is not reported as missing again.
    package func isReported(_ setting: String) -> Bool {
        unresolved.values.contains(setting) || problems.contains { $0.setting == setting }
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

    /// The location of a setting that was read, or of the nearest one around it.
    package func place(of setting: String) -> SourcePlace {
        var name = Substring(setting)
        while !name.isEmpty {
            if let place = places[String(name)] { return place }
            name = name[..<(name.lastIndex { $0 == "." || $0 == "[" } ?? name.startIndex)]
        }
        return .nowhere
    }
}
