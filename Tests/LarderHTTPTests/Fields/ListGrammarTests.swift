// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("RFC 9110 §5.6 Common syntax")
struct ListGrammarTests {
    private func elements(_ text: String) -> (elements: [String], isWellFormed: Bool) {
        var elements: [String] = []
        let isWellFormed = latin1(text).withUnsafeBytes {
            ListGrammar.forEachElement($0) { elements.append(String(latin1: Array($0))) }
        }
        return (elements, isWellFormed)
    }

    @Test(arguments: [
        ("", []), (",", []), (" , ,\t", []), ("a", ["a"]), (" a , b ", ["a", "b"]), (",a,,b,", ["a", "b"]),
        ("\"a,b\", c", ["\"a,b\"", "c"]), ("x=\"a\\\",b\";q=1,y", ["x=\"a\\\",b\";q=1", "y"]), ("a b,c", ["a b", "c"]),
        ("\"\"", ["\"\""]),
    ])
    func `a list is split at commas outside quotes`(_ text: String, _ expected: [String]) {
        let (found, isWellFormed) = elements(text)
        #expect(found == expected)
        #expect(isWellFormed)
    }

    @Test(arguments: ["a, \"b", "a, b\"c", "a, \"b\\", "a, \"b\\\"", "a, \"\u{1}\""])
    func `a quoted string that does not end makes a list malformed`(_ text: String) {
        let (found, isWellFormed) = elements(text)
        #expect(found == ["a"])
        #expect(!isWellFormed)
    }

    @Test func `lists go on over several lines`() {
        let fields: Fields = ["Vary": "a, b", "X": "no", "vary": "c"]
        var found: [String] = []
        #expect(fields.forEachElement(of: .vary) { found.append(String(latin1: Array($0))) })
        #expect(found == ["a", "b", "c"])
    }

    @Test func `a malformed line ends the reading of lists`() {
        let fields: Fields = ["Vary": "a", "Vary": "b, \"", "Vary": "c"]
        var found: [String] = []
        #expect(!fields.forEachElement(of: .vary) { found.append(String(latin1: Array($0))) })
        #expect(found == ["a", "b"])
    }

    @Test(arguments: [
        ("\"\"", ""), ("\"a\"", "a"), ("\"a b\tc\"", "a b\tc"), ("\"\\\"\\\\\\a\"", "\"\\a"), ("\"\u{e9}\"", "\u{e9}"),
    ])
    func `a quoted string is read without its escapes`(_ text: String, _ expected: String) {
        #expect(latin1(text).withUnsafeBytes { QuotedString.unquoted($0) }.map { String(latin1: $0) } == expected)
        var written: [UInt8] = []
        #expect(QuotedString.append(latin1(expected), to: &written) != nil)
        #expect(written.withUnsafeBytes { QuotedString.unquoted($0) } == latin1(expected))
    }

    @Test(arguments: ["", "\"", "a", "\"a", "a\"", "\"a\"b", "\"\\\"", "\"\u{0}\"", "\"\\\u{7f}\"", "\"a\n\""])
    func `what is not a quoted string has no text`(_ text: String) {
        #expect(latin1(text).withUnsafeBytes { QuotedString.unquoted($0) } == nil)
    }

    @Test func `what cannot be quoted is not`() {
        var output: [UInt8] = [1]
        #expect(QuotedString.append(latin1("a\r\nb"), to: &output) == nil)
        #expect(output == [1])
    }
}

@Suite("RFC 9110 §8.3 Media types")
struct MediaTypeTests {
    @Test(
        arguments: [
            ("text/html", "text/html", [:]),
            ("Text/HTML;Charset=\"utf-8\"", "text/html", ["charset": "utf-8"]),
            ("text/html; charset=UTF-8", "text/html", ["charset": "UTF-8"]),
            ("text/html ; a=b ;; c=\"d;\\\"e\" ; ", "text/html", ["a": "b", "c": "d;\"e"]),
            ("application/vnd.github+json", "application/vnd.github+json", [:]),
            ("text/html;", "text/html", [:]),
        ] as [(String, String, [String: String])])
    func `a media type is read with its parameters`(_ text: String, _ essence: String, _ parameters: [String: String]) {
        let type = MediaType(text)
        #expect(type?.essence == essence)
        #expect(
            type.map { Dictionary($0.parameters.all.map { ($0.name, $0.value) }) { first, _ in first } } == parameters)
        #expect(type.flatMap { MediaType($0.description) } == type)
    }

    @Test(arguments: [
        "", "text", "text/", "/html", "text/html/x", "text /html", "text/ html", "text/html x", "text/html,text/plain",
        "text/html;a", "text/html;a=", "text/html;=b", "text/html;a =b", "text/html;a= b", "text/html;a=\"b",
        "text/html;a=\"b\"c", "text/html;a=b c", "te\u{e9}t/html",
    ])
    func `anything else is no media type`(_ text: String) {
        #expect(MediaType(text) == nil)
    }

    @Test(arguments: [
        ("text/html; charset", nil), ("text/html; a; charset=utf-8", "utf-8"), ("text/html;a=\"b;c\"d;charset=x", "x"),
        ("text/html; a=\"b; charset=y", "y"), ("text/html; charset=", nil), ("text/html;charset=utf-8 x ;", "utf-8 x"),
        ("text/html;charset=utf-8//x", "utf-8//x"),
    ])
    func `malformed parameters are read as far as they can be`(_ text: String, _ charset: String?) {
        #expect(MediaType(text) == nil)
        #expect(MediaType(lenient: text)?.essence == "text/html")
        #expect(MediaType(lenient: text)?.parameters["charset"] == charset)
        #expect(MediaType(lenient: "html; charset=utf-8") == nil)
    }

    @Test func `of repeated parameters the first counts`() {
        #expect(MediaType("a/b;c=1;C=2")?.parameters["c"] == "1")
    }
}
