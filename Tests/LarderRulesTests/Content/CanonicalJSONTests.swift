// SPDX-License-Identifier: Apache-2.0
import LarderRules
import Testing

@Suite("Content that is part of a key")
struct CanonicalJSONTests {
    static let same: [(String, String)] = [
        (" { \"b\" : 1 ,\n\t\"a\" : [ true , false , null ] } ", "{\"a\":[true,false,null],\"b\":1}"),
        ("{}", "{}"), ("[ ]", "[]"), ("[{}]", "[{}]"), ("0", "0"), ("-0.5e+10", "-0.5e+10"), ("1.0", "1.0"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("\"\\u0041\\/\\u00e9\\n\\u001f\"", "\"A/é\\n\\u001f\""),
        ("\"\\ud83d\\ude00\"", "\"😀\""), ("\"\\\"\\\\\"", "\"\\\"\\\\\""),
        ("{\"a\":{\"d\":1,\"c\":{\"z\":2,\"y\":3}},\"A\":4}", "{\"A\":4,\"a\":{\"c\":{\"y\":3,\"z\":2},\"d\":1}}"),
        ("{\"\":1,\"aa\":2,\"a\":3}", "{\"\":1,\"a\":3,\"aa\":2}"),
    ]

    @Test(arguments: same) func `JSON is written in one way`(text: String, canonical: String) {
        #expect(CanonicalJSON(Array(text.utf8)).map { String(decoding: $0.octets, as: UTF8.self) } == canonical)
        #expect(CanonicalJSON(Array(canonical.utf8))?.octets == Array(canonical.utf8))
    }

    @Test func `members of the outermost object can be left out`() {
        let omitted: Set<[UInt8]> = [Array("user".utf8), Array("metadata".utf8)]
        func read(_ text: String) -> [UInt8]? { CanonicalJSON(Array(text.utf8), leavingOut: omitted)?.octets }
        #expect(read(#"{"user":"a","b":{"user":1},"metadata":{"x":[1]}}"#) == Array(#"{"b":{"user":1}}"#.utf8))
        #expect(read(#"{"us\u0065r":"a","b":1}"#) == read(#"{"b":1}"#))
        #expect(read(#"{"user":1,"user":2}"#) == nil)
        #expect(read(#"[{"user":1}]"#) == Array(#"[{"user":1}]"#.utf8))
    }

    static let refused = [
        "", " ", "{", "}", "[1,]", "{\"a\":1,}", "{\"a\" 1}", "{a:1}", "tru", "nul", "01", "-", "1.", ".5", "1e", "+1",
        "\"", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"\n\"", "1 2", "[1",
        "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "\u{FEFF}1", "'a'", "NaN", "[1 2]",
    ]

    @Test(arguments: refused) func `what is malformed or ambiguous has no canonical form`(text: String) {
        #expect(CanonicalJSON(Array(text.utf8)) == nil)
    }

    @Test func `octets that are no text have no canonical form`() {
        #expect(CanonicalJSON([0x22, 0xFF, 0x22]) == nil)
        #expect(CanonicalJSON([0x22, 0xC3, 0x22]) == nil)
    }

    @Test func `there is a limit to how deep it may be`() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(CanonicalJSON(nested(CanonicalJSON.depthLimit))?.octets == nested(CanonicalJSON.depthLimit))
        #expect(CanonicalJSON(nested(CanonicalJSON.depthLimit + 1)) == nil)
        #expect(CanonicalJSON(Array(repeating: UInt8(ascii: "["), count: 1 << 20)) == nil)
    }

    @Test func `a text that is cut anywhere is refused, and nothing worse`() {
        let text = Array(" {\"q\\u00e9\": [1.5e3, \"\\ud83d\\ude00\", {\"a\": null}], \"b\": false}".utf8)
        #expect(CanonicalJSON(text) != nil)
        for end in text.indices { #expect(CanonicalJSON(Array(text[..<end])) == nil, "\(end)") }
    }

    static let documents: [(String, [String])] = [
        ("{\"query\":\"{ a }\",\"variables\":{\"query\":\"x\"}}", ["{ a }"]),
        ("[{\"query\":\"a\"},{\"query\":\"b\"},{\"other\":\"c\"}]", ["a", "b"]),
        ("{\"a\":{\"query\":\"x\"},\"query\":1}", []), ("[[{\"query\":\"x\"}]]", ["x"]),
        ("{\"\\u0071uery\":\"m\\u0075\"}", ["mu"]),
    ]

    @Test(arguments: documents) func `the documents of a GraphQL request are found`(text: String, found: [String]) {
        let documents = CanonicalJSON(Array(text.utf8))?.documents.map { String(decoding: $0, as: UTF8.self) }
        #expect(documents == found)
    }

    @Test(arguments: [
        ("{\"query\":\"{a}\",\"operationName\":\"A\",\"extensions\":{}}", false),
        ("{\"operationName\":\"A\",\"variables\":{}}", true), ("{\"extensions\":{\"persistedQuery\":{}}}", true),
        ("{\"id\":\"x\",\"variables\":{}}", true), ("{\"id\":1}", false), ("{\"documentId\":1}", true),
        ("{\"doc_id\":1}", true), ("{\"Query\":\"mutation{a}\"}", true), ("[{\"a\":1},{\"queryId\":1}]", true),
        ("[[{\"operationName\":\"A\"}]]", true), ("{\"query\":{\"match\":{\"id\":1}}}", false),
        ("{\"prompt\":{\"id\":1,\"variables\":{}}}", false), ("{\"query\":{},\"mutation\":\"m\"}", true),
    ]) func `an operation of GraphQL that is only named is noticed`(text: String, isNoticed: Bool) {
        #expect(CanonicalJSON(Array(text.utf8))?.asksForUnknown == isNoticed)
    }

    static let reading = [
        "", "{ user { id } }", "query { a }", "query A($x: [Int!] = [1]) { b(mutation: $x) { mutation } }",
        "# mutation\nquery { a }", "query { a(text: \"mutation { }\") }",
        "query { a(text: \"\"\"x \\\"\"\" } mutation { \"\"\") }", "fragment F on mutations { a } { ...F }",
        "query { a(text: \"\\\" } mutation\") }",
    ]

    @Test(arguments: reading) func `a GraphQL document with queries alone only reads`(text: String) {
        #expect(!GraphQLDocument.mayChange(Array(text.utf8)))
    }

    static let changing = [
        "mutation { a }", "mutation{a}", "query A { a } mutation B { b }", "subscription { a }",
        "#x\n,mutation A { a }",
        "\"\"\"doc\"\"\" mutation { a }", "{ a", "}{", "{ a(x: \"no end) }", "{ a(x: \"\"\"no end\") }",
        "{ a(x: \"\n\") } mutation { b }", "{ a } }mutation { b }",
    ]

    @Test(arguments: changing) func `a GraphQL document that may do more does not`(text: String) {
        #expect(GraphQLDocument.mayChange(Array(text.utf8)))
    }
}
