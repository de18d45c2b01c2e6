// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderCodings
import LarderHTTP
import LarderTesting
import Testing

@testable import LarderAdmin
@testable import LarderProxy

@Suite("HTTP archives")
struct HTTPArchiveTests {
    private static var exchange: RecordedExchange {
        var fields: Fields = ["Content-Type": "application/json", "Set-Cookie": "sid=1", "X-Name": "caf\u{E9}"]
        fields.append(.setCookie, "b=2")
        return RecordedExchange(
            method: "POST", url: "https://api.test/a?api_key=abc&q=1",
            requestFields: ["Content-Type": "application/x-www-form-urlencoded"],
            requestContent: Array("user=anna&password=hush".utf8),
            began: Timestamp(nanoseconds: 1_763_836_032_000_000_000),
            duration: .milliseconds(12), status: 201,
            fields: fields, content: Array(#"{"access_token": "s3cret", "n": 1.50}"#.utf8))
    }

    private static var binary: RecordedExchange {
        RecordedExchange(
            method: "PUT", url: "https://api.test/b", requestContent: [0, 255, 128], status: 200,
            fields: ["Content-Type": "image/png"], content: Array(0...255))
    }

    @Test func `what is written for oneself is read as it was, octet for octet`() throws {
        let recording = Recording(name: "one", [Self.exchange, Self.binary])
        let text = HTTPArchive.json(recording).description
        let read = try HTTPArchive.recording("one", from: Array(text.utf8))
        #expect(read.exchanges == recording.exchanges)
    }

    @Test func `what is handed to others has no secrets, and is found without them`() throws {
        let recording = Recording(name: "one", [Self.exchange, Self.binary])
        let text = HTTPArchive.json(recording.withoutSecrets).description
        for secret in ["abc", "hush", "s3cret", "sid=1", "b=2"] { #expect(!text.contains(secret), "\(secret)") }
        #expect(text.contains("1.50"))
        let read = try HTTPArchive.recording("two", from: Array(text.utf8))
        #expect(read.exchanges[1] == Self.binary)
        let replay = Replay(read)
        let found = replay.answer(
            to: "POST", "https://api.test/a?api_key=another&q=1", range: nil,
            content: Array("user=anna&password=other".utf8), type: "application/x-www-form-urlencoded")
        #expect(found?.status == 201)
        #expect(
            replay.answer(
                to: "POST", "https://api.test/a?api_key=abc&q=2", range: nil,
                content: Array("user=anna&password=hush".utf8), type: "application/x-www-form-urlencoded") == nil)
    }

    @Test(arguments: [
        "", "[]", #"{"log":{}}"#, #"{"log":{"entries":[{}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"ftp://x/"},"response":{"status":200}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"G T","url":"http://x/"},"response":{"status":200}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"http://x/"},"response":{"status":101}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"http://x/"},"response":{"status":200,"#
            + #""headers":[{"name":"a","value":"b\r\nc: d"}]}}]}}"#,
        #"{"log":{"entries":[{"request":{"method":"GET","url":"http://x/"},"response":{"status":200,"#
            + #""content":{"text":"?","encoding":"base64"}}}]}}"#,
    ])
    func `what is no archive, or would make no message, is refused`(text: String) {
        #expect(throws: HTTPArchive.Refusal.self) { try HTTPArchive.recording("x", from: Array(text.utf8)) }
    }

    @Test func `an archive of a browser is read`() throws {
        let text = """
            {"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{"time":1.5,"request":{"method":"GET",
            "url":"https://a.test","headers":[{"name":":authority","value":"a.test"},{"name":"accept","value":"*/*"}]},
            "response":{"status":200,"headers":[{"name":"content-type","value":"text/plain"}],
            "content":{"size":2,"mimeType":"text/plain","text":"hi"}}}]}}
            """
        let read = try HTTPArchive.recording("x", from: Array(text.utf8))
        #expect(read.exchanges[0].url == "https://a.test/")
        #expect(read.exchanges[0].content == Array("hi".utf8))
        #expect(read.exchanges[0].requestFields["Accept"] == "*/*")
    }

    @Test func `an archive of a browser has decoded content, and lengths of other octets`() throws {
        let text = """
            {"log":{"version":"1.2","creator":{"name":"WebInspector","version":"1"},"entries":[{"request":{"method":"GET",
            "url":"https://a.test"},"response":{"status":200,"headers":[{"name":"Content-Encoding","value":"gzip"},
            {"name":"Content-Length","value":"99"},{"name":"Trailer","value":"x"}],"content":{"text":"hi"}}},
            {"request":{"method":"HEAD","url":"https://a.test"},"response":{"status":200,
            "headers":[{"name":"Content-Length","value":"99"}]}},{"request":{"method":"PUT","url":"https://a.test"},
            "response":{"status":204,"headers":[{"name":"Content-Length","value":"99"}]}}]}}
            """
        let read = try HTTPArchive.recording("x", from: Array(text.utf8)).exchanges
        #expect(read[0].fields.isEmpty)
        #expect(read[1].fields["Content-Length"] == "99")
        #expect(read[2].fields.isEmpty)
    }

    @Test func `recordings are files that only their owner may read`() throws {
        let directory = FreshDirectory()
        let files = RecordingFiles(directory: directory.path)
        #expect(try files.names() == [])
        #expect(try files.load("one") == nil)
        try files.save(Recording(name: "one", [Self.exchange]))
        try files.save(Recording(name: "one", [Self.exchange, Self.binary]))
        #expect(try files.names() == ["one"])
        #expect(try files.load("one")?.exchanges.count == 2)
        #expect(try files.remove("one"))
        #expect(try !files.remove("one"))
    }

    @Test(
        arguments: [
            ("one", true), ("a.b-c_1", true), ("", false), (".x", false), ("-x", false), ("a/b", false), ("a b", false),
            (String(repeating: "a", count: 81), false),
        ] as [(String, Bool)])
    func `names are names of files`(name: String, isName: Bool) {
        #expect(Recording.isName(name) == isName)
    }

    @Test(
        arguments: [
            ("Location", "/cb?access_token=1&x=2", "/cb?access_token=REDACTED&x=2"),
            ("Location", "/cb?token=a b", "/cb?token=REDACTED"), ("Content-Location", "/me#sig=1", "/me#sig=REDACTED"),
            ("Link", "</n?token=1>; rel=next, </m?b=2>; key=k", "</n?token=REDACTED>; rel=next, </m?b=2>; key=k"),
            ("Refresh", "0; url=/r?token=1", "0; url=/r?token=REDACTED"),
            ("Link", "<https://u:p@b/>, <https://v@b/?a>", "<https://b/>, <https://b/?a>"),
            ("Cache-Control", "max-age=1, key=2; token=3", "max-age=1, key=2; token=3"),
        ] as [(FieldName, String, String)])
    func `fields lose what admits somebody from the URLs in them`(name: FieldName, value: String, expected: String) {
        #expect(SecretText.scrubbed(value, of: name) == expected)
    }

    @Test func `fields of an archive for others have no secrets in their URLs`() {
        let exchange = RecordedExchange(
            method: "GET", url: "http://a.test/", requestFields: ["Referer": "http://a.test/?token=hush1"], status: 302,
            fields: ["Location": "/cb#access_token=hush2", "Link": "</?api_key=hush3>", "X-Name": "caf\u{E9}?"])
        let text = HTTPArchive.json(Recording(name: "one", [exchange]).withoutSecrets).description
        #expect(!text.contains("hush"))
        #expect(text.contains(#""redirectURL":"/cb#access_token=REDACTED""#), "\(text)")
        #expect(text.contains("caf\u{E9}?"))
    }

    @Test(
        arguments: [
            ("application/x-www-form-urlencoded", "a=1&password=a;b#c&d=/x?token", "a=1&password=REDACTED&d=/x?token"),
            ("application/x-www-form-urlencoded", #"{"password":"x"}"#, #"{"password":"REDACTED"}"#),
            ("text/plain;charset=UTF-8", #" {"a":[{"secret":1}]}"#, #" {"a":[{"secret":"REDACTED"}]}"#),
            ("text/plain", "password=x&a=1", "password=REDACTED&a=1"), ("text/plain", "my password=x", "my password=x"),
            (nil, #"{"password":"x"}"#, #"{"password":"REDACTED"}"#), ("image/png", "password=x", "password=x"),
            ("application/json", #"{"tokens":["x",["y"],null]}"#, #"{"tokens":["REDACTED",["REDACTED"],null]}"#),
            (
                "application/json", #"{"password":{"value":"x","n":1}}"#,
                #"{"password":{"value":"REDACTED","n":"REDACTED"}}"#
            ),
            ("application/json", #"{"next":"/n?token=x","n": 1.50}"#, #"{"next":"/n?token=REDACTED","n": 1.50}"#),
            ("application/json", #"{"a":"/?token=x\u0022","b":"\/"}"#, #"{"a":"/?token=REDACTED\"","b":"\/"}"#),
            ("application/json", #"{"a":"{\"to\u006ben\": -1.5e3}"}"#, #"{"a":"{\"token\": \"REDACTED\"}"}"#),
            (
                "application/json", #"{"cookie":"x","Authorization":"y"}"#,
                #"{"cookie":"REDACTED","Authorization":"REDACTED"}"#
            ),
            ("application/json", #"{ "a" : "what? none; b" }"#, #"{ "a" : "what? none; b" }"#),
            ("application/json", #"{"password":"x"#, #"{"password":"REDACTED""#),
            ("application/json", #"{"a":[{"token":["x","y"#, #"{"a":[{"token":["REDACTED","REDACTED""#),
            ("application/json", #"{"a":1,"password":123"#, #"{"a":1,"password":"REDACTED""#),
            ("application/json", #"{"password":"#, #"{"password":"#),
            ("application/json", #"{"a":"{\"token\":\"x"#, #"{"a":"REDACTED""#),
            (
                "application/x-ndjson", "{\"token\":\"x\"}\n\n{\"a\" : 5, \"token\" : 1}\n",
                "{\"token\":\"REDACTED\"}\n\n{\"a\" : 5, \"token\" : \"REDACTED\"}\n"
            ),
            (
                "text/event-stream", "event: a\ndata: {\"session\":{\"id\":7}}\n\ndata: /?token=x\n",
                "event: a\ndata: {\"session\":{\"id\":\"REDACTED\"}}\n\ndata: /?token=REDACTED\n"
            ),
            ("text/javascript", #"f({"jwt":"x","a":"b"})"#, #"f({"jwt":"REDACTED","a":"b"})"#),
            ("text/plain", "5\" of {\n\"token\": \"x\"", "5\" of {\n\"token\": \"REDACTED\""),
            ("text/html", #"<a href="/?a&amp;token=x">"#, #"<a href="/?a&amp;token=REDACTED">"#),
            ("text/plain", "https://u:p@a.test/?token=x", "https://a.test/?token=REDACTED"),
            ("application/x-www-form-urlencoded", "payload=%7B%22token%22:+1%7D&b", "payload=REDACTED&b"),
            ("application/x-www-form-urlencoded", #"payload={"token":"x"}&b"#, "payload=REDACTED&b"),
            ("application/octet-stream", "\0\"token\":\"x\"", "\0\"token\":\"x\""),
        ] as [(String?, String, String)])
    func `content loses what admits somebody`(type: String?, content: String, expected: String) {
        #expect(String(decoding: SecretText.scrubbed(Array(content.utf8), type: type), as: UTF8.self) == expected)
    }

    @Test func `secrets are found in content with codings, and what cannot be decoded is left out`() throws {
        func exchange(_ codings: String, _ content: [UInt8]) -> RecordedExchange {
            let fields: Fields = [
                "Content-Type": "application/json", "Content-Encoding": codings, "Content-Digest": "sha-256=:x:",
            ]
            return RecordedExchange(
                method: "POST", url: "http://a.test/", requestFields: fields, requestContent: content, fields: fields,
                content: content)
        }
        let json = Array(#"{"token":"hush"}"#.utf8)
        let twice = try ContentCoding.br.encode(ContentCoding.gzip.encode(json))
        let expected = [
            (exchange("gzip, br", twice), #"{"token":"REDACTED"}"#),
            (exchange("identity", json), #"{"token":"REDACTED"}"#),
            (exchange("gzip", Array(twice)), "REDACTED"), (exchange("x-own", json), "REDACTED"),
        ]
        for (exchange, content) in expected {
            let clean = exchange.withoutSecrets
            #expect(String(decoding: clean.content, as: UTF8.self) == content)
            #expect(String(decoding: clean.requestContent, as: UTF8.self) == content)
            #expect(clean.fields == ["Content-Type": "application/json"])
            #expect(clean.requestFields == clean.fields)
        }
    }

    @Test func `secrets are found in JSON in strings, however deep`() {
        var text = #"{"token":"hush"}"#
        for _ in 0..<10 { text = JSONValue.object(["a": .string(text)]).description }
        let clean = String(decoding: SecretText.scrubbed(Array(text.utf8), type: "application/json"), as: UTF8.self)
        #expect(!clean.contains("hush"))
        #expect(clean.contains("REDACTED"))
    }

    @Test func `what was omitted before is omitted from an export`() {
        #expect(Recording(name: "one", [Self.exchange], omitted: 3).withoutSecrets.omitted == 3)
    }

    @Test(arguments: [#""\""#, #"\u0022"#, "?a=%25", "\"a\":", "[\"", "://", "\"?", "-"])
    func `any content comes to its end`(piece: String) {
        let content = Array(String(repeating: piece, count: 10_000).utf8)
        for type in ["application/json", "application/x-www-form-urlencoded", nil] {
            #expect(SecretText.scrubbed(content, type: type).count >= content.count / 2)
        }
    }

    @Test func `parts of forms with a credential's name lose their content`() {
        func form(_ password: String, _ token: String) -> String {
            """
            --b-\r\nContent-Disposition: form-data; name="user"\r\n\r\nanna\r\n\
            --b-\r\ncontent-disposition:form-data; name=password; filename="p"\r\nContent-Type: x/y\r\n\r\n\(password)\r\n\
            --b-\r\nContent-Disposition: form-data; name="a"\r\nContent-Type: application/json\r\n\r\n{"token":"\(token)"}\r\n\
            --b---\r\n
            """
        }
        let clean = SecretText.scrubbed(
            Array(form("hush\r\n\r\nhush", "x").utf8), type: #"multipart/form-data; boundary="b-""#)
        #expect(String(decoding: clean, as: UTF8.self) == form("REDACTED", "REDACTED"))
        let torn = Array("--b-\r\nContent-Disposition: form-data; name=token\r\n\r\nhush".utf8)
        let rest = SecretText.scrubbed(torn, type: "multipart/form-data; boundary=b-")
        #expect(String(decoding: rest, as: UTF8.self).hasSuffix("\r\n\r\nREDACTED"))
    }

    @Test func `parts of parts are left out, however deep`() {
        let head = "Content-Disposition: form-data; name=\"a\"\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n"
        let nested = String(repeating: head, count: 50_000) + "password=hush"
        let clean = SecretText.scrubbed(Array(nested.utf8), type: "multipart/form-data; boundary=b")
        #expect(String(decoding: clean, as: UTF8.self) == head + "REDACTED")
    }

    @Test(
        arguments: [
            ("https://u:p@a.test/x", "https://a.test/x"), ("http://a.test/@b?x=1", "http://a.test/@b?x=1"),
            ("http://a.test/?api%5Fkey=1&b", "http://a.test/?api%5Fkey=REDACTED&b"),
            ("http://a.test/?X-Amz-Signature=1", "http://a.test/?X-Amz-Signature=REDACTED"),
            (
                "http://a.test/?Authorization=1&pass=2&passage=3",
                "http://a.test/?Authorization=REDACTED&pass=REDACTED&passage=3"
            ),
            ("/cb#access_token=1&state=2", "/cb#access_token=REDACTED&state=2"),
            ("/?token=1#token=2", "/?token=REDACTED#token=REDACTED"), ("/#/cb?token=a?b;c", "/#/cb?token=REDACTED"),
            ("/?a=1;token=2;b", "/?a=1;token=REDACTED"),
            ("/?user[pass]=1&user%5Bpwd%5D=2", "/?user[pass]=REDACTED&user%5Bpwd%5D=REDACTED"),
            ("/?to=https%3A%2F%2Fb%2F%3Ftoken%3D1&b=%20", "/?to=REDACTED&b=%20"),
            ("/?to=http://u:p@b/&mail=a@b", "/?to=http://b/&mail=a@b"),
            ("/?to=http://b&mail=a@b", "/?to=http://b&mail=a@b"),
            ("/token=1/x", "/token=1/x"), ("/?token", "/?token"), ("?=&&==#", "?=&&==#"), ("", ""),
        ] as [(String, String)])
    func `URLs lose what admits somebody`(url: String, expected: String) {
        #expect(SecretText.scrubbed(url: url) == expected)
    }
}
