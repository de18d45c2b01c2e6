// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("Accepted media types")
struct AcceptedTypeTests {
    @Test(
        arguments: [
            (nil, nil), ("", nil), ("*/*", nil), ("text/*", nil), ("image/png", nil),
            ("text/html", .html), ("TEXT/HTML ; level=1", .html), ("application/json", .json),
            ("application/vnd.api+json", .json), ("text/plain", .text),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", .html),
            ("application/json, text/html;q=0.5", .json), ("text/html;q=0.5, application/problem+json;q=0.6", .problem),
            ("text/plain, application/problem+json", .problem),
            ("text/html;q=0.5, application/json;q=0.6, text/html", .html),
            ("text/plain, application/json", .json), ("text/plain, application/json;q=0", .text),
            ("text/html;q=0", nil), ("text/html;q=2", nil), ("text/html;q=x, text/plain;q=0.001", .text),
            ("text/html-sandboxed, application/jsonp", nil), (",;,text/plain;;q=1", .text),
        ] as [(String?, AcceptedType?)])
    func `the one with the most weight is meant`(_ accept: String?, _ type: AcceptedType?) {
        var fields = Fields()
        fields[.accept] = accept
        #expect(AcceptedType.preferred(by: fields, inOrder: [.html, .problem, .json, .text]) == type)
    }

    @Test func `problems are accepted beside what is wanted`() {
        let fields: Fields = ["Accept": "text/plain, application/problem+json"]
        #expect(AcceptedType.preferred(by: fields, inOrder: [.json, .text]) == .text)
    }

    @Test func `Prometheus gets what it asks for`() {
        var fields = Fields()
        fields[.accept] =
            "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
            + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
        #expect(AcceptedType.preferred(by: fields, inOrder: [.openMetrics, .text]) == .openMetrics)
        fields[.accept] = "text/plain;version=0.0.4, application/openmetrics-text;q=0.5"
        #expect(AcceptedType.preferred(by: fields, inOrder: [.openMetrics, .text]) == .text)
    }
}
