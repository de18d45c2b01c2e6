// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderProxy
import LarderRules
import LarderSettings

/// The content of the file that `larder support` writes. Nothing gets into it that `shareable` has not seen.
struct SupportReport {
    let json: JSONValue

    /// - Parameters:
    ///   - ask: the daemon's answer to a path; throws when there is none.
    ///   - settings: the settings of the configuration file, for when no daemon tells them.
    init(made: String, system: () -> JSONValue, ask: (String) throws -> JSONValue, settings: () -> JSONValue) {
        func answer(_ path: String) -> JSONValue {
            do { return try ask(path) } catch { return ["unavailable": .string("\(error)")] }
        }
        var own = answer("/-/support")
        if own["settings"] == nil { own = ["daemon": own, "settings": settings()] }
        let requests = answer("/-/requests?limit=\(RequestLog.limit)")
        let failed = requests["requests"]?.array?.filter { request in
            request["problem"]?.string != nil || (request["status"]?.int ?? 0) >= 500
        }
        json = [
            "made": .string(made), "program": .string(LarderVersion.description), "system": system(),
            "daemon": SupportReport.shareable(own), "status": SupportReport.shareable(answer("/-/status")),
            "failures": SupportReport.shareable(failed.map { .array(Array($0.prefix(50))) } ?? requests),
        ]
    }

    private static let hidden = "[redacted]"
    /// Members about people, and those whose names are chosen by users and whose values may be anything.
    private static let people: Set<String> = ["client", "clients", "user", "users", "lastClient"]
    private static let free: Set<String> = [
        "headers", "add", "set", "query", "body", "decorate", "parameters", "exec", "command", "cookies",
    ]

    /// The value without what others may not see: values of secrets and of free members (but for references such as
    /// `${TOKEN}`), people, and the credentials and queries of URLs.
    ///
    /// - Parameter isFree: true inside of a member whose texts may be anything.
    static func shareable(_ value: JSONValue, isFree: Bool = false) -> JSONValue {
        switch value {
        case .null, .bool: return value
        case .number: return isFree ? .string(hidden) : value
        case .string(let text):
            if isFree { return .string(isReference(text) ? text : hidden) }
            return .string(shareable(text: text))
        case .array(let values): return .array(values.map { shareable($0, isFree: isFree) })
        case .object(let object):
            var kept = JSONObject()
            for name in object.names {
                guard let member = object[name], !people.contains(name) else { continue }
                let isSecret = SecretName.isOne(name) && member.object == nil && member.double == nil
                kept[name] = shareable(member, isFree: isFree || isSecret || free.contains(name))
            }
            return .object(kept)
        }
    }

    /// True if all of a text but one word, as `Bearer`, refers to secrets elsewhere.
    private static func isReference(_ text: String) -> Bool {
        let words = text.split(separator: " ")
        return words.last.map { $0.hasPrefix("${") && $0.hasSuffix("}") } == true && words.count <= 2
    }

    /// A text, as a line of a log, in which URLs have neither credentials nor queries, and values of secrets and people
    /// are hidden.
    static func shareable(text: String) -> String {
        var shown = ""
        var hidesNext = false
        var rest = text[...]
        while !rest.isEmpty {
            let word = rest.prefix { !isBreak($0) }
            rest = rest.dropFirst(word.count)
            if !word.isEmpty {
                shown += hidesNext ? hidden : shareable(word: word)
                hidesNext = ["bearer", "basic", "token"].contains(word.lowercased())
            }
            guard let space = rest.popFirst() else { break }
            shown.append(space)
            // `password="a b"`, `Authorization: Basic YTpi`
            guard let mark = word.last, "=:".contains(mark), isHidden(word.dropLast()) else { continue }
            let isQuoted = space == "\"" || space == "'"
            let value = rest.prefix { isQuoted ? $0 != space : $0 != "\n" }
            rest = rest.dropFirst(value.count)
            shown += hidden
        }
        return shown
    }

    private static func isBreak(_ character: Character) -> Bool { " \t\n\"'<>(),;".contains(character) }

    private static func isHidden(_ name: Substring) -> Bool {
        !name.isEmpty && (people.contains(String(name)) || SecretName.isOne(name))
    }

    private static func shareable(word: Substring) -> String {
        for mark: Character in ["=", ":"] {
            guard let end = word.firstIndex(of: mark), word.index(after: end) < word.endIndex else { continue }
            if isHidden(word[..<end]) { return "\(word[...end])\(hidden)" }
        }
        guard let scheme = word.firstRange(of: "://") else {
            // A target without its origin.
            guard word.contains("/"), let query = word.firstIndex(of: "?") else { return String(word) }
            return "\(word[..<query])?…"
        }
        let authority = word[scheme.upperBound...].prefix { !"/?#".contains($0) }
        let host = authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
        let path = word[authority.endIndex...].prefix { $0 != "?" && $0 != "#" }
        return "\(word[..<scheme.upperBound])\(host)\(path)" + (path.endIndex < word.endIndex ? "?…" : "")
    }
}
