// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderHTTP

@Suite("Field names")
struct FieldNameTests {
    @Test func `every registered name is found in any case and by its own code`() {
        for code in 1..<FieldName.registered.count {
            let spelling = FieldName.registered[code]
            for text in [spelling, spelling.lowercased(), spelling.uppercased()] {
                #expect(FieldName(text)?.code == UInt8(code), "\(text)")
            }
            #expect(FieldName(spelling)?.spelling == spelling)
            #expect(FieldName(spelling)?.canonical == spelling.lowercased())
        }
    }

    @Test func `names that are nearly registered are others`() {
        for spelling in FieldName.registered.dropFirst() {
            var octets = Array(spelling.utf8)
            for position in octets.indices {
                let kept = octets[position]
                for other in [UInt8(ascii: "~"), kept ^ 1, kept ^ 0x10, kept &+ 0x20]
                where Token.isTokenCharacter(other) {
                    octets[position] = other
                    let name = octets.withUnsafeBytes { FieldName(bytes: $0) }
                    let text = String(decoding: octets, as: UTF8.self).lowercased()
                    let registered = FieldName.registered.firstIndex { $0.lowercased() == text } ?? 0
                    #expect(name?.code == UInt8(registered), "\(text)")
                }
                octets[position] = kept
            }
            #expect(FieldName(spelling + "x")?.code == 0)
            #expect(FieldName("x" + spelling)?.code == 0 || spelling.isEmpty)
        }
    }

    @Test func `accessors name what they say`() {
        #expect(FieldName.accept.spelling == "Accept")
        #expect(FieldName.host.spelling == "Host")
        #expect(FieldName.vary.spelling == "Vary")
        #expect(FieldName.larderToken.spelling == "Larder-Token")
        #expect(FieldName.authenticationInfo.spelling == "Authentication-Info")
        #expect(FieldName.eTag == "etag")
    }

    @Test(arguments: ["", " ", "a b", "a:", "\u{e9}", "a\r", "(a)"])
    func `what is not a token is no name`(_ text: String) {
        #expect(FieldName(text) == nil)
    }

    @Test func `tchars are those of the grammar`() {
        let tchars = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        for octet in UInt8.min...UInt8.max { #expect(Token.isTokenCharacter(octet) == tchars.contains(octet)) }
    }

    @Test func `methods are compared by their token, with case`() {
        #expect(Method("GET") == .get)
        #expect(Method("get") != .get)
        #expect(Method("REPORT")?.isSafe == true)
        #expect(Method("PUT")?.isIdempotent == true && Method("PUT")?.isSafe == false)
        #expect(Method("BREW") == Method("BREW"))
        #expect(Method("BREW") != Method("BREWS"))
        #expect(Method("BREW")?.isIdempotent == false)
        #expect(Method("B W") == nil)
        let all: Set<LarderHTTP.Method> = [
            .get, .head, .options, .trace, .put, .delete, .post, .patch, .connect, .query,
        ]
        #expect(all.count == 10)
    }
}

@Suite("Fields")
struct FieldsTests {
    @Test func `lines are read by name without case, in order`() {
        let fields: Fields = ["A": "1", "Cookie": "x", "a": "2", "B": ""]
        #expect(fields.count == 4)
        #expect(fields["A"] == "1, 2")
        #expect(fields[first: "a"] == "1")
        #expect(fields[all: "a"] == ["1", "2"])
        #expect(fields["b"] == "")
        #expect(fields["c"] == nil)
        #expect(fields.count(of: "a") == 2)
        #expect(fields.contains(.cookie))
    }

    @Test func `setting replaces all lines and nil removes them`() {
        var fields: Fields = ["A": "1", "B": "2", "A": "3"]
        fields["a"] = "4"
        #expect(fields == ["B": "2", "A": "4"])
        fields["b"] = nil
        #expect(fields == ["A": "4"])
        fields.removeAll { name, spelling, value in name == nil && spelling.count == 1 && value.count == 1 }
        #expect(fields.isEmpty)
    }

    @Test func `octets beyond ASCII are kept`() {
        var fields: Fields = ["X": "\u{e9}\u{ff}"]
        #expect(fields["x"] == "\u{e9}\u{ff}")
        #expect(fields.withFirst("x") { Array($0) } == [0xE9, 0xFF])
        fields["x"] = "\u{20ac}"
        #expect(fields.withFirst("x") { Array($0) } == [0xE2, 0x82, 0xAC])
    }

    @Test func `secrets are not described`() {
        let fields: Fields = ["Authorization": "Basic abc", "Cookie": "k", "Accept": "*/*"]
        #expect(fields.description == "Authorization: [redacted]\nCookie: [redacted]\nAccept: */*")
    }

    @Test func `equality knows order and values but not the case of names`() {
        #expect(["A": "1", "B": "2"] as Fields == ["a": "1", "b": "2"])
        #expect(["A": "1", "B": "2"] as Fields != ["B": "2", "A": "1"])
        #expect(["A": "1"] as Fields != ["A": "1", "A": "1"])
        #expect(["A": "x"] as Fields != ["A": "X"])
    }
}

@Suite("RFC 9110 §7.6.1 Connection")
struct ConnectionOptionsTests {
    @Test func `options are collected over all lines`() {
        let options = ConnectionOptions(["Connection": "Keep-Alive, X-Foo", "connection": "upgrade, ,te"])
        #expect(!options.hasClose && options.hasKeepAlive && options.hasUpgrade && !options.isMalformed)
        #expect(options.nominated == ["X-Foo", .upgrade, .te])
        #expect(ConnectionOptions(["Connection": "CLOSE"]).hasClose)
    }

    static let persistence: [(HTTPVersion, Fields, Bool, Bool)] = [
        (.http11, [:], true, true),
        (.http11, ["Connection": "close"], false, false),
        (.http11, ["Connection": "keep-alive, close"], false, false),
        (.http10, [:], false, false),
        (.http10, ["Connection": "keep-alive"], false, true),
        (.http11, ["Connection": "a b"], false, false),
        (.http11, ["Connection": "\"a"], false, false),
        (.http11, ["Connection": "x"], true, true),
    ]

    @Test(arguments: persistence)
    func `whether a connection persists depends on version and options`(
        _ version: HTTPVersion, _ fields: Fields, _ fromClient: Bool, _ fromOrigin: Bool
    ) {
        let options = ConnectionOptions(fields)
        #expect(options.persists(version, honoursKeepAlive: false) == fromClient)
        #expect(options.persists(version, honoursKeepAlive: true) == fromOrigin)
    }

    @Test func `names are bounded`() {
        let names = (0..<33).map { "x\($0)" }.joined(separator: ",")
        let options = ConnectionOptions(["Connection": names])
        #expect(options.isMalformed)
        #expect(options.nominated.count == ConnectionOptions.nominationLimit)
    }

    static let expectations: [(Fields, RequestExpectation)] = [
        ([:], .none),
        (["Expect": "100-Continue"], .continue),
        (["Expect": "100-continue, 100-continue"], .continue),
        (["Expect": "x"], .unknown),
        (["Expect": "100-continue, x"], .unknown),
        (["Expect": "x, 100-continue"], .unknown),
        (["Expect": "\"100"], .unknown),
        (["Expect": ""], .none),
    ]

    @Test(arguments: expectations)
    func `the one known expectation is 100-continue`(_ fields: Fields, _ expected: RequestExpectation) {
        #expect(RequestExpectation(RequestHead(fields: fields)) == expected)
        #expect(RequestExpectation(RequestHead(version: .http10, fields: fields)) == .none)
    }
}
