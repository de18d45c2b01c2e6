// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9110 §7.6 Forwarding")
struct ForwardingTests {
    typealias Case = Row<(lines: [String], purpose: HopByHop.Purpose), [String]>

    static let cases: [Case] = [
        Case(
            "nominated fields go", (["Connection: close, X-Hop", "X-Hop: 1", "X-Other: 2"], .forwardRequest),
            ["X-Other: 2"]),
        Case("in any case, on any line", (["connection: a", "CONNECTION: x-HOP", "X-Hop: 1"], .forwardRequest), []),
        Case(
            "the connection's own fields go",
            (
                [
                    "Keep-Alive: 1", "Proxy-Connection: x", "TE: trailers", "Trailer: a", "Transfer-Encoding: chunked",
                    "Upgrade: h2c", "HTTP2-Settings: x",
                ], .forwardRequest
            ), []),
        Case(
            "framing and addressing cannot be nominated",
            (["Connection: Content-Length, Host", "Content-Length: 5", "Host: a"], .forwardRequest),
            ["Content-Length: 5", "Host: a"]),
        Case(
            "nor what decides about caching",
            (
                [
                    "Connection: Authorization, Cache-Control, Cookie", "Authorization: x", "Cache-Control: y",
                    "Cookie: z",
                ], .forwardRequest
            ),
            ["Authorization: x", "Cache-Control: y", "Cookie: z"]),
        Case("credentials for us go no further", (["Proxy-Authorization: Basic x"], .forwardRequest), []),
        Case(
            "what a proxy on the way asked us stays with us",
            (["Proxy-Authenticate: Basic", "WWW-Authenticate: Basic"], .forwardResponse), ["WWW-Authenticate: Basic"]),
        Case(
            "end-to-end fields pass unchanged",
            (["x-Custom: a, b; c=\"d\"", "Accept: text/html", "Accept: */*"], .forwardRequest),
            ["x-Custom: a, b; c=\"d\"", "Accept: text/html", "Accept: */*"]),
    ]

    @Test(arguments: cases)
    func `what ends at this hop`(_ row: Case) {
        var fields = Fields(lines: row.input.lines)
        HopByHop.strip(&fields, for: row.input.purpose)
        #expect(fields == Fields(lines: row.output))
    }

    @Test func `five hundred nominated names are all heeded`() {
        let names = (0..<500).map { "x\($0)" }
        var fields = Fields(
            lines: ["Connection: close, " + names.joined(separator: ",")] + names.map { "\($0): secret" })
        HopByHop.strip(&fields, for: .forwardRequest)
        #expect(fields.isEmpty)
    }

    typealias MaxForwardsCase = Row<(method: Method, lines: [String]), MaxForwardsDecision>

    @Test(arguments: [
        MaxForwardsCase("absent", (.trace, []), .notApplicable),
        MaxForwardsCase("another method", (.get, ["Max-Forwards: 0"]), .notApplicable),
        MaxForwardsCase("zero", (.options, ["Max-Forwards: 0"]), .answer),
        MaxForwardsCase("some", (.trace, ["Max-Forwards: 10"]), .forward(9)),
        MaxForwardsCase("too many", (.trace, ["Max-Forwards: 99999999999999999999"]), .forward(255)),
        MaxForwardsCase("no number", (.trace, ["Max-Forwards: a"]), .reject),
        MaxForwardsCase("two numbers", (.trace, ["Max-Forwards: 1", "Max-Forwards: 2"]), .reject),
    ])
    func `hops are counted down`(_ row: MaxForwardsCase) {
        #expect(MaxForwards.decide(row.input.method, Fields(lines: row.input.lines)) == row.output)
    }
}

@Suite("RFC 9111 §7.1 Fields outside the key")
struct UnkeyedFieldsTests {
    @Test func `fields that override the target are not forwarded`() {
        var fields = Fields(lines: [
            "X-Forwarded-Host: evil", "x-original-url: /evil", "X-Rewrite-URL: /evil", "Forwarded: host=evil",
            "X-HTTP-Method-Override: PUT",
            "X-Host: evil", "X-Forwarded-Proto: evil", "X-Forwarded-Prefix: /evil", "Accept: a", "X-Custom: b",
        ])
        Self.drop(from: &fields)
        #expect(fields == Fields(lines: ["Accept: a", "X-Custom: b"]))
    }

    @Test(arguments: [
        "X_Forwarded_Host", "X_Original_URL", "x_http_method_override", "Proxy", "X-Forwarded-Client-Cert",
        "X-Forwarded",
        "X-Forwarded-User", "X-Original-Method", "X-SSL-Client-Cert", "Remote_User", "X-Auth-Request-Email",
        "Client-Cert",
        "Content_Length", "Transfer_Encoding", "User_Agent", "X-Forwarded_Host", "X-Middleware-Subrequest",
        "X-Now-Route-Matches", "X-Middleware-Prefetch", "X-Invoke-Status", "X-Invoke-Error", "X-Forward-Host",
        "X-Forward-Proto", "X-Forward-For", "X-Forwarder-For", "X-Override-Url", "X-Override-Host", "Base-Url",
        "X_Base_Url", "X-Accel-Redirect", "X-Accel-Mapping", "Request-Uri", "Proxy_Host", "X-Proxy-Url",
    ]) func `nor are their relatives, nor names that origins do not tell from those that were judged`(name: String) {
        var fields = Fields(lines: ["Accept: a", "\(name): evil", "X_Custom: b", "Proxy-Custom: c"])
        Self.drop(from: &fields)
        #expect(fields == Fields(lines: ["Accept: a", "X_Custom: b", "Proxy-Custom: c"]))
    }

    private static func drop(from fields: inout Fields) {
        fields.removeAll { name, spelling, _ in UnkeyedFields.drops(name, spelled: spelling) }
    }
}
