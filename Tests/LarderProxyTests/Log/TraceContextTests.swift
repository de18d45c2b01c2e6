// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings
import Testing

@testable import LarderProxy

@Suite("W3C Trace Context")
struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"

    @Test(arguments: [
        ("sampled", "00-\(trace)-\(span)-01", true), ("not sampled", "00-\(trace)-\(span)-00", false),
        ("another flag", "00-\(trace)-\(span)-03", true), ("a later version", "cc-\(trace)-\(span)-01", true),
        ("a later version with more", "cc-\(trace)-\(span)-01-what-comes", true),
    ])
    func `valid ones are read`(_ row: (label: String, text: String, isSampled: Bool)) throws {
        let context = try #require(TraceContext(row.text))
        #expect(context.isSampled == row.isSampled)
        #expect(context.text == "00-\(Self.trace)-\(Self.span)-\(row.isSampled ? "01" : "00")")
    }

    @Test(arguments: [
        ("nothing", ""), ("short", "00-\(trace)-\(span)-0"), ("long", "00-\(trace)-\(span)-01-"),
        ("the forbidden version", "ff-\(trace)-\(span)-01"), ("upper case", "00-\(trace.uppercased())-\(span)-01"),
        ("no trace", "00-\(String(repeating: "0", count: 32))-\(span)-01"),
        ("no span", "00-\(trace)-0000000000000000-01"),
        ("other separators", "00_\(trace)_\(span)_01"), ("no number", "00-\(trace)-\(span)-0x"),
        ("a later version that goes on without a dash", "cc-\(trace)-\(span)-01.what"),
    ])
    func `others are not`(_ row: (label: String, text: String)) {
        #expect(TraceContext(row.text) == nil, "\(row.label)")
    }

    @Test func `a field that is there twice is no trace`() {
        var fields = Fields()
        fields.append("Traceparent", "00-\(Self.trace)-\(Self.span)-01")
        #expect(ReceivedTrace(fields).context != nil)
        fields.append("traceparent", "00-\(Self.trace)-\(Self.span)-01")
        #expect(ReceivedTrace(fields).context == nil)
        #expect(ReceivedTrace(fields).hasParent)
    }

    @Test func `a span is written as OTLP has it in JSON`() throws {
        let context = try #require(TraceContext("00-\(Self.trace)-\(Self.span)-01"))
        var span = Span(
            context: context, parent: 0xA, link: context, kind: .client, name: "GET",
            start: Timestamp(nanoseconds: 1_700_000_000_000_000_001),
            end: Timestamp(nanoseconds: 1_700_000_000_000_000_002))
        span.add("url.full", "http://a.test/\"b")
        span.add("server.port", 80)
        span.failure = "cut"
        let text = OTLPText.request([span], service: "here")
        #expect(
            text == """
                {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"here"}},\
                {"key":"service.version","value":{"stringValue":"\(LarderVersion.current)"}}]},"scopeSpans":[{"scope":\
                {"name":"larder","version":"\(LarderVersion.current)"},"spans":[{"traceId":"\(Self.trace)",\
                "spanId":"\(Self.span)","parentSpanId":"000000000000000a","name":"GET","kind":3,\
                "startTimeUnixNano":"1700000000000000001","endTimeUnixNano":"1700000000000000002","attributes":\
                [{"key":"url.full","value":{"stringValue":"http://a.test/\\"b"}},\
                {"key":"server.port","value":{"intValue":"80"}}],"links":[{"traceId":"\(Self.trace)",\
                "spanId":"\(Self.span)"}],"status":{"code":2,"message":"cut"}}]}]}]}
                """)
    }
}
