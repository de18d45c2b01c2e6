// SPDX-License-Identifier: Apache-2.0

import LarderIO
import LarderSettings

/// Replaces `${NAME}` by an environment variable and `${file:/path}` by the content of a file.
///
/// A relative path is below `$CREDENTIALS_DIRECTORY`, systemd's directory of a service's credentials. One line end at
/// the end of a file is removed. `$${` is an escaped `${`. Replaced text is never expanded again, and never appears in
/// messages.
struct SecretReferences: Sendable {
    var environment: [String: String]
    /// The variables declared in the configuration: references to these names are left to them, and get their values
    /// later.
    var variables: Set<String> = []

    /// Files longer than this, in bytes, are refused.
    static let fileLimit = 64 << 10

    struct Failure: Error, Equatable {
        var found: String
        var expected: String
        var suggestion: String?
        var advice: String?
    }

    /// The text split into known parts and variables.
    func pieces(of text: String) throws(Failure) -> [Secret.Piece] {
        guard text.contains("${") else { return [.text(text)] }
        var pieces: [Secret.Piece] = []
        var result = ""
        var rest = Substring(text)
        while let start = rest.firstRange(of: "${") {
            let before = rest[..<start.lowerBound]
            if before.hasSuffix("$") {
                result += before.dropLast() + "${"
                rest = rest[start.upperBound...]
                continue
            }
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else {
                throw Failure(
                    found: "`${` without `}`", expected: "`${NAME}` or `${file:/path}`",
                    advice: "close it, or write `$${` for the characters themselves")
            }
            result += before
            let reference = rest[start.upperBound..<end]
            if variables.contains(String(reference)) {
                pieces += [.text(result), .variable(String(reference))]
                result = ""
            } else {
                result += try value(of: reference)
            }
            rest = rest[rest.index(after: end)...]
        }
        return pieces + [.text(result + rest)]
    }

    private func value(of reference: Substring) throws(Failure) -> String {
        if reference.hasPrefix("file:") { return try contents(of: String(reference.dropFirst(5))) }
        let isName =
            reference.first?.isNumber == false
            && reference.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || byte == UInt8(ascii: "_")
            }
        guard isName else {
            throw Failure(
                found: "the reference `${…}` to something that is not a name",
                expected: "`${NAME}` of letters, digits and `_`, or `${file:/path}`")
        }
        guard let value = environment[String(reference)] else {
            throw Failure(
                found: "`${\(reference)}`, but the environment variable \(reference) is not set",
                expected: "a variable of the daemon's environment",
                suggestion: Nearest.name(to: String(reference), in: environment.keys.sorted()).map { "${\($0)}" },
                advice: "set it before the daemon starts")
        }
        return value
    }

    func contents(of name: String) throws(Failure) -> String {
        var path = name
        if !name.hasPrefix("/") {
            guard let directory = environment["CREDENTIALS_DIRECTORY"], !name.isEmpty else {
                throw Failure(
                    found: "`${file:\(name)}`, but CREDENTIALS_DIRECTORY is not set", expected: "an absolute path",
                    advice: "a relative path names a credential that systemd loads")
            }
            path = directory + "/" + name
        }
        do {
            let bytes = try BoundedFile.read(path, limit: SecretReferences.fileLimit, .regular)
            guard var text = String(validating: bytes, as: UTF8.self) else {
                throw Failure(found: "`${file:\(name)}`, which is not UTF-8", expected: "a file of text")
            }
            if text.last?.isNewline == true { text.removeLast() }
            return text
        } catch let failure as Failure {
            throw failure
        } catch let error as BoundedFile.Failure {
            throw Failure(
                found: "`${file:\(name)}`, but \(error)", expected: "a file that the daemon may read",
                advice: "check its name and permissions")
        } catch {
            throw Failure(found: "`${file:\(name)}`, which cannot be read", expected: "a file that the daemon may read")
        }
    }
}
