// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import LarderProxy
import LarderRules
import LarderSettings

/// Recordings in the format of HTTP Archive 1.2, which browsers and other tools can import.
///
/// Members that begin with an underscore are Larder's own, as the format allows.
enum HTTPArchive {
    struct Refusal: Error, CustomStringConvertible {
        let description: String
    }

    // MARK: Writing

    static func json(_ recording: Recording) -> JSONValue {
        [
            "log": [
                "version": "1.2", "creator": creator,
                "entries": .array(recording.exchanges.map(entry)),
                "_name": .string(recording.name), "_omitted": .integer(recording.omitted),
            ]
        ]
    }

    private static let creator: JSONValue = ["name": "Larder", "version": .string(LarderVersion.current)]

    /// The text of an archive before its entries, which have commas between them.
    static var beginning: String { #"{"log":{"version":"1.2","creator":\#(creator),"entries":["# }

    /// The text behind them.
    static func end(name: String, omitted: Int) -> String {
        #"],"_name":\#(JSONValue.string(name)),"_omitted":\#(omitted)}}"#
    }

    static func entry(_ exchange: RecordedExchange) -> JSONValue {
        let milliseconds = JSONValue.decimal(exchange.duration.inSeconds * 1_000, places: 3)
        return [
            "startedDateTime": .time(exchange.began), "time": milliseconds,
            "request": request(exchange), "response": response(exchange),
            "cache": .object(JSONObject()), "timings": ["send": 0, "wait": milliseconds, "receive": 0],
        ]
    }

    private static func request(_ exchange: RecordedExchange) -> JSONValue {
        let content = exchange.requestContent
        var request: JSONObject = [
            "method": .string(exchange.method), "url": .string(exchange.url), "httpVersion": "HTTP/1.1",
            "cookies": .array([]), "headers": headers(exchange.requestFields),
            "queryString": .array(parameters(of: exchange.url)), "headersSize": -1,
            "bodySize": .integer(content.count),
        ]
        if !content.isEmpty {
            let type = exchange.requestFields[.contentType] ?? "application/octet-stream"
            var data: JSONObject = ["mimeType": .string(type)]
            add(content, to: &data, encoding: "_encoding")
            request["postData"] = .object(data)
        }
        return .object(request)
    }

    private static func response(_ exchange: RecordedExchange) -> JSONValue {
        let octets = exchange.content
        var content: JSONObject = [
            "size": .integer(octets.count),
            "mimeType": .string(exchange.fields[.contentType] ?? "application/octet-stream"),
        ]
        if !octets.isEmpty { add(octets, to: &content, encoding: "encoding") }
        return [
            "status": .integer(exchange.status.rawValue), "statusText": .string(exchange.status.phrase),
            "httpVersion": "HTTP/1.1", "cookies": .array([]), "headers": headers(exchange.fields),
            "content": .object(content), "redirectURL": .string(exchange.fields[first: .location] ?? ""),
            "headersSize": -1, "bodySize": .integer(octets.count),
        ]
    }

    private static func add(_ octets: [UInt8], to object: inout JSONObject, encoding: String) {
        // Control characters take six times their bytes as text.
        let isText = !octets.contains { $0 < 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }
        if isText, let text = String(validating: octets, as: UTF8.self) {
            object["text"] = .string(text)
        } else {
            object["text"] = .string(Base64Text.encoded(octets))
            object[encoding] = "base64"
        }
    }

    private static func headers(_ fields: Fields) -> JSONValue {
        var lines: [JSONValue] = []
        fields.forEachLine { _, spelling, value in
            lines.append([
                "name": .string(String(decoding: spelling, as: UTF8.self)), "value": .string(String(latin1: value)),
            ])
        }
        return .array(lines)
    }

    private static func parameters(of url: String) -> [JSONValue] {
        PercentText.pairs(in: url.drop { $0 != "?" }.dropFirst()).map {
            ["name": .string(String($0.name)), "value": .string(String($0.value))]
        }
    }

    // MARK: Reading

    /// The most JSON values of an archive, with those beside its entries.
    static let archiveValueLimit = Recording.valueLimit + 100

    /// Parses the output of `json`, or of another program. Every entry must be complete.
    ///
    /// - Parameter takesAll: whether an archive with more exchanges than a recording has room for is refused.
    static func recording(
        _ name: String, from octets: [UInt8], takesAll: Bool = false, valueLimit: Int = archiveValueLimit
    ) throws -> Recording {
        let archive: JSONValue
        do throws(JSONSyntaxError) { archive = try JSONValue(parsing: octets, valueLimit: valueLimit) } catch {
            throw Refusal(description: "it cannot be read: \(error)")
        }
        guard let entries = archive["log"]?["entries"]?.array else {
            throw Refusal(description: "it is no HTTP Archive: `log.entries` is missing")
        }
        let isOurs = archive["log"]?["creator"]?["name"]?.string == "Larder"
        let omitted = isOurs ? archive["log"]?["_omitted"]?.int ?? 0 : 0
        let recording = Recording(
            name: name, try entries.enumerated().map { try exchange($1, at: $0, isOurs: isOurs) },
            omitted: max(0, min(omitted, 1_000_000_000)))
        guard !takesAll || recording.count == entries.count else {
            throw Refusal(description: "it holds more than \(Recording.limit >> 20) MiB, or too many requests")
        }
        return recording
    }

    /// - Parameter isOurs: whether the content is as it was received. Other programs write it decoded.
    private static func exchange(_ entry: JSONValue, at index: Int, isOurs: Bool) throws -> RecordedExchange {
        let place = "log.entries[\(index)]"
        func text(_ value: JSONValue?, _ path: String) throws -> String {
            guard let text = value?.string else { throw Refusal(description: "`\(place).\(path)` is no text") }
            return text
        }
        let (request, response) = (entry["request"], entry["response"])
        let url = try text(request?["url"], "request.url")
        guard let target = try? TargetURI(url) else {
            throw Refusal(description: "`\(place).request.url` is no http or https URL")
        }
        let method = try text(request?["method"], "request.method")
        guard FieldName(method) != nil else { throw Refusal(description: "`\(place).request.method` is no method") }
        guard let status = response?["status"]?.int, 200...599 ~= status else {
            throw Refusal(description: "`\(place).response.status` is no final status")
        }
        let content = response?["content"]
        var fields = try Self.fields(response?["headers"], "\(place).response.headers", isResponse: true)
        // The content has its own length; only a response to HEAD has another.
        if method != "HEAD" || Status(status).hasNoContent { fields.remove(.contentLength) }
        if !isOurs { fields.remove(.contentEncoding) }
        return RecordedExchange(
            method: method, url: target.string,
            requestFields: try Self.fields(request?["headers"], "\(place).request.headers"),
            requestContent: try Self.octets(request?["postData"], "_encoding", "\(place).request.postData"),
            began: entry["startedDateTime"]?.string.flatMap { ISOTime.parse($0) } ?? Timestamp(nanoseconds: 0),
            duration: .milliseconds(Int64(max(0, min(1e9, entry["time"]?.double ?? 0)))),
            status: Status(status),
            fields: fields,
            content: try Self.octets(content, "encoding", "\(place).response.content"))
    }

    private static func octets(_ value: JSONValue?, _ encoding: String, _ place: String) throws -> [UInt8] {
        guard let value, let text = value["text"]?.string else { return [] }
        guard let name = value[encoding]?.string, !name.isEmpty, !text.isEmpty else { return Array(text.utf8) }
        guard name == "base64", let octets = Base64Text.decoded(text) else {
            throw Refusal(description: "`\(place).text` is not in \(name.prefix(20))")
        }
        return octets
    }

    /// Length and codings of the transfer belong to another connection.
    private static let ofTheMessage: Set<FieldName> = [
        .connection, .transferEncoding, .keepAlive, .trailer, .upgrade,
    ]

    private static func fields(_ value: JSONValue?, _ place: String, isResponse: Bool = false) throws -> Fields {
        var fields = Fields()
        for line in value?.array ?? [] {
            guard let name = line["name"]?.string, let value = line["value"]?.string else {
                throw Refusal(description: "`\(place)` has a line without name or value")
            }
            // Browsers write the pseudo fields of HTTP/2 as well.
            if name.hasPrefix(":") { continue }
            guard let name = FieldName(name), value.unicodeScalars.allSatisfy({ $0.value >= 0x20 || $0 == "\t" }),
                !value.unicodeScalars.contains("\u{7F}")
            else { throw Refusal(description: "`\(place)` has a line that no message may have") }
            if ofTheMessage.contains(name) { continue }
            fields.append(name, value)
        }
        return fields
    }
}
