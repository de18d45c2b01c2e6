// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderHTTP
import Testing

@testable import LarderCLI

@Suite("Versions as people see them")
struct VersionTextTests {
    private func version(
        _ number: Int, seen: String, last: String? = nil, isCurrent: Bool = false, for selectors: [String] = [],
        type: String = "application/json", digest: String? = nil, _ more: JSONObject = [:]
    ) -> JSONValue {
        var object: JSONObject = [
            "version": .number(JSONNumber(number)), "isCurrent": .bool(isCurrent), "firstSeen": .string(seen),
            "lastSeen": .string(last ?? seen), "age": 61, "status": 200, "bytes": 2048,
            "digest": .string(digest ?? "abcdef0123456789\(number)"), "type": .string(type),
            "selectedBy": .array(selectors.map { .string($0) }), "fields": .array([.string("ETag: \"\(number)\"")]),
        ]
        for name in more.names { object[name] = more[name] }
        return .object(object)
    }

    private func answer(_ versions: [JSONValue]) -> JSONValue {
        ["url": "http://api.test/a", "history": 5, "versions": .array(versions)]
    }

    @Test func `versions are a table, which leaves out what has no room`() {
        let versions = answer([
            version(3, seen: "2026-01-03T00:00:00Z", isCurrent: true, ["eTag": "\"3\""]),
            version(2, seen: "2026-01-02T00:00:00Z", last: "2026-01-02T10:00:00Z"),
        ])
        #expect(
            VersionTable.text(versions, .plain) == """
                   first seen            last seen                   age  status   size  content       type              validator
                *  2026-01-03T00:00:00Z  2026-01-03T00:00:00Z  1 min 1 s     200  2 KiB  abcdef012345  application/json  "3"
                   2026-01-02T00:00:00Z  2026-01-02T10:00:00Z  1 min 1 s     200  2 KiB  abcdef012345  application/json  -

                """)
        #expect(
            VersionTable.text(versions, .plain, width: 80) == """
                   first seen            last seen                   age   size  content
                *  2026-01-03T00:00:00Z  2026-01-03T00:00:00Z  1 min 1 s  2 KiB  abcdef012345
                   2026-01-02T00:00:00Z  2026-01-02T10:00:00Z  1 min 1 s  2 KiB  abcdef012345

                """)
    }

    @Test func `variants say which requests they are for`() {
        let text = VersionTable.text(
            answer([version(1, seen: "2026-01-03T00:00:00Z", isCurrent: true, for: ["Accept: a/b\u{1B}"])]), .plain)
        #expect(text.hasSuffix("  Accept: a/b\\u{1b}\n"))
    }

    @Test(arguments: [
        (nil, 2), ("2026-01-05T00:00:00Z", 3), ("2026-01-03T00:00:00Z", 3), ("2026-01-02T23:59:59.5Z", 2),
        ("2026-01-03T00:59:59+01:00", 2), ("2026-01-01T00:00:00Z", 1),
    ]) func `the older version is the one before, or that of the time`(at: String?, number: Int) throws {
        let versions = answer([
            version(9, seen: "2026-01-04T00:00:00Z", for: ["Accept: b"]),
            version(3, seen: "2026-01-03T00:00:00Z", isCurrent: true, for: ["Accept: a"]),
            version(2, seen: "2026-01-02T00:00:00Z", for: ["Accept: a"]),
            version(8, seen: "2026-01-01T12:00:00Z", for: ["Accept: b"]),
            version(1, seen: "2026-01-01T00:00:00Z", for: ["Accept: a"]),
        ])
        let time = try at.map { try DiffCommand.time($0, now: Timestamp(seconds: 0)) }
        let pair = try VersionPair.choose(from: versions, at: time)
        #expect(pair.new["version"]?.int == 3)
        #expect(pair.old["version"]?.int == number)
    }

    @Test func `what cannot be compared is said`() {
        let one = answer([version(1, seen: "2026-01-03T00:00:00Z", isCurrent: true)])
        let cases: [(JSONValue, Timestamp?)] = [(answer([]), nil), (one, nil), (one, Timestamp(seconds: 0))]
        for (versions, time) in cases {
            #expect(throws: CommandFailure.self) { try VersionPair.choose(from: versions, at: time) }
        }
    }

    @Test(arguments: [("2 h", 2_800), ("1 min", 9_940), ("1970-01-01T00:00:05Z", 5)])
    func `a time is an age or an instant`(text: String, seconds: Int) throws {
        #expect(try DiffCommand.time(text, now: Timestamp(seconds: 10_000)) == Timestamp(seconds: Int64(seconds)))
    }

    @Test(arguments: ["", "2", "yesterday", "2026-01-01", "-2 h", "2 h ago", "2026-01-01T00:00:00"])
    func `a time in another form is refused`(text: String) {
        #expect(throws: CommandFailure.self) { try DiffCommand.time(text, now: Timestamp(seconds: 0)) }
    }

    private func difference(
        _ old: String, _ new: String, type: String = "application/json", raw: Bool = false, fields: Bool = false,
        _ style: TextStyle = .plain
    ) throws -> String? {
        let versions = [
            ComparedVersion(
                version(1, seen: "T1", type: type, digest: String(old.hashValue)), content: Array(old.utf8)),
            ComparedVersion(
                version(2, seen: "T2", type: type, digest: String(new.hashValue)), content: Array(new.utf8)),
        ]
        let difference = VersionDifference(versions[0], versions[1], url: "http://api.test/a", raw: raw, fields: fields)
        return try difference.text(style).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `JSON is compared by its members`() throws {
        let old = "{\"b\": [1, {}], \"a\": {\"d\": 1.0, \"c\": \"x\"}}"
        #expect(
            try difference(old, "{\"a\":{\"c\":\"y\",\"d\":1.0},\"b\":[1,{}]}") == """
                --- http://api.test/a T1
                +++ http://api.test/a T2
                @@ -1,6 +1,6 @@
                 {
                   "a": {
                -    "c": "x",
                +    "c": "y",
                     "d": 1.0
                   },
                   "b": [

                """)
        let same = "{\"a\":{\"c\":\"x\",\"d\":1.0},\n\"b\":[1,{}]}"
        #expect(try difference(old, same) == nil)
        #expect(try difference(old, same, raw: true)?.contains("+\"b\":[1,{}]}") == true)
        #expect(try difference(old, same, fields: true)?.contains("-ETag: \"1\"\n+ETag: \"2\"\n") == true)
    }

    @Test func `JSON that is nested deeply or becomes long is compared as it came`() throws {
        func nested(_ depth: Int, _ leaf: String) -> String {
            String(repeating: "[", count: depth) + leaf + String(repeating: "]", count: depth)
        }
        let level = try #require(try difference(nested(64, "1"), nested(64, "2")))
        let margin = String(repeating: " ", count: JSONLines.margin)
        #expect(level.contains("-\(margin)1\n+\(margin)2\n"))
        let deep = try #require(try difference(nested(65, "1"), nested(65, "2")))
        #expect(deep.contains("-\(nested(65, "1"))\n"))
        let wide = nested(60, String(repeating: "1,", count: 450_000) + "1")
        #expect(JSONLines.of(try JSONValue(parsing: Array(wide.utf8))) == nil)
        #expect(
            JSONLines.of([1, [:], ["b": [], "a": nil]]) == """
                [
                  1,
                  {},
                  {
                    "a": null,
                    "b": []
                  }
                ]

                """)
    }

    @Test func `text is compared by lines, and cannot control a terminal`() throws {
        let text = try difference("a\n\u{1B}[2J\tb\n", "a\nc", type: "text/plain")
        #expect(text?.contains("-\u{1B}[2J\tb\n+c\n\\ No newline at end of file\n") == true)
        let coloured = try difference("a\n\u{1B}[2J\tb\n", "a\nc", type: "text/plain", .coloured)
        #expect(coloured?.contains("-\\u{1b}[2J\tb") == true)
        #expect(coloured?.contains("\u{1B}[31m") == true)
        for environment in [["NO_COLOR": "1"], ["TERM": "dumb"]] {
            let style = Terminal.style(environment: environment, isTerminal: true)
            let shown = try difference("a\n\u{1B}[2J\tb\n", "a\nc", type: "text/plain", style)
            #expect(shown?.contains("-\\u{1b}[2J\tb") == true && shown?.contains("\u{1B}") == false)
        }
        #expect(try difference("a", "a", type: "text/plain") == nil)
    }

    @Test func `recorded requests that differ in their content alone are told apart`() {
        func entry(_ content: String) -> JSONValue {
            ["request": ["method": "POST", "url": "http://a/", "postData": ["text": .string(content)]]]
        }
        let lines = ArchiveDifference.lines([entry("one"), entry("same")], [entry("same"), entry("two")])
        #expect(
            lines == [
                "- POST http://a/ with content (3 B, 7692c3ad)", "+ POST http://a/ with content (3 B, 3fc4ccfe)",
            ])
    }

    @Test func `of other content lengths and digests are shown`() throws {
        let text = try #require(try difference("a\0", "b\0", type: "image/png"))
        #expect(text.hasPrefix("- 2 KiB, content "))
        #expect(text.hasSuffix(", first seen T2\n"))
        #expect(text.split(separator: "\n").count == 2)
    }
}
