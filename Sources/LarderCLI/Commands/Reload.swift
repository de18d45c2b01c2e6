// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder reload`
struct Reload: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Have the daemon read its configuration again, and say what became of it.",
        discussion: """
            A configuration that is not right changes nothing: its problems are printed, and the exit status is 1. \
            SIGHUP and `systemctl reload larder` do the same without waiting; `larder status` then says what became of it.
            """)

    @OptionGroup var client: ClientOptions

    func run() throws {
        let answer = try client.answer(.post, "/-/reload")
        let isAccepted = answer["accepted"]?.bool ?? false
        if client.json {
            client.show(answer, text: Outline.text)
        } else {
            for problem in strings("problems", of: answer) { Terminal.writeError(problem) }
            for warning in strings("warnings", of: answer) { Terminal.writeError("warning: \(warning)") }
            if isAccepted {
                let file = answer["file"]?.string.map { " of \(Outline.printable($0))" } ?? ""
                Terminal.write("the configuration\(file) is in force\n")
                for name in strings("takesRestart", of: answer) { Terminal.write("\(name) takes a restart\n") }
            }
        }
        guard isAccepted else {
            if !client.json { Terminal.writeError("larder: refused; the configuration before stays in force") }
            throw ExitCode.failure
        }
    }

    private func strings(_ name: String, of answer: JSONValue) -> [String] {
        (answer[name]?.array ?? []).compactMap(\.string).map(Outline.printable)
    }
}
