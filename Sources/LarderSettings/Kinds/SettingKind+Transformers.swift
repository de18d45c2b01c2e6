// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderTransformers

extension SettingKind where Value == [TransformerSettings] {
    /// A list of transformers, or one alone.
    static var transformers: SettingKind {
        let list = SettingKind.list(of: .transformer, count: 0...64)
        return SettingKind(
            list.name, expected: list.expected,
            read: { node, reader in
                guard case .map = node.content else { return list.read(node, &reader) }
                return SettingKind<TransformerSettings>.transformer.read(node, &reader).map { [$0] }
            },
            show: list.show)
    }
}

extension TransformerSettings: SettingsRoot {
    fileprivate static let section = SettingsSection<TransformerSettings>([
        Setting("use", \.use, .choice, "The name of a transformer that needs nothing else."),
        Setting("jq", \.jq, .jq, "A jq program."),
        Setting("jsonPointer", \.jsonPointer, .pointers, "A place in JSON to keep, and places to leave out."),
        Setting("errorMessageFrom", \.errorMessageFrom, .pointer, "The place of an error's message in its JSON."),
        Setting("successIfStatus", \.successIfStatus, .list(of: .integer(400...599), count: 1...32), "Error statuses."),
        Setting("requireType", \.requireType, .choice, "The type that content must have by then."),
        Setting("headers", \.headers, .responseHeaders, "Fields of the response."),
        Setting("exec", \.exec, .exec, "A program."),
        Setting("contentTypes", \.contentTypes, .list(of: .contentType, count: 1...32), "For which content."),
        Setting("onMismatch", \.onMismatch, .choice, "The treatment of other types."),
        Setting("transformErrors", \.transformErrors, .flag, "Whether errors are transformed."),
        Setting("always", \.always, .flag, "Whether a coding that no field names is undone."),
    ])

    /// The keys of which each transformer has exactly one.
    static let names = section.descriptions.map(\.name).prefix { $0 != "contentTypes" }
}

extension SettingKind where Value == TransformerSettings {
    /// The name of a transformer, or a map.
    static var transformer: SettingKind {
        let plain = SettingKind<TransformerSettings.Plain>.choice
        let (section, names) = (TransformerSettings.section, TransformerSettings.names)
        let listed = names.joined(separator: ", ")
        let expected = "the name of a transformer (\(plain.bounds ?? "")), or a map with one of \(listed)"
        return SettingKind(
            "transformer", expected: expected,
            read: { node, reader in
                var transformer = TransformerSettings()
                guard case .map(let entries) = node.content else {
                    guard let use = plain.read(node, &reader) else { return nil }
                    transformer.use = use
                    return transformer
                }
                let before = reader.problems.count
                section.read(node, into: &transformer, &reader)
                guard reader.problems.count == before else { return nil }
                let chosen = names.filter { name in entries.contains { $0.key == name } }
                guard chosen.count == 1, let name = chosen.first else {
                    reader.refuse(
                        node, found: chosen.isEmpty ? "a map without a transformer" : chosen.joined(separator: " and "),
                        expected: "exactly one of \(listed)",
                        advice: chosen.isEmpty ? nil : "make them items of their own, each with its own `- `")
                    return nil
                }
                return transformer.refuseIdleOptions(of: name, entries, &reader) ? nil : transformer
            },
            show: { transformer in
                if let use = transformer.use, transformer.isBare { return .text(use.rawValue) }
                return section.show(transformer)
            })
    }
}

extension TransformerSettings {
    fileprivate var isBare: Bool {
        contentTypes == nil && onMismatch == nil && transformErrors == nil && always == nil
    }

    /// Refuses options that do not apply to this transformer; whether there were any.
    fileprivate func refuseIdleOptions(
        of name: String, _ entries: [SettingNode.Entry], _ reader: inout SettingsReader
    ) -> Bool {
        var idle: Set<String> = []
        if ["errorMessageFrom", "successIfStatus", "headers", "requireType"].contains(name) {
            idle = ["onMismatch", "transformErrors"]
        }
        if use?.coding == nil { idle.insert("always") }
        let before = reader.problems.count
        for entry in entries where idle.contains(entry.key) {
            reader.refuse(
                SettingsProblem(
                    at: entry.place, setting: reader.setting,
                    found: "\(SettingsProblem.quoted(entry.key)) with \(SettingsProblem.quoted(use?.rawValue ?? name))",
                    expected: "options that mean something to this transformer", advice: "remove it"))
        }
        return reader.problems.count > before
    }
}

/// `jq` written as a map.
private struct JQDraft: SettingsRoot {
    var program: SettingText?
    var timeout: Duration?
}

extension SettingKind where Value == SettingText {
    static var argument: SettingKind { text("argument", expected: "a text of at most 4096 octets", upTo: 4_096) }

    fileprivate static func text(_ name: String, expected: String, upTo limit: Int) -> SettingKind {
        .text(
            name, expected: expected, show: { .text($0.written) },
            parse: { scalar in
                guard !scalar.text.isEmpty, scalar.text.utf8.count <= limit, !scalar.text.utf8.contains(0) else {
                    return .failure(TextRefusal(found: "a text that is empty, too long, or holds a NUL"))
                }
                return .success(SettingText(scalar.text, written: scalar.written))
            })
    }
}

private let programTimeout = Duration.milliseconds(10)...Duration.seconds(3_600)

extension SettingKind where Value == TransformerSettings.JQ {
    /// A jq program, compiled when it is read.
    static var jq: SettingKind {
        let program = SettingKind<SettingText>.text(
            "jq program", expected: "a jq program, as `{login, name}`", upTo: 65_536)
        let section = SettingsSection<JQDraft>([
            Setting("program", \.program, program, isRequired: true, "The program."),
            Setting("timeout", \.timeout, .duration(programTimeout), "How long one response may take."),
        ])
        return SettingKind(
            program.name, expected: program.expected,
            read: { node, reader in
                var draft = JQDraft()
                let before = reader.problems.count
                if case .map = node.content {
                    section.read(node, into: &draft, &reader)
                } else {
                    draft.program = program.read(node, &reader)
                }
                guard let text = draft.program else {
                    if reader.problems.count == before, case .map = node.content {
                        reader.refuse(node, found: "a map without `program`", expected: program.expected)
                    }
                    return nil
                }
                do throws(JQFailure) {
                    let timeout = draft.timeout ?? JQProgram.usualTimeout
                    return TransformerSettings.JQ(
                        program: try JQProgram(text.text, timeout: timeout), shown: text.written)
                } catch {
                    let isSecret = text.text != text.written
                    reader.refuse(
                        node, found: SettingsProblem.quoted(text.written), expected: "a jq program that compiles",
                        advice: isSecret ? "correct what it refers to" : "\(error)")
                    return nil
                }
            },
            show: { jq in
                guard jq.program.timeout != JQProgram.usualTimeout else { return .text(jq.shown) }
                return .map([
                    ("program", .text(jq.shown)), ("timeout", .text(UnitText.write(jq.program.timeout))),
                ])
            })
    }
}

extension SettingKind where Value == JSONPointer {
    static var pointer: SettingKind {
        .text(
            "JSON pointer", expected: "a JSON pointer (RFC 6901), as `/error/message`",
            show: { .text($0.text) },
            parse: { scalar in
                if let pointer = JSONPointer(scalar.text) { return .success(pointer) }
                let isPath = !scalar.text.hasPrefix("/")
                let repaired = "/" + scalar.text.replacing(".", with: "/")
                return .failure(
                    TextRefusal(
                        suggestion: isPath && JSONPointer(repaired) != nil ? repaired : nil,
                        advice: isPath ? nil : "write `~` as `~0` and a `/` within a name as `~1`"))
            })
    }
}

extension TransformerSettings.Pointers: SettingsRoot {}

extension SettingKind where Value == TransformerSettings.Pointers {
    /// The pointer to keep, or a map.
    static var pointers: SettingKind {
        let pointer = SettingKind<JSONPointer>.pointer
        let section = SettingsSection<TransformerSettings.Pointers>([
            Setting("select", \.select, pointer, "The place to keep."),
            Setting("omit", \.omit, .list(of: pointer, count: 1...100), "Places to leave out."),
        ])
        return SettingKind(
            "JSON pointer, or map of select and omit", expected: pointer.expected,
            read: { node, reader in
                var pointers = TransformerSettings.Pointers()
                guard case .map = node.content else {
                    pointers.select = pointer.read(node, &reader)
                    return pointers.select == nil ? nil : pointers
                }
                let before = reader.problems.count
                section.read(node, into: &pointers, &reader)
                guard reader.problems.count == before else { return nil }
                guard pointers.select != nil || !pointers.omit.isEmpty else {
                    reader.refuse(node, found: "a map without pointers", expected: "`select`, `omit` or both")
                    return nil
                }
                if pointers.omit.contains(where: \.text.isEmpty) {
                    reader.refuse(node, found: "the pointer to everything in `omit`", expected: "places within it")
                    return nil
                }
                return pointers
            },
            show: { pointers in
                if pointers.omit.isEmpty, let select = pointers.select { return pointer.show(select) }
                var entries: [(name: String, value: ShownValue)] = []
                if let select = pointers.select { entries.append(("select", pointer.show(select))) }
                return .map(entries + [("omit", .list(pointers.omit.map(pointer.show)))])
            })
    }
}

extension SettingKind where Value == [HeaderEdit] {
    /// Fields of responses.
    fileprivate static var responseHeaders: SettingKind {
        let kind = SettingKind.headers
        let reserved: [FieldName] = ["Content-Encoding", "Content-Range", "Age", "Cache-Status"]
        return SettingKind(
            kind.name, expected: kind.expected,
            read: { node, reader in
                let before = reader.problems.count
                guard let edits = kind.read(node, &reader), reader.problems.count == before else { return nil }
                guard !edits.isEmpty else {
                    reader.refuse(node, found: "an empty map", expected: kind.expected)
                    return nil
                }
                for edit in edits where reserved.contains(edit.name) {
                    reader.refuse(
                        node, found: "the field `\(edit.name)`", expected: "fields that do not describe the content",
                        advice: "Larder writes this one itself; remove it")
                    return nil
                }
                return edits
            },
            show: kind.show)
    }
}

/// `exec` written as a map.
private struct ExecDraft: SettingsRoot {
    var command: [SettingText] = []
    var timeout: Duration?
    var concurrency: Int?
    var contentType: String?
}

extension SettingKind where Value == TransformerSettings.Exec {
    /// A program with its arguments, or a map.
    static var exec: SettingKind {
        let expected = "a list of a program's absolute path and its arguments, as `[/usr/bin/tr, a-z, A-Z]`"
        let command = SettingKind<[SettingText]>.list(
            of: .argument, count: 1...100)
        let section = SettingsSection<ExecDraft>([
            Setting("command", \.command, command, isRequired: true, "The program and its arguments."),
            Setting("timeout", \.timeout, .duration(programTimeout), "How long one response may take."),
            Setting("concurrency", \.concurrency, .integer(1...64), "How many may run at a time."),
            Setting("contentType", \.contentType, .line("media type"), "The type of what it writes."),
        ])
        return SettingKind(
            "program and arguments", expected: expected,
            read: { node, reader in
                var draft = ExecDraft()
                let before = reader.problems.count
                if case .map = node.content {
                    section.read(node, into: &draft, &reader)
                } else {
                    draft.command = command.read(node, &reader) ?? []
                }
                guard reader.problems.count == before else { return nil }
                guard let program = draft.command.first else {
                    reader.refuse(node, found: "a map without `command`", expected: expected)
                    return nil
                }
                guard program.text.hasPrefix("/"), !program.text.hasSuffix("/") else {
                    let isLine = draft.command.count == 1 && program.text.contains(" ")
                    reader.refuse(
                        node, found: "the program \(SettingsProblem.quoted(program.written))", expected: expected,
                        advice: isLine ? "no shell splits it; make a list of it" : "name it by its absolute path")
                    return nil
                }
                var result = ExecCommand(draft.command.map(\.text))
                result.timeout = draft.timeout ?? result.timeout
                result.concurrency = draft.concurrency ?? result.concurrency
                result.contentType = draft.contentType
                return TransformerSettings.Exec(program: ExecProgram(result), shown: draft.command.map(\.written))
            },
            show: { exec in
                let usual = ExecCommand([])
                let (command, shown) = (exec.program.command, ShownValue.list(exec.shown.map { .text($0) }))
                var entries: [(name: String, value: ShownValue)] = [("command", shown)]
                if command.timeout != usual.timeout {
                    entries.append(("timeout", .text(UnitText.write(command.timeout))))
                }
                if command.concurrency != usual.concurrency {
                    entries.append(("concurrency", .number(command.concurrency)))
                }
                if let type = command.contentType { entries.append(("contentType", .text(type))) }
                return entries.count == 1 ? shown : .map(entries)
            })
    }
}

extension SettingKind where Value == ContentTypePattern {
    /// A pattern of media types.
    static var contentType: SettingKind {
        .text(
            "media type", expected: "a media type, as `application/json` or `*/*+json`",
            show: { .text($0.text) },
            parse: { scalar in
                let parts = scalar.text.split(separator: "/", omittingEmptySubsequences: false)
                guard parts.count == 2, parts.allSatisfy({ FieldName($0) != nil }) else {
                    return .failure(
                        TextRefusal(advice: scalar.text.contains(";") ? "leave out the parameters" : nil))
                }
                return .success(ContentTypePattern(scalar.text))
            })
    }
}
