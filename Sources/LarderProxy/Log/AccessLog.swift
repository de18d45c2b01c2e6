// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderRules
import LarderSettings
import Logging

/// One line for each exchange: request, response, and the reason of its source. Queries, which may contain secrets, are
/// left out, and so are all fields except the fields that name the client's program and its trace.
package final class AccessLog: Sendable {
    private let logger: Logger
    /// A closure by itself as the state of a lock would be wrapped once more with each use.
    private struct Output {
        /// Receives lines instead of the logger.
        var write: (@Sendable (String) -> Void)?
    }

    private let output = Lock(Output())

    init(logger: Logger) { self.logger = logger }

    /// Sends whole lines to `write` instead of messages to the logger; nil ends that.
    package func send(to write: (@Sendable (String) -> Void)?) { output.withLock { $0.write = write } }

    func write(_ line: AccessLine, in format: AccessFormat) {
        let write = output.withLock { $0.write }
        switch format {
        case .standard:
            if let write { write(line.json + "\n") } else { logger.info("exchange", metadata: line.metadata) }
        case .combined, .squid:
            let text = format == .combined ? line.combined : line.squid
            if let write { write(text + "\n") } else { logger.info("\(text)") }
        }
    }

    /// An invalid target, without the parts that may contain secrets: user information and query.
    static func shown(_ target: [UInt8]) -> String {
        let start = target.prefix { $0 != UInt8(ascii: "?") }
        let rest = start.lastIndex(of: UInt8(ascii: "@")).map { start[($0 + 1)...] } ?? start
        return String(decoding: rest.prefix(1024), as: UTF8.self)
    }
}

/// One exchange as a line, in machine-readable formats.
struct AccessLine {
    let record: ExchangeRecord
    let method: String
    let url: String
    let version: HTTPVersion
    let client: String
    let agent: String?
    let trace: String?
    let contentType: String?
    let host: String
    let now: Timestamp

    /// Numbers stay numbers, for backends that distinguish them from texts.
    var metadata: Logger.Metadata {
        Dictionary(fields.map { ($0.name, $0.value.metadata) }) { first, _ in first }
    }

    /// An object on one line.
    var json: String {
        let time: (name: String, value: Value) = ("time", .text(ISOTime.string(now, milliseconds: true)))
        return "{" + ([time] + fields).map { "\(JSONText.string($0.name)):\($0.value.json)" }.joined(separator: ",")
            + "}"
    }

    private enum Value {
        case text(String)
        case number(Int64)

        var json: String {
            switch self {
            case .text(let text): JSONText.string(text)
            case .number(let number): String(number)
            }
        }

        var metadata: Logger.MetadataValue {
            switch self {
            case .text(let text): .string(text)
            case .number(let number): .stringConvertible(number)
            }
        }
    }

    private var fields: [(name: String, value: Value)] {
        var fields: [(name: String, value: Value)] = [
            ("method", .text(method)), ("url", .text(url)),
            // An aborted exchange has none.
            ("status", record.status == 0 ? .text("-") : .number(Int64(record.status.rawValue))),
            ("service", .text(record.service.isEmpty ? "-" : record.service)), ("outcome", .text("\(record.kind)")),
            ("reason", .text(record.reason)),
            ("cache", .text(record.cacheStatus?.member() ?? "-")), ("bytes", .number(record.octets)),
            ("microseconds", .number(record.duration / 1000)), ("problem", .text(record.problem?.title ?? "-")),
            ("client", .text(client)),
        ]
        if let user = record.user { fields.append(("user", .text(user))) }
        if let agent { fields.append(("agent", .text(agent))) }
        if let trace { fields.append(("traceparent", .text(trace))) }
        return fields
    }

    /// The format of Apache and nginx. The referring page is left out: it is a URL with its secrets.
    var combined: String {
        let status = record.status == 0 ? "-" : "\(record.status)"
        let request = "\(method) \(url) HTTP/1.\(version == .http10 ? 0 : 1)"
        return "\(client) - \(user) [\(AccessLine.commonTime(now))] \"\(AccessLine.quoted(request))\" \(status) "
            + "\(record.octets) \"-\" \"\(AccessLine.quoted(agent ?? "-"))\""
    }

    /// The format of Squid's access.log.
    var squid: String {
        let milliseconds = now.nanoseconds / 1_000_000
        let fraction = String(1_000 + milliseconds % 1_000).dropFirst()
        let elapsed = String(record.duration / 1_000_000)
        let padding = String(repeating: " ", count: max(0, 6 - elapsed.count))
        let status = record.status == 0 ? "000" : "\(record.status)"
        let hierarchy = asksOrigin ? "HIER_DIRECT/\(host)" : "HIER_NONE/-"
        let type = contentType.map { $0.prefix { $0 != ";" && $0 != " " } } ?? "-"
        return "\(milliseconds / 1_000).\(fraction) \(padding)\(elapsed) \(client) \(squidCode)/\(status) "
            + "\(record.octets) \(method) \(AccessLine.unbroken(url)) \(user) \(hierarchy) \(type)"
    }

    /// The user, or `-`, as one word.
    private var user: String { record.user.map { $0 == "-" ? "\\x2d" : AccessLine.unbroken($0) } ?? "-" }

    private var asksOrigin: Bool {
        switch record.kind {
        case .miss, .validated, .pass, .tunnel: true
        case .hit, .stale, .collapsed, .error, .refused, .aborted, .own: false
        }
    }

    private var squidCode: String {
        switch record.kind {
        case .hit: record.status == 304 ? "TCP_IMS_HIT" : "TCP_MEM_HIT"
        case .stale: "TCP_REFRESH_FAIL_OLD"
        case .validated: "TCP_REFRESH_UNMODIFIED"
        case .collapsed: "TCP_CF_HIT"
        case .miss, .pass: "TCP_MISS"
        case .tunnel: "TCP_TUNNEL"
        case .own: "NONE"
        case .aborted: "TCP_MISS_ABORTED"
        case .error, .refused: record.problem?.proxyError == .httpRequestDenied ? "TCP_DENIED" : "NONE"
        }
    }

    /// Text between quotation marks: characters that could end it, or the line, are written as `\xNN`.
    private static func quoted(_ text: String) -> String { escaped(text) { $0 == "\"" || $0 == "\\" } }

    /// `31/Jan/2026:12:00:00 +0000`, from `Sat, 31 Jan 2026 12:00:00 GMT`.
    private static func commonTime(_ time: Timestamp) -> String {
        let parts = HTTPDate.string(time).split(separator: " ")
        return "\(parts[1])/\(parts[2])/\(parts[3]):\(parts[4]) +0000"
    }

    /// Text between blanks.
    private static func unbroken(_ text: String) -> String { escaped(text) { $0 == " " } }

    private static func escaped(_ text: String, _ isSpecial: (Unicode.Scalar) -> Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            guard scalar.isUnseen || isSpecial(scalar) else {
                result.unicodeScalars.append(scalar)
                continue
            }
            for octet in scalar.value <= 0xFF ? [UInt8(scalar.value)] : Array(String(scalar).utf8) {
                result += "\\x" + [octet].hexadecimal
            }
        }
        return result
    }
}
