// SPDX-License-Identifier: Apache-2.0

import LarderSettings

extension YAMLDocument {
    /// The problem of a text that is not YAML. The text itself is not quoted: it may contain secrets.
    static func problem(_ error: YAMLError, text: String, source: Source) -> SettingsProblem {
        let context = error.context.map { ", \($0.text.trimmingPrefix("while ")) of line \($0.line)" } ?? ""
        var (line, hint) = advice(on: text, at: error.mark.line)
        if error.problem.hasPrefix("mapping values are not allowed"), lacksSpace(in: text, before: error.mark.line) {
            hint = "write a space after the colon in the line before"
        }
        // Here an alias is no pattern that lacks its quotes.
        if error.problem.hasPrefix("values nested") { hint = "close the brackets that are open, or nest fewer aliases" }
        if let column = tab(in: text, line: line, column: error.mark.column) {
            return SettingsProblem(
                at: source.place(line: line, column: column), setting: source.setting, found: "a tab",
                expected: "spaces", advice: "YAML is indented with spaces, not tabs")
        }
        return SettingsProblem(
            at: source.place(line: line, column: error.mark.column), setting: source.setting,
            found: "text that is not YAML (\(error.problem)\(context))", expected: "YAML",
            advice: hint ?? advice(on: error))
    }

    /// The usual mistakes, recognised by what the parser was reading.
    private static func advice(on error: YAMLError) -> String? {
        if error.problem.hasPrefix("but found another document") {
            return "keep one: what follows `---` belongs above it, or into a file of its own"
        }
        if error.problem.hasPrefix("mapping values are not allowed") {
            return "put a value with `: ` in quotes, or begin it on a line of its own, indented by spaces"
        }
        guard let context = error.context?.text else { return nil }
        if context.contains("flow") { return "close each `[` with `]` and each `{` with `}`" }
        return context.contains("quoted scalar") ? "close the quotation mark" : nil
    }

    /// True if the line before one is `key:value`, which is a text that goes on in the next line.
    private static func lacksSpace(in text: String, before line: Int) -> Bool {
        let before = text.split(separator: "\n", omittingEmptySubsequences: false).prefix(line - 1).last
        guard let rest = before?.drop(while: { $0.isLetter || $0 == " " || $0 == "-" }), rest.first == ":" else {
            return false
        }
        return !rest.dropFirst().isEmpty && !rest.hasPrefix(": ") && !rest.hasPrefix("://")
    }

    /// The column of a tab that indents the line, or that stands where an error is; nil without one.
    private static func tab(in text: String, line: Int, column: Int) -> Int? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard line >= 1, line <= lines.count else { return nil }
        let characters = Array(lines[line - 1].unicodeScalars)
        if let first = characters.firstIndex(where: { $0 != " " }), characters[first] == "\t" { return first + 1 }
        return characters.indices.contains(column - 1) && characters[column - 1] == "\t" ? column : nil
    }

    /// The usual mistakes, recognised by the line.
    private static func advice(on text: String, at line: Int) -> (line: Int, String?) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        // An error at the end of the text is reported on the line after it.
        let number = min(line, max(lines.count, 1))
        guard number >= 1, number <= lines.count else { return (max(number, 1), nil) }
        let line = lines[number - 1]
        if line.contains("${") { return (number, "put a value with `${…}` in quotes") }
        if line.contains("[:") { return (number, "put an address with brackets in quotes") }
        if line.contains(where: { $0 == "*" }) { return (number, "put a pattern that starts with `*` in quotes") }
        if line.contains(where: { $0 == "@" || $0 == "%" || $0 == "`" }) {
            return (number, "put a value that starts with `@`, `%` or a backquote in quotes")
        }
        return (number, nil)
    }
}
