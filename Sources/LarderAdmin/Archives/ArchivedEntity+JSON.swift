// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderStores

/// The head of an archived entity in JSON, as `entities/N.json` of an archive has it, and the digests of its files.
extension ArchivedEntity {
    /// Why a file of an archive is of no use.
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    var json: JSONValue {
        var object: JSONObject = ["url": .string(url), "service": .string(service)]
        if !partition.isEmpty { object["partition"] = .string(partition) }
        if !owner.isEmpty { object["owner"] = .string(owner) }
        object["method"] = .string("\(method)")
        object["status"] = .integer(status.rawValue)
        var lines: [JSONValue] = []
        fields.forEachLine { _, spelling, value in
            lines.append([.string(String(decoding: spelling, as: UTF8.self)), .string(String(latin1: value))])
        }
        object["fields"] = .array(lines)
        if !selectors.isEmpty {
            object["vary"] = .array(
                selectors.map { selector in
                    [
                        .string("\(selector.name)"),
                        selector.value.map { .string(String(latin1: $0)) } ?? .null,
                    ]
                })
        }
        object["requested"] = .integer(requestTime.nanoseconds)
        object["received"] = .integer(responseTime.nanoseconds)
        object["date"] = .time(responseTime)
        if wasAuthorized { object["authorized"] = true }
        if wasPersonal { object["personal"] = true }
        if hadCredentials { object["credentials"] = true }
        if hasTraces { object["traces"] = true }
        if standing != .asReceived { object["standing"] = .string(standing.rawValue) }
        object["length"] = .integer(length)
        return .object(object)
    }

    /// The content of `entities/N.sha256`, in the form that `sha256sum --check` reads.
    ///
    /// - Parameter name: `entities/N`.
    static func sums(_ name: String, head: ContentDigest, content: ContentDigest) -> [UInt8] {
        Array("\(head.hexadecimal)  \(name).json\n\(content.hexadecimal)  \(name).octets\n".utf8)
    }

    /// Parses what `json` writes; trusts nothing.
    ///
    /// - Parameter limits: the limits of messages. Stored heads have been merged with others, and may be twice as long.
    static func parse(_ octets: [UInt8], limits: ParseLimits) throws -> ArchivedEntity {
        let json: JSONValue
        do throws(JSONSyntaxError) { json = try JSONValue(parsing: octets) } catch {
            throw Refusal(description: "its head is no JSON: \(error)")
        }
        func number(_ name: String, _ range: ClosedRange<Int>) throws -> Int {
            guard let number = json[name]?.int, range.contains(number) else {
                throw Refusal(description: "`\(name)` of its head is no number that can be")
            }
            return number
        }
        func text(_ name: String) throws -> String {
            guard let text = json[name]?.string, !text.contains("\0") else {
                throw Refusal(description: "`\(name)` of its head is no text")
            }
            return text
        }
        guard let method = Method(try text("method")) else { throw Refusal(description: "its method is none") }
        let standing: StoredResponse.Standing
        switch json["standing"]?.string {
        case nil: standing = .asReceived
        case StoredResponse.Standing.stale.rawValue: standing = .stale
        case StoredResponse.Standing.invalid.rawValue: standing = .invalid
        default: throw Refusal(description: "its standing is none")
        }
        func optionalText(_ name: String) throws -> String { json[name] == nil ? "" : try text(name) }
        let status = try number("status", 200...599)
        guard status != 206, status != 304 else { throw Refusal(description: "its status is \(status)") }
        let length = try number("length", 0...Int.max / 2)
        guard length == 0 || !Status(status).isSentEmpty else {
            throw Refusal(description: "its status is \(status), which has no content")
        }
        return ArchivedEntity(
            url: try text("url"), service: try text("service"),
            partition: try optionalText("partition"), owner: try optionalText("owner"), method: method,
            status: Status(status), fields: try fields(json["fields"], limits), selectors: try selectors(json["vary"]),
            requestTime: Timestamp(nanoseconds: Int64(try number("requested", 0...Int.max / 2))),
            responseTime: Timestamp(nanoseconds: Int64(try number("received", 0...Int.max / 2))),
            wasAuthorized: json["authorized"] == true, wasPersonal: json["personal"] == true,
            hadCredentials: json["credentials"] == true, hasTraces: json["traces"] == true, standing: standing,
            length: Int64(length))
    }

    private static func fields(_ value: JSONValue?, _ limits: ParseLimits) throws -> Fields {
        let lines = value?.array ?? []
        guard lines.count <= 2 * limits.fieldLines else {
            throw Refusal(description: "it has more fields than a message may have (`limits.fieldLines`)")
        }
        var fields = Fields()
        for line in lines {
            guard let pair = line.array, pair.count == 2, let spelling = pair[0].string, FieldName(spelling) != nil,
                let value = pair[1].string?.latin1, isFieldValue(value)
            else { throw Refusal(description: "it has a field that no message may have") }
            Array(spelling.utf8).withUnsafeBytes { spelling in
                value.withUnsafeBytes { fields.appendReceived(spelling: spelling, value: $0) }
            }
        }
        guard fields.octetCount <= 2 * limits.headerSection else {
            throw Refusal(description: "its fields are longer than those of a message may be (`limits.headSize`)")
        }
        return fields
    }

    private static func selectors(_ value: JSONValue?) throws -> [Selector] {
        let lines = value?.array ?? []
        guard lines.count <= Variance.fieldLimit else {
            throw Refusal(description: "more fields select it than `Vary` may name")
        }
        return try lines.map { line in
            guard let pair = line.array, pair.count == 2, let name = pair[0].string.flatMap({ FieldName($0) }) else {
                throw Refusal(description: "`vary` of its head is not as it must be")
            }
            if pair[1] == .null { return Selector(name: name, value: nil) }
            guard let value = pair[1].string?.latin1, isFieldValue(value) else {
                throw Refusal(description: "`vary` of its head is not as it must be")
            }
            return Selector(name: name, value: value)
        }
    }

    /// Blanks around values are no part of them (RFC 9110 §5.5).
    private static func isFieldValue(_ octets: [UInt8]) -> Bool {
        guard let first = octets.first, let last = octets.last else { return true }
        return !ASCII.isBlank(first) && !ASCII.isBlank(last)
            && octets.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
