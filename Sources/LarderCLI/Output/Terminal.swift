// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Glibc
import Larder
import LarderIO
import Synchronization

/// Output for people: to standard output and error, in colour where that is a terminal.
enum Terminal {
    static func write(_ text: String) { write(text, to: STDOUT_FILENO) }

    /// Writes bytes unchanged.
    static func write(_ octets: [UInt8]) { write(octets[...], to: STDOUT_FILENO) }

    /// The line width in characters; nil where standard output is not a terminal.
    static var width: Int? { size?.columns }

    static var size: (columns: Int, rows: Int)? {
        guard isatty(STDOUT_FILENO) == 1 else { return nil }
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
        return (Int(size.ws_col), Int(size.ws_row))
    }

    /// Writes a line to standard error.
    static func writeError(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    /// Writes a question to standard error, without ending the line.
    static func writePrompt(_ text: String) { write(text, to: STDERR_FILENO) }

    /// Writes a line that replaces itself to standard error, which must be a terminal; nil removes it.
    static func writeProgress(_ line: String?) { write("\r\u{1B}[K" + (line ?? ""), to: STDERR_FILENO) }

    /// The styles for standard output: none when it is not a terminal or `NO_COLOR` is set.
    static func style(environment: [String: String], isTerminal: Bool = isatty(STDOUT_FILENO) == 1) -> TextStyle {
        let wantsColour = environment["NO_COLOR"]?.isEmpty ?? true && environment["TERM"] != "dumb"
        return TextStyle(isColoured: wantsColour && isTerminal, isForTerminal: isTerminal)
    }

    /// Why something could not be written to standard output; 0 if all was.
    private static let failure = Atomic<Int32>(0)

    /// Set once something was not written to standard output, so that a script's copy of it is not the whole.
    static var writeFailure: CommandFailure? {
        let number = failure.load(ordering: .relaxed)
        guard number != 0 else { return nil }
        return CommandFailure("cannot write to standard output: \(String(cString: strerror(number)))")
    }

    /// Writes all of `text`; a closed pipe (`larder list | head`) is no error.
    private static func write(_ text: String, to descriptor: Int32) { write(Array(text.utf8)[...], to: descriptor) }

    private static func write(_ octets: ArraySlice<UInt8>, to descriptor: Int32) {
        guard let code = BlockingWrite.failure(of: octets, to: descriptor) else { return }
        if descriptor == STDOUT_FILENO, code != EPIPE { failure.store(code, ordering: .relaxed) }
    }
}

/// Highlighting of parts of a text.
struct TextStyle: Sendable {
    var isColoured: Bool
    /// True if a terminal shows it, which content from elsewhere must not control.
    var isForTerminal: Bool

    static let plain = TextStyle(isColoured: false, isForTerminal: false)
    static let coloured = TextStyle(isColoured: true, isForTerminal: true)

    func bold(_ text: String) -> String { wrap(text, "1") }
    func dim(_ text: String) -> String { wrap(text, "2") }
    func good(_ text: String) -> String { wrap(text, "32") }
    func bad(_ text: String) -> String { wrap(text, "31") }

    private func wrap(_ text: String, _ code: String) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

/// Why a command failed.
struct CommandFailure: Error, CustomStringConvertible {
    var problem: String
    var advice: String?
    /// The exit status of the command.
    var exitStatus: Int32
    /// The exit status of a command that matched nothing.
    static let nothingMatched: Int32 = 2
    /// The status of the daemon's answer, where that says why.
    private var answered: Int?

    init(_ problem: String, advice: String? = nil, exitStatus: Int32 = 1) {
        self.problem = problem
        self.advice = advice
        self.exitStatus = exitStatus
    }

    /// A problem of the daemon (RFC 9457) as a message of a command: the finding, and the next step.
    init(problem: JSONValue?, status: Int) {
        if let text = problem?["detail"]?.string ?? problem?["title"]?.string {
            self.init(CommandFailure.clause(text), advice: (problem?["advice"]?.string).map(CommandFailure.clause))
        } else {
            self.init(CommandFailure.noLarder(status), advice: "check the daemon's address")
        }
        answered = status
        // The daemon has understood its own words: what it does not understand was the user's.
        if status == 400 { exitStatus = ExitCode.validationFailure.rawValue }
    }

    /// Has the exit status say that nothing matched where the daemon does not know the subject of `body`.
    static func orNothing<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let failure as CommandFailure where failure.answered == 404 {
            var failure = failure
            failure.exitStatus = CommandFailure.nothingMatched
            throw failure
        }
    }

    /// A Larder says in each error what was wrong.
    static func noLarder(_ status: Int) -> String {
        "what answers with \(status), and without a reason, does not look like a Larder"
    }

    static let notJSON = CommandFailure(
        "the answer is not JSON, and so does not look like a Larder's",
        advice: "check the daemon's address, and that it and this command are one version")

    /// A sentence as a clause: without capital, full stop and typographic quotes.
    static func clause(_ sentence: String) -> String {
        var text = Outline.printable(sentence).replacing("‘", with: "'").replacing("’", with: "'")
        if text.hasSuffix("."), !text.hasSuffix("..") { text.removeLast() }
        let begin = text.prefix(2)
        let isWord = begin.count < 2 || begin.last?.isLowercase == true || begin.last == " "
        return isWord && !text.hasPrefix("Larder") ? begin.lowercased() + text.dropFirst(begin.count) : text
    }

    var description: String { problem + (advice.map { "; \($0)" } ?? "") }
}

extension JSONValue {
    /// The daemon's answer.
    init(answer octets: [UInt8]) throws(CommandFailure) {
        guard let value = try? JSONValue(parsing: octets) else { throw .notJSON }
        self = value
    }
}
