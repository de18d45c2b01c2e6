// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderIO

/// Asks for a password: on the terminal twice, without showing it; else one line of standard input.
enum PasswordPrompt {
    static func password(for name: String) throws -> String {
        let password = isatty(STDIN_FILENO) == 1 ? try typed(for: name) : try readLine()
        if let refusal = PasswordLine.refusal(of: password) { throw CommandFailure(refusal) }
        return password
    }

    private static func typed(for name: String) throws -> String {
        let first = try ask("Password for \(Outline.printable(name)): ")
        if let refusal = PasswordLine.refusal(of: first) { throw CommandFailure(refusal) }
        guard try ask("The same again: ") == first else {
            throw CommandFailure("the two passwords differ", advice: "nothing was changed")
        }
        return first
    }

    /// A line that is typed on the terminal, which shows nothing of it and is as before afterwards. Keys that would end
    /// the command are read here, as it would leave the terminal silent.
    private static func ask(_ prompt: String) throws -> String {
        var before = termios()
        guard tcgetattr(STDIN_FILENO, &before) == 0 else {
            throw CommandFailure("the terminal cannot be used: \(String(cString: strerror(errno)))")
        }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG)
        // Before the prompt: this drops what was typed until now.
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
        Terminal.writePrompt(prompt)
        defer {
            tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
            Terminal.writePrompt("\n")
        }
        var line = PasswordLine()
        while true {
            var octet: UInt8 = 0
            let count = read(STDIN_FILENO, &octet, 1)
            if count < 0, errno == EINTR { continue }
            switch count > 0 ? line.take(octet) : .givenUp {
            case .more: continue
            case .done(let password): return password
            case .givenUp: throw CommandFailure("no password was given", advice: "nothing was changed")
            case .notText: throw CommandFailure("the password is not UTF-8")
            }
        }
    }

    /// The one line of standard input.
    private static func readLine() throws -> String {
        let octets = try NamedFile.input("the password", limit: 4 << 10)
        guard let text = String(validating: octets, as: UTF8.self) else {
            throw CommandFailure("the password is not UTF-8")
        }
        let lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false)
        guard lines.dropFirst().allSatisfy(\.isEmpty), lines.count <= 2 else {
            throw CommandFailure("there is more than one line on standard input", advice: "the password is one line")
        }
        let line = lines[0]
        return String(Substring(line.last == 0x0D ? line.dropLast() : line))
    }
}
