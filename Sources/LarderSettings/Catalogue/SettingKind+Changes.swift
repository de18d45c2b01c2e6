// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP

extension ChangeSettings: SettingsRoot {}

extension SettingsCatalogue {
    static let onChange = SettingsSection<ChangeSettings>([
        Setting(
            "exec", \.exec, .program, initially: "none",
            """
            A program by its absolute path, and its arguments. It gets the change on its standard input, as JSON, and has \
            30 s.
            """),
        Setting(
            "webhook", \.webhook, .webhook, initially: "none",
            "An http or https URL that is sent the same JSON by POST. It has 30 s to answer with a status of success."),
        Setting(
            "debounce", \.debounce, .duration(.zero...Duration.seconds(3_600)),
            "How long further changes of a URL are waited for, to be told as one."),
    ])
}

extension SettingKind where Value == [SettingText] {
    /// A program and its arguments; no shell splits them.
    static var program: SettingKind {
        let list = SettingKind<[SettingText]>.list(of: .argument, count: 1...100)
        let expected = "a list of a program's absolute path and its arguments, as `[/usr/bin/logger, changed]`"
        return SettingKind(
            list.name, expected: expected, bounds: list.bounds,
            read: { node, reader in
                guard let command = list.read(node, &reader), let program = command.first else { return nil }
                guard program.text.hasPrefix("/"), !program.text.hasSuffix("/") else {
                    let isLine = command.count == 1 && program.text.contains(" ")
                    reader.refuse(
                        node, found: "the program \(SettingsProblem.quoted(program.written))", expected: expected,
                        advice: isLine ? "no shell splits it; make a list of it" : "name it by its absolute path")
                    return nil
                }
                return command
            },
            show: list.show)
    }
}

extension SettingKind where Value == Secret {
    /// A URL whose path or query may be secret.
    fileprivate static var webhook: SettingKind {
        .text(
            "URL", expected: "an http or https URL, as `https://hooks.example.com/a` or `${HOOK}`", isSecret: true,
            show: { .text($0.reference ?? shown($0.reveal())) },
            parse: { scalar in
                guard case .success = BaseURL.read(scalar.text), scalar.text.utf8.count <= 4_096,
                    (try? TargetURI(scalar.text)) != nil
                else {
                    return .failure(
                        TextRefusal(
                            found: "a text that is no such URL", advice: "user names and fragments have no place in it")
                    )
                }
                return .success(Secret(scalar.text, reference: scalar.hasReferences ? scalar.written : nil))
            })
    }

    /// The webhook's URL for display, with its path redacted.
    private static func shown(_ webhook: String) -> String {
        guard let url = try? TargetURI(webhook) else { return "[redacted]" }
        return url.pathAndQuery == "/" ? url.string : url.origin + "/redacted"
    }
}
