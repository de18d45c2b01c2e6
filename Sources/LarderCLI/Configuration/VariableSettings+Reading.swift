// SPDX-License-Identifier: Apache-2.0

import LarderSettings

extension VariableSettings {
    /// Reads the initial value of the variable from its source.
    mutating func read(
        _ references: SecretReferences, _ reader: SettingsReader, _ problems: inout [SettingsProblem]
    ) {
        let key = env != nil ? "env" : "file"
        let setting = "variables.\(name).\(key)"
        do throws(SecretReferences.Failure) {
            if let env {
                guard let text = references.environment[env] else {
                    throw SecretReferences.Failure(
                        found: "the environment variable \(SettingsProblem.quoted(env)), which is not set",
                        expected: "a variable of the daemon's environment",
                        suggestion: Nearest.name(to: env, in: references.environment.keys.sorted()),
                        advice: "set it before the daemon starts")
                }
                initial = Secret(text)
            } else if let file {
                initial = Secret(try references.contents(of: file))
            }
        } catch {
            problems.append(
                SettingsProblem(
                    at: reader.place(of: setting), setting: setting, found: error.found, expected: error.expected,
                    suggestion: error.suggestion, advice: error.advice))
            return
        }
        guard let initial, !VariableSettings.isUsable(initial.reveal()) else { return }
        problems.append(
            SettingsProblem(
                at: reader.place(of: setting), setting: setting,
                found: "a value that is empty, longer than 8 KiB, or holds line ends or other characters",
                expected: "visible ASCII characters, spaces and tabs"))
    }
}

extension SettingsOverride {
    /// The variables declared by the option.
    var declaredVariables: [String] {
        guard path.first == "variables" else { return [] }
        if path.count > 1 { return [path[1]] }
        guard case .map(let entries) = value.content else { return [] }
        return entries.map(\.key)
    }
}
