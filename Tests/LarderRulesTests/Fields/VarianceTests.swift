// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9111 §4.1 Vary")
struct VarianceTests {
    struct Input: Sendable {
        var vary: [String]
        var first: [String]
        var second: [String]

        init(_ vary: String..., first: [String], second: [String]) {
            self.vary = vary
            self.first = first
            self.second = second
        }
    }

    typealias Case = Row<Input, Bool>

    static let cases: [Case] = [
        Case("same", .init("Foo", first: ["Foo: 1"], second: ["Foo: 1"]), true),
        Case("differs", .init("Foo", first: ["Foo: 1"], second: ["Foo: 2"]), false),
        Case("case counts in unknown fields", .init("Foo", first: ["Foo: a"], second: ["Foo: A"]), false),
        Case("names have no case", .init("FOO", first: ["foo: 1"], second: ["Foo: 2"]), false),
        Case("missing later", .init("Foo", first: ["Foo: 1"], second: []), false),
        Case("missing first", .init("Foo", first: [], second: ["Foo: 1"]), false),
        Case("missing twice", .init("Foo", first: [], second: []), true),
        Case("empty is not absent", .init("Foo", first: [], second: ["Foo:"]), false),
        Case("absent is not empty", .init("Foo", first: ["Foo:"], second: []), false),
        Case("other fields do not matter", .init("Foo", first: ["Bar: 1"], second: ["Bar: 2"]), true),
        Case(
            "one of two differs", .init("Foo, Bar", first: ["Foo: 1", "Bar: 1"], second: ["Foo: 1", "Bar: 2"]), false),
        Case(
            "named on two lines", .init("Foo", "Bar", first: ["Foo: 1", "Bar: 1"], second: ["Foo: 1", "Bar: 2"]), false),
        Case("a star", .init("*", first: [], second: []), false),
        Case("a star behind nothing", .init(", *", first: [], second: []), false),
        Case("a star among names", .init("Foo, *", first: ["Foo: 1"], second: ["Foo: 1"]), false),
        Case("no name", .init("Foo Bar", first: [], second: []), false),
        Case("nothing named", .init("", first: ["Foo: 1"], second: []), true),
        Case("two lines are one value", .init("Foo", first: ["Foo: 1, 2"], second: ["Foo: 1", "Foo: 2"]), true),
        Case("two lines in another order", .init("Foo", first: ["Foo: 1, 2"], second: ["Foo: 2", "Foo: 1"]), false),
        Case("a second line", .init("Foo", first: ["Foo: 1"], second: ["Foo: 1", "Foo: 2"]), false),
        Case(
            "language tags have no case",
            .init("Accept-Language", first: ["Accept-Language: en, de"], second: ["Accept-Language: eN,De"]), true),
        Case(
            "but an order",
            .init("Accept-Language", first: ["Accept-Language: en, de"], second: ["Accept-Language: de, en"]), false),
        Case(
            "unless weights order them",
            .init(
                "Accept-Language", first: ["Accept-Language: en, de;q=0.5"],
                second: ["Accept-Language: de; q=0.50,en;q=1.0"]), true),
        Case(
            "weights count",
            .init("Accept-Encoding", first: ["Accept-Encoding: gzip;q=0.5"], second: ["Accept-Encoding: gzip;q=0.4"]),
            false),
        Case(
            "a refusal is none",
            .init("Accept-Encoding", first: ["Accept-Encoding: gzip"], second: ["Accept-Encoding: gzip;q=0"]), false),
        Case(
            "what is no weight is left alone",
            .init("Accept-Encoding", first: ["Accept-Encoding: gzip;q=2"], second: ["Accept-Encoding: GZIP;q=2"]), false
        ),
        Case(
            "a blank inside a token is no blank",
            .init("Accept-Encoding", first: ["Accept-Encoding: gz ip"], second: ["Accept-Encoding: gzip"]), false),
        Case("media types are left alone", .init("Accept", first: ["Accept: a/b"], second: ["Accept: A/b"]), false),
    ]

    @Test(arguments: cases)
    func `a second request selects the response to the first`(_ row: Case) {
        let response = Fields(lines: row.input.vary.map { "Vary: " + $0 })
        let variance = Variance(vary: response, request: Fields(lines: row.input.first))
        #expect(variance.matches(Fields(lines: row.input.second)) == row.output)
        // Matching and equality are two ways to say the same.
        let other = Variance(vary: response, request: Fields(lines: row.input.second))
        #expect((variance == other) == row.output || variance.matchesNothing)
        let fields = Variance.selectingFields([variance, other])
        let (first, second) = (Fields(lines: row.input.first), Fields(lines: row.input.second))
        #expect(
            fields.allSatisfy { Variance.isSame($0, in: first, and: second) } == row.output || variance.matchesNothing)
    }

    @Test func `the fields of several responses are those of each, once`() {
        let request = Fields(lines: ["A: 1", "B: 2"])
        let variances = ["Vary: A", "Vary: B, A", "X: y", "Vary: Accept-Encoding"].map {
            Variance(vary: Fields(lines: [$0]), request: request)
        }
        #expect(Variance.selectingFields(variances) == ["A", "B", .acceptEncoding])
        #expect(Variance.selectingFields(variances.map { $0.spanningCodings(true) }) == ["A", "B"])
    }

    @Test func `long values are the same if their octets are, on one line`() {
        let long = Fields(lines: ["A: " + String(repeating: "x", count: 2_000)])
        let lines = Fields(lines: ["A: " + String(repeating: "x", count: 2_000), "A: y"])
        #expect(Variance.isSame("A", in: long, and: long))
        #expect(Variance.isSame("B", in: long, and: lines))
        #expect(!Variance.isSame("A", in: long, and: lines))
        for place in [0, 1_003, 1_999] {
            var other = Array(repeating: Character("x"), count: 2_000)
            other[place] = "y"
            #expect(!Variance.isSame("A", in: long, and: Fields(lines: ["A: " + String(other)])))
        }
        let tooLong = Fields(lines: ["A: " + String(repeating: "x", count: 9_000)])
        #expect(!Variance.isSame("A", in: tooLong, and: tooLong))
        #expect(!Variance.isSame("A", in: lines, and: lines))
    }

    @Test func `a response without Vary answers every request`() {
        let variance = Variance(vary: Fields(), request: Fields(lines: ["Foo: 1"]))
        #expect(variance.isEmpty && variance.matches(Fields()))
    }

    @Test func `the order of the names does not matter`() {
        let request = Fields(lines: ["A: 1", "B: 2"])
        #expect(
            Variance(vary: Fields(lines: ["Vary: A, b, a"]), request: request)
                == Variance(vary: Fields(lines: ["Vary: B", "Vary: A"]), request: request))
    }
}
