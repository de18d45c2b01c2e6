// SPDX-License-Identifier: Apache-2.0
import Larder
import Testing

@Suite("Navigation from URL to URL")
struct NavigationTests {
    private let receiver = ResourceURL("https://zingle.frotz/v1/a/b")

    @Test(arguments: [
        ("", "/v1/a/b/"), ("c", "/v1/a/b/c"), ("/", "/v1/a/b/"), ("/c", "/v1/a/b/c"), ("./c", "/v1/a/b/./c"),
        ("./c/./d", "/v1/a/b/./c/./d"), ("../c", "/v1/a/b/../c"), ("//other.host/c", "/v1/a/b//other.host/c"),
        ("ftp://other.host/c", "/v1/a/b/ftp://other.host/c"), ("?foo", "/v1/a/b/%3Ffoo"),
        (" •⇶", "/v1/a/b/%20%E2%80%A2%E2%87%B6"), ("a[b]#c", "/v1/a/b/a%5Bb%5D%23c"), ("%3f", "/v1/a/b/%253f"),
    ])
    func `NV-01 child is always a subpath`(_ path: String, _ expected: String) {
        #expect(receiver.child(path).string == "https://zingle.frotz" + expected)
    }

    @Test func `NV-01 child keeps the query of its parent`() {
        #expect(ResourceURL("https://h/a?x=y").child("b").string == "https://h/a/b?x=y")
    }

    @Test(arguments: [
        ("c", "https://zingle.frotz/v1/a/c"), ("./c", "https://zingle.frotz/v1/a/c"),
        ("././c", "https://zingle.frotz/v1/a/c"), ("./c/./d", "https://zingle.frotz/v1/a/c/d"),
        ("../c", "https://zingle.frotz/v1/c"), ("../../c", "https://zingle.frotz/c"),
        ("../../../c", "https://zingle.frotz/c"), ("../c/../d", "https://zingle.frotz/v1/d"),
        ("/c", "https://zingle.frotz/c"), ("//other.host/c", "https://other.host/c"),
        ("ftp://other.host/c", "ftp://other.host/c"), ("http://other.host", "http://other.host/"),
        ("?foo=1", "https://zingle.frotz/v1/a/b?foo=1"),
        ("c?foo=1&bar=2", "https://zingle.frotz/v1/a/c?foo=1&bar=2"), ("c#d", "https://zingle.frotz/v1/a/c"),
        ("é x", "https://zingle.frotz/v1/a/%C3%A9%20x"), (".", "https://zingle.frotz/v1/a/"),
    ])
    func `NV-02 relative is what a link means`(_ reference: String, _ expected: String) {
        #expect(receiver.relative(reference).string == expected)
    }

    @Test(arguments: [
        ("?baz=fez", "https://zingle.frotz/v1/a/b?baz=fez"), ("./c", "https://zingle.frotz/v1/a/c"),
        ("?baz=fez&baz=fuzz", "https://zingle.frotz/v1/a/b?baz=fez&baz=fuzz"),
        ("", "https://zingle.frotz/v1/a/b?foo=bar"),
    ])
    func `NV-02 relative replaces or drops the query`(_ reference: String, _ expected: String) {
        #expect(ResourceURL("https://zingle.frotz/v1/a/b?foo=bar").relative(reference).string == expected)
    }

    @Test func `NV-03 optionalRelative passes nil on`() {
        #expect(receiver.optionalRelative(nil) == nil)
        #expect(receiver.optionalRelative("c") == receiver.relative("c"))
    }

    @Test func `NV-02 steps lead back to the same URL`() {
        let base = ResourceURL("https://zingle.frotz/v1/")
        #expect(base.child("foo").child("oogle").child("baz").relative("../bar") == base.child("foo/bar"))
    }

    static let pair = ResourceURL("https://zingle.frotz/r?foo=bar&zoogle=oogle")

    @Test(arguments: [
        ("plop", "blop", "foo=bar&plop=blop&zoogle=oogle"), ("zoogle", "zonk", "foo=bar&zoogle=zonk"),
        ("foo", "", "foo&zoogle=oogle"), ("foo", nil, "zoogle=oogle"),
    ])
    func `NV-04 withParam sets empties and removes`(_ name: String, _ value: String?, _ expected: String) {
        #expect(Self.pair.withParam(name, value).string == "https://zingle.frotz/r?" + expected)
    }

    @Test func `NV-04 withParam escapes and adds a query where there was none`() {
        let plain = ResourceURL("https://zingle.frotz/r")
        #expect(plain.withParam("foo", "bar").string == "https://zingle.frotz/r?foo=bar")
        #expect(plain.withParam("fo=o", "ba r+baz").string == "https://zingle.frotz/r?fo%3Do=ba%20r%2Bbaz")
        #expect(Self.pair.withParam("foo", nil).withParam("zoogle", nil).string == "https://zingle.frotz/r")
        #expect(Self.pair.withParam("foo", "").withParam("zoogle", "").string == "https://zingle.frotz/r?foo&zoogle")
    }

    @Test func `NV-05 withParams sets several at once`() {
        #expect(
            Self.pair.withParams(["dogcow": "moof", "frogbear": "grribbit"]).string
                == "https://zingle.frotz/r?dogcow=moof&foo=bar&frogbear=grribbit&zoogle=oogle")
        #expect(Self.pair.withParams(["foo": "oof", "zoogle": nil]).string == "https://zingle.frotz/r?foo=oof")
        #expect(Self.pair.withParams([:]) == Self.pair)
    }

    @Test func `B-32 repeated keys empty values and plus signs of others survive`() {
        let url = ResourceURL("https://h/?q=a+b&a=1&a=2&e=")
        #expect(url.withParam("x", "1").string == "https://h/?a=1&a=2&e=&q=a+b&x=1")
        #expect(url.withParam("a", values: ["3", "", "4"]).string == "https://h/?a=3&a&a=4&e=&q=a+b")
    }

    @Test func `PT-06 internationalised hosts have one spelling`() {
        #expect(ResourceURL("https://BÜCHER.example/").string == "https://xn--bcher-kva.example/")
        #expect(ResourceURL("https://例え.テスト/").string == "https://xn--r8jz45g.xn--zckzah/")
        #expect(!ResourceURL("https://a\u{200D}b.example/").isValid)
    }

    @Test(arguments: [
        "http://[URL syntax error]", "\0", "./foo", "", "mailto:a@b", "https://u:p@h/", "https://h:99999/",
    ])
    func `SV-05 invalid text is kept and navigable but no target`(_ text: String) {
        let url = ResourceURL(text)
        #expect(!url.isValid)
        #expect(url.string == text)
        #expect(!url.child("x").isValid)
        #expect(!url.relative("x").isValid)
        #expect(!url.withParam("a", "b").isValid)
    }
}
