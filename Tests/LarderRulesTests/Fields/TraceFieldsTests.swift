// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import Testing

@Suite("Fields that number requests")
struct TraceFieldsTests {
    private static let plain: Fields = ["Accept": "text/html", "Cookie": "a=1"]

    private static func plain(with name: FieldName, _ value: String) -> Fields {
        var fields = plain
        fields.append(name, value)
        return fields
    }

    @Test(
        arguments: [
            "traceparent", "X-Request-Id", "x-request-id", "X-Datadog-Parent-Id", "x-b3-spanid", "X-Amzn-Trace-Id",
        ] as [FieldName])
    func `do not tell requests apart`(name: FieldName) {
        #expect(TraceFields.areSame(Self.plain(with: name, "1"), Self.plain(with: name, "2")))
        #expect(TraceFields.areSame(Self.plain, Self.plain(with: name, "2")))
    }

    @Test func `do when they are longer than a number is`() {
        let long = Self.plain(with: "X-Request-Id", String(repeating: "9", count: 60_000))
        #expect(!TraceFields.areSame(Self.plain, long))
        #expect(TraceFields.areSame(long, long))
    }

    @Test(arguments: ["${jndi:ldap://x}", "<script>", "'a", "\u{E9}"]) func `do when they are no numbers`(value: String)
    {
        #expect(!TraceFields.areSame(Self.plain, Self.plain(with: "X-Request-Id", value)))
    }

    @Test(arguments: ["Cookie", "X-Request", "User-Agent", "X-B3", "Authorization", "Range"] as [FieldName])
    func `are not all others`(name: FieldName) {
        #expect(!TraceFields.areSame(Self.plain, Self.plain(with: name, "2")))
    }
}
