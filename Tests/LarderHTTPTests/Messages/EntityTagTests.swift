// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("RFC 9110 §8.8.3 Entity tags")
struct EntityTagTests {
    static let pairs: [(String, String, weak: Bool, strong: Bool)] = [
        ("W/\"1\"", "W/\"1\"", true, false),
        ("W/\"1\"", "W/\"2\"", false, false),
        ("W/\"1\"", "\"1\"", true, false),
        ("\"1\"", "\"1\"", true, true),
        ("\"a\\\"", "\"a\\\"", true, true),
        ("\"A\"", "\"a\"", false, false),
        ("\"\"", "\"\"", true, true),
        ("abc", "abc", true, true),
        ("abc", "\"abc\"", false, false),
        ("w/\"1\"", "W/\"1\"", false, false),
        ("w/\"1\"", "w/\"1\"", true, false),
        ("W/1", "1", false, false),
        ("W/1", "W/1", true, false),
        ("\"a b\"", "\"a b\"", true, true),
    ]

    @Test(arguments: pairs)
    func `tags are compared weakly and strongly, malformed ones as they are`(
        _ a: String, _ b: String, _ weak: Bool, _ strong: Bool
    ) {
        for (left, right) in [(EntityTag(a), EntityTag(b)), (EntityTag(b), EntityTag(a))] {
            #expect(left.weaklyMatches(right) == weak)
            #expect(left.stronglyMatches(right) == strong)
        }
    }

    @Test(arguments: [("\"a\"", true), ("W/\"a\"", true), ("\"\"", true), ("\"a\\\"", true), ("\"a b\"", false)])
    func `a tag knows whether it has the grammar of one`(_ text: String, _ isWellFormed: Bool) {
        #expect(EntityTag(text).isWellFormed == isWellFormed)
        #expect(EntityTag(text).description == text)
    }

    @Test(arguments: ["", "a", "\"", "\"a", "a\"", "\"a\"b", "w/\"a\"", "W/", "W/\"", "'a'"])
    func `what lacks quotes is malformed`(_ text: String) {
        #expect(!EntityTag(text).isWellFormed)
    }

    static let lists: [(Fields, EntityTagList?)] = [
        (["If-None-Match": "*"], .any),
        (["If-None-Match": " * "], .any),
        (["If-None-Match": "\"a\""], .tags([EntityTag("\"a\"")])),
        (
            ["If-None-Match": "\"a,b\" , W/\"c\\\",,\"d\""],
            .tags([EntityTag("\"a,b\""), EntityTag("W/\"c\\\""), EntityTag("\"d\"")])
        ),
        (
            ["If-None-Match": "\"a\"", "if-none-match": "b c, \"d"],
            .tags([EntityTag("\"a\""), EntityTag("b c"), EntityTag("\"d")])
        ),
        (["If-None-Match": "\"a\"b, c"], .tags([EntityTag("\"a\"b"), EntityTag("c")])),
        (["If-None-Match": "*, \"a\""], .tags([EntityTag("*"), EntityTag("\"a\"")])),
        (["If-None-Match": ""], .tags([])),
        (["If-Match": "\"a\""], nil),
    ]

    @Test(arguments: lists)
    func `lists of tags are split at commas outside tags`(_ fields: Fields, _ expected: EntityTagList?) {
        #expect(EntityTagList(.ifNoneMatch, in: fields) == expected)
    }

    @Test func `the tag of a response is its first ETag`() {
        #expect((["ETag": "\"a\"", "ETag": "\"b\""] as Fields).entityTag == EntityTag("\"a\""))
        #expect(([:] as Fields).entityTag == nil)
    }
}
