// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder variable`
struct VariableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "variable", abstract: "List the configuration's variables, or change one.",
        subcommands: [ListVariables.self, SetVariable.self])
}

/// `larder variable list`
struct ListVariables: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the variables, where their values come from and who uses them.",
        discussion: "Values are never shown.")

    @OptionGroup var client: ClientOptions

    func run() throws {
        try client.perform(.get, "/-/variables") { answer, style in
            answer["variables"]?.array?.isEmpty ?? true ? "no variables\n" : Outline.text(answer, style)
        }
    }
}

/// `larder variable set`
struct SetVariable: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Give a variable a new value, until the daemon ends.",
        discussion: """
            Without VALUE, or with `-`, the value is read from standard input, where no other user sees it.
            """)

    @Argument(help: ArgumentHelp("The variable.", valueName: "name"))
    var name: String

    @Argument(help: ArgumentHelp("Its value.", valueName: "value"))
    var value: String?

    @OptionGroup var client: ClientOptions

    func validate() throws {
        guard name.utf8.allSatisfy({ ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "_") }) else {
            throw ValidationError("'\(name)' is no name of a variable")
        }
    }

    func run() throws {
        let content =
            value == nil || value == "-"
            ? try NamedFile.input(
                "the value", limit: 16 << 10, advice: "a value is one line of at most 8 KiB")
            : Array(value?.utf8 ?? "".utf8)
        try client.perform(.put, "/-/variables/\(name)", content: content, text: Outline.text)
    }
}
