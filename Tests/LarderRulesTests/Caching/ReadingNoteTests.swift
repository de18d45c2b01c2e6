// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("What was read with care")
struct ReadingNoteTests {
    static let now = Timestamp(seconds: 1_700_000_000)

    @Test(arguments: [
        ("max-age=60", []),
        ("max-age=60, max-age=600", ["Cache-Control max-age is there 2 times (60, then 600): the first counts"]),
        ("max-age", ["Cache-Control max-age: has no number, so the response counts as stale"]),
        ("max-age=abc", ["Cache-Control max-age: ‘abc’ is no number of seconds, so the response counts as stale"]),
        ("max-age=2147483648", []),
        (
            "max-age=2147483649",
            [
                "Cache-Control max-age=2147483649 counts as 2147483648 s, 68 years, which stands for ever"
            ]
        ),
        ("max-age=00000000000060", []),
        ("max-age = 60", ["Cache-Control max-age has blanks around its equals sign and is left out of account"]),
        (
            "stale-if-error=soon",
            ["Cache-Control stale-if-error: ‘soon’ is no number of seconds, so it counts as 0"]
        ),
        ("public, private", ["Cache-Control says both public and private: private is obeyed"]),
        ("no-store, max-age=5", ["Cache-Control no-store and a lifetime contradict each other: no-store is obeyed"]),
        ("max-age=5, s-maxage=6", ["Cache-Control s-maxage counts here, max-age is for private caches"]),
    ])
    func `what is odd in Cache-Control is said with what it counts as`(value: String, expected: [String]) {
        #expect(notes(["Cache-Control": value]) == expected)
    }

    @Test(arguments: [
        (["Expires": "0"], ["Expires ‘0’ is no date: the response counts as expired"]),
        (["Expires": "0", "Cache-Control": "max-age=5"], ["Expires has no say, as there is max-age"]),
        (["Age": "-1"], ["Age ‘-1’ is no number of seconds: it counts as 0"]),
        (["Age": "10, 20"], ["Age is there more than once: the first counts"]),
        (
            ["Age": "99999999999999999999999"],
            ["Age 99999999999999999999999 counts as 2147483648 s, 68 years: older than any lifetime"]
        ),
        (["Date": "now"], ["Date ‘now’ is no date: the time of receipt counts"]),
        (
            ["Date": HTTPDate.string(now + .seconds(60))],
            ["Date lies 60 s after the receipt: its age then counts as 0"]
        ),
        (
            ["Last-Modified": "x"],
            ["Last-Modified ‘x’ is no date: it is no validator, and no lifetime is guessed from it"]
        ),
        (["Vary": "*"], ["Vary * matches no later request"]),
        (["Vary": "a b"], ["Vary cannot be read, so no later request matches"]),
    ])
    func `so is what is odd in other fields`(fields: [String: String], expected: [String]) {
        var made = Fields()
        for (name, value) in fields { FieldName(name).map { made[$0] = value } }
        #expect(notes(made) == expected)
    }

    @Test func `a flood of directives makes few notes`() {
        let flood = (0..<10_000).map { "max-age=\($0)" }.joined(separator: ",")
        let found = notes(["Cache-Control": flood])
        #expect(found == ["Cache-Control max-age is there 10000 times (0, then 1, then 2, …): the first counts"])
    }

    @Test func `of a request, directives and Pragma are looked at`() {
        let found = ReadingNote.notes(
            onRequest: ["Cache-Control": "max-stale, max-age=x, max-age=5", "Pragma": "no-cache"])
        #expect(
            found.map(\.text) == [
                "max-age is there 2 times (x, then 5): the first counts",
                "max-age: ‘x’ is no number of seconds, so it is left out of account",
                "has no say, as there is Cache-Control",
            ])
    }

    private func notes(_ fields: Fields) -> [String] {
        ReadingNote.notes(onResponse: fields, receivedAt: ReadingNoteTests.now, policy: CachePolicy()).map {
            "\($0.field) \($0.text)"
        }
    }
}
