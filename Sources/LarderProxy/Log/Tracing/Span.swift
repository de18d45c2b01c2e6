// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings

/// A part of a trace that has ended: an exchange with a client, or an exchange with an origin. The names follow
/// OpenTelemetry's semantic conventions for HTTP.
struct Span: Sendable {
    /// The kind of a span, with the numbers of OTLP.
    enum Kind: Int, Sendable {
        case server = 2
        case client = 3
    }

    enum Value: Sendable, Equatable {
        case text(String)
        case number(Int64)
    }

    let context: TraceContext
    /// The span that caused it; nil at the root of a trace.
    var parent: UInt64?
    /// Another span on which this one depended: the request that it waited for.
    var link: TraceContext?
    let kind: Kind
    var name: String
    var start: Timestamp
    var end: Timestamp
    var attributes: [(name: String, value: Value)] = []
    /// A description of the failure; nil when there was none.
    var failure: String?

    mutating func add(_ name: String, _ text: String) { attributes.append((name, .text(text))) }
    mutating func add(_ name: String, _ number: some BinaryInteger) {
        attributes.append((name, .number(Int64(clamping: number))))
    }

    /// Adds the method. Any token is one, and names of spans must be few: unknown ones are `_OTHER`.
    mutating func add(_ method: Method) {
        if Span.methods.contains(method.token) { return add("http.request.method", method.token) }
        add("http.request.method", "_OTHER")
        add("http.request.method_original", method.token)
    }

    /// The first word of a span's name.
    static func name(of method: Method) -> String { methods.contains(method.token) ? method.token : "HTTP" }

    private static let methods: Set<String> = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]
}

/// Spans in the JSON encoding of OTLP: ids in hexadecimal, 64-bit numbers as texts (opentelemetry-proto 1.x).
enum OTLPText {
    /// The content of one request to a collector.
    static func request(_ spans: [Span], service: String) -> String {
        let resource = attributes([
            ("service.name", .text(service)), ("service.version", .text(LarderVersion.current)),
        ])
        let scope = "{\"name\":\"larder\",\"version\":\(JSONText.string(LarderVersion.current))}"
        let list = spans.map(text).joined(separator: ",")
        return "{\"resourceSpans\":[{\"resource\":{\"attributes\":\(resource)},"
            + "\"scopeSpans\":[{\"scope\":\(scope),\"spans\":[\(list)]}]}]}"
    }

    private static func text(_ span: Span) -> String {
        var text = "{\"traceId\":\"\(span.context.traceText)\",\"spanId\":\"\(span.context.spanText)\""
        if let parent = span.parent { text += ",\"parentSpanId\":\"\(parent.hexadecimal)\"" }
        text += ",\"name\":\(JSONText.string(span.name)),\"kind\":\(span.kind.rawValue)"
        text += ",\"startTimeUnixNano\":\"\(span.start.nanoseconds)\",\"endTimeUnixNano\":\"\(span.end.nanoseconds)\""
        text += ",\"attributes\":\(attributes(span.attributes))"
        if let link = span.link {
            text += ",\"links\":[{\"traceId\":\"\(link.traceText)\",\"spanId\":\"\(link.spanText)\"}]"
        }
        if let failure = span.failure {
            text += ",\"status\":{\"code\":2,\"message\":\(JSONText.string(failure))}"
        }
        return text + "}"
    }

    private static func attributes(_ attributes: [(name: String, value: Span.Value)]) -> String {
        let members = attributes.map { name, value in
            let value =
                switch value {
                case .text(let text): "{\"stringValue\":\(JSONText.string(text))}"
                case .number(let number): "{\"intValue\":\"\(number)\"}"
                }
            return "{\"key\":\(JSONText.string(name)),\"value\":\(value)}"
        }
        return "[\(members.joined(separator: ","))]"
    }
}
