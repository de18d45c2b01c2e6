// SPDX-License-Identifier: Apache-2.0

package import LarderHTTP

/// Request fields with which clients and their tools number each request, for logs and traces: origins do not answer by
/// them.
package enum TraceFields {
    /// A longer value is no number, nor is one with other characters: it may be what an origin fails of.
    private static let longestValue = 128

    private static func isOfNumbers(_ octet: UInt8) -> Bool {
        ASCII.isAlpha(octet) || ASCII.isDigit(octet) || "-_.:;,=/+@| ".utf8.contains(octet)
    }

    private static let names: Set<FieldName> = [
        "traceparent", "tracestate", "baggage", "b3", "uber-trace-id", "sentry-trace", "newrelic",
        "elastic-apm-traceparent", "X-Request-Id", "Request-Id", "X-Correlation-Id", "Correlation-Id", "X-Trace-Id",
        "X-Client-Trace-Id", "X-Amzn-Trace-Id", "X-Cloud-Trace-Context", "X-Request-Start", "X-Client-Request-Id",
        "X-MS-Client-Request-Id",
    ]
    /// Prefixes of further ones.
    private static let prefixes = ["x-b3-", "x-datadog-", "x-ot-span-"]

    /// True if two requests with these fields are the same to an origin: they differ in their numbers at most.
    package static func areSame(_ one: Fields, _ other: Fields) -> Bool {
        one == other || without(one) == without(other)
    }

    private static func without(_ fields: Fields) -> Fields {
        fields.filter { name, spelling, value in
            guard name == nil || name?.registeredCode == 0, value.count <= longestValue, value.allSatisfy(isOfNumbers)
            else { return true }
            let name = FieldName(token: spelling)
            return !names.contains(name) && !prefixes.contains { name.canonical.hasPrefix($0) }
        }
    }
}
