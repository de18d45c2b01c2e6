// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP

/// A version with its content.
struct ComparedVersion {
    let report: JSONValue
    let content: [UInt8]

    init(_ report: JSONValue, content: [UInt8]) {
        self.report = report
        self.content = content
    }

    var firstSeen: String { report["firstSeen"]?.string ?? "?" }
    var digest: String { report["digest"]?.string ?? "?" }

    /// Its content if it is JSON.
    fileprivate var json: JSONValue? {
        guard report["type"]?.string.flatMap({ MediaType($0) })?.isJSON == true else { return nil }
        return try? JSONValue(parsing: content)
    }

    /// Its content if it is text that came whole.
    fileprivate var text: String? {
        guard content.count < ComparedVersion.limit, !content.contains(0) else { return nil }
        return String(validating: content, as: UTF8.self)
    }

    /// The daemon sends no more.
    private static let limit = 4 << 20

    fileprivate var fields: [String] { (report["fields"]?.array?.compactMap(\.string) ?? []).sorted() }
}

/// The difference between two versions of a resource, as `diff -u` writes it.
struct VersionDifference {
    private let old, new: ComparedVersion
    private let url: String
    private let raw, fields: Bool

    init(_ old: ComparedVersion, _ new: ComparedVersion, url: String, raw: Bool, fields: Bool) {
        (self.old, self.new, self.url, self.raw, self.fields) = (old, new, url, raw, fields)
    }

    /// Nil when they are equal.
    func text(_ style: TextStyle) throws -> [UInt8]? {
        let heads = fields ? [old, new].map { $0.fields + [""] } : [[], []]
        guard old.digest != new.digest || heads[0] != heads[1] else { return nil }
        if !raw, let a = old.json.flatMap(JSONLines.of), let b = new.json.flatMap(JSONLines.of) {
            return try compare(heads[0] + [a], heads[1] + [b], style)
        }
        if let a = old.text, let b = new.text { return try compare(heads[0] + [a], heads[1] + [b], style) }
        let lines =
            heads[0] == heads[1] ? "" : String(decoding: try compare(heads[0], heads[1], style) ?? [], as: UTF8.self)
        return Array((lines + octets).utf8)
    }

    private var octets: String {
        [("-", old), ("+", new)].map { sign, version in
            let bytes = version.report["bytes"]?.int.map(Quantity.bytes) ?? "?"
            return "\(sign) \(bytes), content \(version.digest.prefix(12)), first seen \(version.firstSeen)\n"
        }.joined()
    }

    /// Has `diff` compare two texts.
    private func compare(_ old: [String], _ new: [String], _ style: TextStyle) throws -> [UInt8]? {
        let files = try [old, new].map { lines in
            let text = lines.joined(separator: "\n")
            return try ScratchFile(Array((style.isForTerminal ? VersionDifference.printable(text) : text).utf8))
        }
        let output = try ScratchFile([])
        let labels = [self.old, self.new].flatMap { ["-L", "\(Outline.printable(url)) \($0.firstSeen)"] }
        let colour = style.isColoured ? ["--color=always"] : []
        let command = ["diff", "-u"] + colour + labels + files.map(\.path)
        let status = try withExtendedLifetime(files) {
            switch SpawnedCommand.start(command, output: output.descriptor) {
            case .success(let child): return SpawnedCommand.wait(for: child)
            case .failure(let failure):
                throw CommandFailure("cannot run `diff`: \(String(cString: strerror(failure.code)))")
            }
        }
        guard status <= 1 else { throw CommandFailure("`diff` failed") }
        return status == 0 ? nil : try output.octets()
    }

    /// Without codes that would control the terminal.
    private static func printable(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { Outline.printable(String($0)) }
                .joined(separator: "\t")
        }.joined(separator: "\n")
    }
}

/// JSON with a member or an element to a line, members in the order of their names.
struct JSONLines {
    private var octets: [UInt8] = []
    private var isTooMuch = false

    /// How deep values may be nested, how far they are indented, and how long the text may be.
    static let depth = 64
    static let margin = 40
    static let limit = 16 << 20

    /// Nil for what would be too deep or too long.
    static func of(_ value: JSONValue) -> String? {
        var lines = JSONLines()
        lines.write(value, depth: 0)
        lines.octets.append(UInt8(ascii: "\n"))
        return lines.isTooMuch ? nil : String(decoding: lines.octets, as: UTF8.self)
    }

    private mutating func write(_ value: JSONValue, depth: Int) {
        guard depth <= JSONLines.depth, octets.count <= JSONLines.limit else {
            isTooMuch = true
            return
        }
        switch value {
        case .object(let object) where !object.isEmpty:
            octets.append(UInt8(ascii: "{"))
            var isFirst = true
            for name in object.names.sorted() where !isTooMuch {
                begin(isFirst: isFirst, depth: depth + 1)
                octets += JSONValue.string(name).octets
                octets += ": ".utf8
                write(object[name] ?? .null, depth: depth + 1)
                isFirst = false
            }
            end("}", depth: depth)
        case .array(let elements) where !elements.isEmpty:
            octets.append(UInt8(ascii: "["))
            var isFirst = true
            for element in elements where !isTooMuch {
                begin(isFirst: isFirst, depth: depth + 1)
                write(element, depth: depth + 1)
                isFirst = false
            }
            end("]", depth: depth)
        default: octets += value.octets
        }
    }

    private mutating func begin(isFirst: Bool, depth: Int) {
        if !isFirst { octets.append(UInt8(ascii: ",")) }
        indent(depth)
    }

    private mutating func end(_ bracket: String, depth: Int) {
        indent(depth)
        octets += bracket.utf8
    }

    private mutating func indent(_ depth: Int) {
        octets.append(UInt8(ascii: "\n"))
        octets += repeatElement(UInt8(ascii: " "), count: min(2 * depth, JSONLines.margin))
    }
}
