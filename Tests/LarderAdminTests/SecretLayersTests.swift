// SPDX-License-Identifier: Apache-2.0

import Foundation
import Larder
import LarderHTTP
import Testing

@testable import LarderProxy

/// Random content with a secret somewhere in it, and ordinary content with none.
@Suite("Secrets in layers")
struct SecretLayersTests {
    private static let marker = "S3CRET"
    private static let names = [
        "token", "password", "api_key", "clientSecret", "user[pass]", "code", "X-Amz-Signature",
    ]
    private static let plain = [
        "", "x", "1.5", "a b", "5\"", "caf\u{E9}", "\u{1F600}", "\\", "a/b", "{", "what?", "50%", "&",
    ]

    private static func string(_ text: String) -> String { JSONValue.string(text).description }

    /// A JSON value with a secret in it.
    private static func json(_ numbers: inout SeededNumbers) -> String {
        let name = names.randomElement(using: &numbers) ?? ""
        let noise = plain.randomElement(using: &numbers) ?? ""
        let value = noise + marker + (plain.randomElement(using: &numbers) ?? "")
        let member = string(name) + (Bool.random(using: &numbers) ? ":" : " : \n")
        return switch UInt.random(in: 0..<4, using: &numbers) {
        case 0: "{\(string("a")):\(string(noise)),\(member)\(string(value))}"
        case 1: "[{\(member)[\(string(value)),{\"b\":\(string(value))}]},\(string(noise))]"
        case 2: "{\"a\":{\(member)\(string(value)),\"n\":12}}"
        default: "{\(member)\(string(value))"
        }
    }

    private static func url(_ numbers: inout SeededNumbers) -> String {
        let name = PercentText.encoded(names.randomElement(using: &numbers) ?? "")
        let noise = PercentText.encoded(plain.randomElement(using: &numbers) ?? "")
        return switch UInt.random(in: 0..<5, using: &numbers) {
        case 0: "https://h.test/a?x=\(noise)&\(name)=\(noise)\(marker)"
        case 1: "/a?\(name)=\(marker)&x=\(noise)"
        case 2: "https://u:\(marker)@h.test/\(noise)"
        case 3: "https://h.test/;jsessionid=\(marker)?x=\(noise)"
        default: "/a#\(name)=\(marker)\(noise)"
        }
    }

    /// Puts one text into another.
    private static func wrapped(_ text: String, _ numbers: inout SeededNumbers) -> String {
        let noise = plain.randomElement(using: &numbers) ?? ""
        return switch UInt.random(in: 0..<4, using: &numbers) {
        case 0: "{\"v\":\(string(text)),\"w\":\(string(noise))}"
        case 1: "[\(string(noise)),\(string(text))]"
        case 2: "https://h.test/?x=\(PercentText.encoded(noise))&v=\(PercentText.encoded(text))"
        default: "/?v=\(PercentText.encoded(text))#x"
        }
    }

    /// The outermost layer, with the type that it is sent as.
    private static func content(_ text: String, _ numbers: inout SeededNumbers) -> (String, type: String?) {
        let entity = ["&quot;", "&#34;", "&#034;", "&#x22;", "&#X22;", "&QUOT;"].randomElement(using: &numbers) ?? ""
        return switch UInt.random(in: 0..<10, using: &numbers) {
        case 0: ("a=1&v=\(PercentText.encoded(text))&b", "application/x-www-form-urlencoded")
        case 1:
            ("--B\r\nContent-Disposition: form-data; name=v\r\n\r\n\(text)\r\n--B--", "multipart/form-data; boundary=B")
        case 2: ("data: \(text)\n\n", "text/event-stream")
        case 3: ("var q='\"';var v=\(string(text));", "text/javascript")
        case 4:
            (
                "<p data-x=\"\(text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: entity))\">",
                "text/html"
            )
        case 5: ("{\"v\":\(string(text))}\n{\"v\":\(string(text))}\n", "application/x-ndjson")
        case 6: ("a=\(PercentText.encoded(text))\r\nb=c d\r\n", "text/plain")
        case 7: ("5\" \(text)", "text/plain")
        case 8 where !text.contains("\\"): ("var v='\(script(text, &numbers))';", "text/javascript")
        default: (text, nil)
        }
    }

    /// The text as templates write it into a string of a script.
    private static func script(_ text: String, _ numbers: inout SeededNumbers) -> String {
        let isShort = Bool.random(using: &numbers)
        return text.unicodeScalars.map { scalar in
            guard "\"'&=<>-;".unicodeScalars.contains(scalar) else { return String(scalar) }
            return (isShort ? "\\x" : "\\u00") + String(scalar.value, radix: 16, uppercase: true)
        }.joined()
    }

    @Test func `the secret never survives, and what is clean stays as it is`() {
        for seed in 0..<UInt64(ProcessInfo.processInfo.environment["LARDER_FULL"] != nil ? 100_000 : 3_000) {
            var numbers = SeededNumbers(seed: seed)
            var text = Bool.random(using: &numbers) ? Self.json(&numbers) : Self.url(&numbers)
            for _ in 0..<UInt.random(in: 0..<3, using: &numbers) { text = Self.wrapped(text, &numbers) }
            let (content, type) = Self.content(text, &numbers)
            let clean = SecretText.scrubbed(Array(content.utf8), type: type)
            let cleanText = String(decoding: clean, as: UTF8.self)
            #expect(!cleanText.contains(Self.marker), "\(seed): \(content) became \(cleanText)")
            #expect(
                String(decoding: SecretText.scrubbed(clean, type: type), as: UTF8.self) == cleanText,
                "\(seed): \(content) became \(cleanText)")
        }
    }

    @Test func `ordinary content stays as it is, octet for octet`() throws {
        var numbers = SeededNumbers(seed: 1)
        let json = JSONValue.array(
            (0..<2_000).map { number in
                [
                    "id": .number(JSONNumber(number)), "name": .string("n\"x\(number)"),
                    "keys": ["sort_key": 1, "author": "a: b"],
                    "url": .string("https://h.test/a?b=\(number)&c=%7B%22d%22%3A1%7D#top"),
                    "text": "5\" \\ {what? a=b; c}",
                    "html": "<a href=\"/x?a=1&amp;b=2\">&quot;x&quot;: y</a>", "usage": ["total_tokens": 12_345],
                ]
            })
        let page = String(
            repeating: """
                <!doctype html><title>It's 5" "wide": x</title><script>//@ts-check
                var a={"b":'c',"d":"e\\n"};f(a?b:c,"x");/"/.test(s)&&g('a:b@c',//cdn.test/x
                1);p=a?b:c;key=d;this.#token=e;class C{#pin=1;#key=2};u='/x?token='+t;v="/x?token="+t;location="https://h.test/?q="+a+"#b";</script><img src="data:image/png;base64,AA//BB==" alt='"'>
                <a href="//h.test/a;v=1?x=1&amp;y=2#z">mail a@b.test</a><style>a:hover{b:url(//c.test/d?e)}</style>

                """, count: 500)
        let binary = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &numbers) }
        for type in ["application/json", "text/plain", nil] {
            #expect(SecretText.scrubbed(json.octets, type: type) == json.octets)
        }
        for type in ["text/html", "text/plain"] {
            #expect(String(decoding: SecretText.scrubbed(Array(page.utf8), type: type), as: UTF8.self) == page)
        }
        for type in ["image/png", "application/octet-stream", "application/json", nil] {
            #expect(SecretText.scrubbed(binary, type: type) == binary)
        }
    }

    /// One length is compared with eight times that, since machines differ.
    @Test(arguments: [
        #""\""#, #"\\\""#, "?a=%2525", "\"a\":", "[\"", "://", "//a", "&quot;", "\"token\":\"\n",
        "\\\"token\\\":\\\"a\n",
        "{\"a\":\"\\\"", ";a=b", "a=b\n", "%", "--B\n", "&#0", "&#x22;", "\\x22a\\x22:", "\\u{0", "a;sessionid",
        " /a;b",
        "name=", "name=\"", "--B\nContent-Disposition: name=\"a\n\n", "\"\r", "{\"pin\":{",
    ])
    func `time grows with length alone`(piece: String) {
        // Of this thread alone: others run meanwhile.
        func clock() -> Duration {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        func time(_ count: Int, _ type: String?) -> Duration {
            let content = Array(String(repeating: piece, count: count).utf8)
            let start = clock()
            _ = SecretText.scrubbed(content, type: type)
            return clock() - start
        }
        for type in ["application/json", "application/x-www-form-urlencoded", "multipart/mixed; boundary=B", nil] {
            let short = (0..<3).map { _ in time(2_000, type) }.min() ?? .zero
            let long = (0..<3).map { _ in time(16_000, type) }.min() ?? .zero
            #expect(long < short * 32 + .milliseconds(50), "\(type ?? "no type")")
        }
    }

    @Test func `what is nested without end costs little stack and time`() {
        func nested(_ depth: Int) -> String {
            func mark(_ level: Int) -> String {
                level == 0 ? "\"" : "\\" + String(repeating: "u005c", count: level - 1) + "u0022"
            }
            return (0..<depth).map(mark).joined() + "x" + (0..<depth).reversed().map(mark).joined()
        }
        let url = (0..<400).map { $0 == 0 ? "?a=" : "%\(String(repeating: "25", count: $0 - 1))3Fa=" }.joined() + "x"
        for content in [
            nested(400), url, String(repeating: "[", count: 100_000), String(repeating: "{\"token\":", count: 50_000),
        ] {
            #expect(!SecretText.scrubbed(Array(content.utf8), type: "text/plain").isEmpty)
        }
    }
}
