// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderTransformers

extension VariableSettings: SettingsRoot {}
extension RefreshRule: SettingsRoot {}

extension SettingsCatalogue {
    /// The settings of one variable, below `variables.<name>`.
    package static let variable = SettingsSection<VariableSettings>([
        Setting(
            "env", \.env, .line("name of an environment variable"),
            "The environment variable that holds the first value. It is read at the start and at each reload."),
        Setting(
            "file", \.file, .line("path", upTo: 4_000),
            """
            The file that holds the value; a relative path is below `$CREDENTIALS_DIRECTORY`. It is read at the start \
            and at each reload.
            """),
        Setting("value", \.value, .secretLine, "The first value itself."),
        Setting(
            "onChange", \.onChange, .list(of: .choice, count: 0...2),
            """
            The effects of a change, besides that the services that use the variable serve by its new value, which is \
            `invalidateConfiguration`: `wipeAll` forgets everything that is stored for them.
            """),
    ])

    static let refresh = SettingsSection<RefreshRule>([
        Setting(
            "onStatus", \.onStatus, .list(of: .status(400...499), count: 1...20), initially: "`[401]`",
            "The statuses by which the origin refuses a credential."),
        Setting(
            "url", \.url, .refreshURL, isRequired: true,
            "Where a new one is asked for: a path below `baseURL`, or an absolute URL."),
        Setting("method", \.method, .method, "The method of that request."),
        Setting("headers", \.headers, .headers, initially: "none", "Fields of that request."),
        Setting(
            "json", \.json, .refreshParameters(allowLiterals: true), initially: "none",
            "The members of the JSON object that it sends."),
        Setting(
            "form", \.form, .refreshParameters(allowLiterals: false), initially: "none",
            "The parameters of the form that it sends instead."),
        Setting(
            "store", \.store, .refreshTargets, isRequired: true,
            """
            The variables that get new values, each with the JSON pointer (RFC 6901) to where in the response that \
            is, as `{ token: /access_token }`.
            """),
    ])
}

extension SettingKind where Value == [VariableSettings] {
    static var variables: SettingKind {
        .map(
            "map of variables", expected: "a map from a variable's name to its settings", count: 1_000,
            read: { entry, reader in
                let isName =
                    (1...100).contains(entry.key.utf8.count) && entry.key.first?.isNumber == false
                    && entry.key.utf8.allSatisfy {
                        ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "_")
                    }
                guard isName else {
                    reader.refuse(
                        SettingsProblem(
                            at: entry.place, setting: reader.setting,
                            found: "the name \(SettingsProblem.quoted(entry.key))",
                            expected: "a name of at most 100 letters, digits and `_` that begins with a letter"))
                    return nil
                }
                var variable = VariableSettings()
                variable.name = entry.key
                let before = reader.problems.count
                SettingsCatalogue.variable.read(entry.value, into: &variable, &reader)
                guard reader.problems.count == before else { return nil }
                let sources = [variable.env != nil, variable.file != nil, variable.value != nil]
                guard sources.count(where: { $0 }) < 2 else {
                    reader.refuse(
                        entry.value, found: "more than one of `env`, `file` and `value`", expected: "one of them",
                        advice: "the value comes from one place")
                    return nil
                }
                variable.initial = variable.value
                return variable
            },
            show: { ($0.name, SettingsCatalogue.variable.show($0)) })
    }
}

extension SettingKind where Value == Secret {
    /// A text that is valid in a field, never shown.
    fileprivate static var secretLine: SettingKind {
        .text(
            "secret", expected: "visible ASCII characters, spaces and tabs, at most 8 KiB", isSecret: true,
            show: { .text($0.reference ?? "\($0)") },
            parse: { scalar in
                guard VariableSettings.isUsable(scalar.text) else {
                    return .failure(TextRefusal(found: "a text that is empty, too long, or holds other characters"))
                }
                return .success(scalar.secret)
            })
    }
}

extension SettingKind where Value == RefreshURL {
    fileprivate static var refreshURL: SettingKind {
        .text(
            "path or URL", expected: "a path as `/token`, or an absolute http or https URL",
            show: { .text($0.text) },
            parse: { scalar in RefreshURL(scalar.text).map { .success($0) } ?? .failure(TextRefusal()) })
    }
}

extension SettingKind where Value == [RefreshParameter] {
    fileprivate static func refreshParameters(allowLiterals: Bool) -> SettingKind {
        .map(
            "map of values", expected: "a map from a name to a text", count: 100,
            read: { entry, reader in
                guard case .scalar(let scalar) = entry.value.content else {
                    reader.refuse(
                        entry.value, found: entry.value.summary(showingText: false), expected: "a text")
                    return nil
                }
                guard !scalar.isUnresolved else {
                    reader.leave(entry.value)
                    return nil
                }
                let isLiteral =
                    allowLiterals && !scalar.isQuoted && !scalar.hasReferences
                    && (["true", "false", "null"].contains(scalar.text)
                        || Int(scalar.text).map(String.init) == scalar.text)
                return RefreshParameter(name: entry.key, value: scalar.secret, isLiteral: isLiteral)
            },
            show: { parameter in
                let text = parameter.value.reference ?? parameter.value.reveal()
                if parameter.value.reference == nil, HeaderEdit.soundsSecret(parameter.name) {
                    return (parameter.name, .text("\(parameter.value)"))
                }
                if parameter.isLiteral, let number = Int(text) { return (parameter.name, .number(number)) }
                if parameter.isLiteral, text != "null" { return (parameter.name, .flag(text == "true")) }
                return (parameter.name, parameter.isLiteral ? .nothing : .text(text))
            })
    }
}

extension SettingKind where Value == [RefreshTarget] {
    fileprivate static var refreshTargets: SettingKind {
        .map(
            "map of JSON pointers", expected: "a map from a variable to a JSON pointer, as `{ token: /access_token }`",
            count: 20,
            read: { entry, reader in
                SettingKind<JSONPointer>.pointer.read(entry.value, &reader).map {
                    RefreshTarget(variable: entry.key, pointer: $0)
                }
            },
            show: { ($0.variable, .text($0.pointer.text)) })
    }
}

extension SettingKind where Value == RefreshRule {
    /// How a refused credential is renewed.
    static var refresh: SettingKind {
        let section = SettingKind.section(
            "map of url, store and others", SettingsCatalogue.refresh, expected: "a map with `url` and `store`")
        return SettingKind(
            section.name, expected: section.expected,
            read: { node, reader in
                guard let rule = section.read(node, &reader) else { return nil }
                var missing: String?
                if rule.url == .placeholder, !reader.isReported("\(reader.setting).url") { missing = "`url`" }
                if rule.store.isEmpty { missing = "`store`" }
                if let missing {
                    reader.refuse(
                        node, found: "a map without \(missing)", expected: section.expected,
                        advice: "as `refreshToken: { url: /token, store: { token: /access_token } }`")
                    return nil
                }
                guard rule.json.isEmpty || rule.form.isEmpty else {
                    reader.refuse(node, found: "both `json` and `form`", expected: "one of them")
                    return nil
                }
                return rule
            },
            show: section.show)
    }
}
