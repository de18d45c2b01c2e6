// SPDX-License-Identifier: Apache-2.0

import LarderProxy
import Yams

extension YAMLDocument {
    /// What to say about text that is not YAML. The text itself is not quoted: it may hold secrets.
    static func problem(_ error: YamlError, text: String, source: Source) -> SettingsProblem {
        let position: (line: Int, column: Int)
        let found: String
        switch error {
        case .scanner(let context, let problem, let at, _), .parser(let context, let problem, let at, _),
            .composer(let context, let problem, let at, _):
            position = (at.line, at.column)
            found = problem + (context.map { ", \($0.text.trimmingPrefix("while ")) of line \($0.mark.line)" } ?? "")
        case .reader(_, let offset, _, _):
            position = text.position(ofCharacter: offset ?? 0)
            found = "a control character"
        case .memory:
            position = (1, 1)
            found = "too much for the memory there is"
        default:
            position = (1, 1)
            found = "something the parser refused"
        }
        let (line, hint) = advice(on: text, at: position.line)
        return SettingsProblem(
            at: source.place(line: line, column: position.column), setting: source.setting,
            found: "text that is not YAML (\(found))", expected: "YAML", advice: hint)
    }

    /// The usual reasons, judged by the line.
    private static func advice(on text: String, at line: Int) -> (line: Int, String?) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // An error at the end of the text is reported on the line after it.
        let number = min(line, max(lines.count, 1))
        guard number >= 1, number <= lines.count else { return (max(number, 1), nil) }
        let line = lines[number - 1]
        if line.prefix(while: { $0 == " " || $0 == "\t" }).contains("\t") {
            return (number, "indent with spaces, not tabs")
        }
        if line.contains("${") { return (number, "put a value with `${…}` in quotes") }
        if line.contains("[:") { return (number, "put an address with brackets in quotes") }
        if line.contains(where: { $0 == "*" }) { return (number, "put a pattern that starts with `*` in quotes") }
        if line.contains(where: { $0 == "@" || $0 == "%" || $0 == "`" }) {
            return (number, "put a value that starts with `@`, `%` or a backquote in quotes")
        }
        return (number, nil)
    }
}

extension String {
    /// Line and column of the character at `offset`.
    fileprivate func position(ofCharacter offset: Int) -> (line: Int, column: Int) {
        var line = 1
        var column = 1
        for character in prefix(offset) {
            if character.isNewline {
                line += 1
                column = 1
            } else {
                column += 1
            }
        }
        return (line, column)
    }
}
