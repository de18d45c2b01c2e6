// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderIO
import LarderSettings

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
