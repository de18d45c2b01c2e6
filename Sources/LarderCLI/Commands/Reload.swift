// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Larder
import LarderHTTP

/// `larder reload`
struct Reload: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload",
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
                Terminal.write(Reload.words(answer))
                for name in strings("takesRestart", of: answer) {
                    Terminal.write("not applied: \(name), which takes a restart\n")
                }
            }
        }
        guard isAccepted else {
            if !client.json { Terminal.writeError("larder: refused; the configuration before stays in force") }
            throw ExitCode.failure
        }
    }

    /// The configuration that is in force.
    static func words(_ answer: JSONValue) -> String {
        if let file = answer["file"]?.string { return "the configuration of \(Outline.printable(file)) is in force\n" }
        let searched = (answer["searched"]?.array ?? []).compactMap(\.string).map(Outline.printable)
        return "no file was read, the defaults are in force: "
            + (searched.isEmpty ? "none was named" : "there is no \(searched.joined(separator: ", and no "))")
            + "; make one, or start the daemon with `larder serve --config FILE`\n"
    }

    private func strings(_ name: String, of answer: JSONValue) -> [String] {
        (answer[name]?.array ?? []).compactMap(\.string).map(Outline.printable)
    }
}
