// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// The query of a request to the admin surface, parsed strictly: unknown parameters are refused rather than ignored.
struct AdminParameters {
    private let request: OwnRequest

    /// The names that may occur more than once.
    private static let repeatable: Set = ["header", "param"]

    /// - Parameter known: the names of this page's parameters; nil if it takes any and looks at none.
    init(_ request: OwnRequest, known: [String]?) throws(Problem) {
        self.request = request
        guard let known else { return }
        var seen: Set<String> = []
        for (name, _) in request.parameters {
            guard known.contains(name) else {
                throw .badParameter(
                    "There is no parameter ‘\(name.prefix(60))’ here.",
                    advice: known.isEmpty ? "Leave it out." : "Use \(known.joined(separator: ", ")).")
            }
            guard seen.insert(name).inserted || AdminParameters.repeatable.contains(name) else {
                throw .badParameter("The parameter ‘\(name)’ comes more than once.", advice: "Give it once.")
            }
        }
    }

    func text(_ name: String) -> String? { request.parameter(name) }
    func all(_ name: String) -> [String] { request.values(of: name) }

    func required(_ name: String) throws(Problem) -> String {
        guard let value = request.parameter(name), !value.isEmpty else {
            throw .badParameter("The parameter ‘\(name)’ is missing.", advice: "Add \(name)=… to the query.")
        }
        return value
    }

    func number(_ name: String, in range: ClosedRange<Int>, default standard: Int) throws(Problem) -> Int {
        guard let text = request.parameter(name) else { return standard }
        guard let number = Int(text), range.contains(number) else {
            throw .badParameter(
                "‘\(name)’ is ‘\(text.prefix(60))’; a number from \(range.lowerBound) to \(range.upperBound) was expected.",
                advice: "Change it or leave it out.")
        }
        return number
    }

    func choice(_ name: String, of choices: [String], default standard: String) throws(Problem) -> String {
        guard let text = request.parameter(name) else { return standard }
        guard choices.contains(text) else {
            throw .badParameter(
                "‘\(name)’ is ‘\(text.prefix(60))’; one of \(choices.joined(separator: ", ")) was expected.",
                advice: "Change it or leave it out.")
        }
        return text
    }

    /// True if `name` has the second of two values; the first is the default.
    func flag(_ name: String, of values: [String] = ["false", "true"]) throws(Problem) -> Bool {
        try choice(name, of: values, default: values[0]) == values[1]
    }

    /// The pattern in `name`, if there is one.
    func pattern(_ name: String) throws(Problem) -> GlobPattern? {
        guard let text = request.parameter(name) else { return nil }
        func refusal(_ reason: String) -> Problem {
            .badParameter(
                "‘\(text.prefix(200))’ is no pattern: \(reason).",
                advice: "Write it as in a configure block: /users/*, **, https://api.github.com/**.")
        }
        let pattern: GlobPattern
        do throws(PatternError) {
            pattern = try GlobPattern(text)
        } catch {
            throw refusal("\(error)")
        }
        // An address of IPv6 stands in brackets.
        let path = pattern.isAbsolute ? text.drop { $0 != "/" }.drop { $0 == "/" }.drop { $0 != "/" } : text[...]
        if path.contains(where: { "[]{}|^".contains($0) }) {
            throw refusal("paths have no brackets, and the only wildcards are *, ** and ?")
        }
        return pattern
    }

    /// The fields given as `Name: value`.
    func fields(_ name: String) throws(Problem) -> Fields {
        var fields = Fields()
        for text in all(name) {
            let octets = Array(text.utf8)
            let colon = octets.firstIndex(of: UInt8(ascii: ":")) ?? octets.endIndex
            let field = octets[..<colon].withUnsafeBytes { FieldName(bytes: $0) }
            let value = octets[min(colon + 1, octets.endIndex)...].drop { $0 == 0x20 || $0 == 0x09 }
            guard let field, colon < octets.endIndex, !value.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F })
            else {
                throw .badParameter(
                    "‘\(text.prefix(100))’ is no field.",
                    advice: "Write it as ‘Name: value’, for example ‘Accept: text/html’.")
            }
            let trimmed = String(decoding: value, as: UTF8.self)
            fields.append(field, trimmed.trimmedBlanks)
            guard fields.count <= 64 else {
                throw .badParameter("There are more than 64 fields.", advice: "Leave some out.")
            }
        }
        return fields
    }
}

extension String {
    fileprivate var trimmedBlanks: String {
        var text = self[...]
        while text.last == " " || text.last == "\t" { text.removeLast() }
        return String(text)
    }
}

extension Problem {
    static func unknownService(_ name: String, known: [String]) -> Problem {
        // The requests that no service claims are no service for people.
        let known = known.filter { $0 != "-" }
        let meant = Nearest.name(to: name, in: known).map { "Did you mean ‘\($0)’? " } ?? ""
        return .badParameter(
            "There is no service ‘\(name.prefix(60))’.",
            advice: known.isEmpty
                ? "No services are configured."
                : "\(meant)There are \(known.prefix(20).joined(separator: ", "))\(known.count > 20 ? ", …" : "").")
    }

    static func badParameter(_ detail: String, advice: String) -> Problem {
        Problem(status: 400, title: "Bad request", proxyError: .httpRequestError, detail: detail, advice: advice)
    }
}
