// SPDX-License-Identifier: Apache-2.0

import Larder
import LarderCodings
import LarderHTTP
import LarderRules
import Testing

@testable import LarderProxy

@Suite("Secrets in text")
struct SecretTextTests {
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

    @Test(arguments: [
        "DB_PASS", "smtp.pass", "userPass", "MYSQL_PWD", "user_pin", "smsOtp", "totp-code", "mfaCode",
        "verificationCode",
        "login_code", "AuthorizationCode", "recovery_codes", "backupCodes", "client_assertion", "oauth_verifier", "cvv",
    ]) func `a name says by its last words that it is of a secret`(name: String) {
        #expect(SecretName.isOne(name))
    }

    @Test(arguments: [
        "bypass", "compass", "passage", "status_code", "errorCode", "zipcode", "countryCode", "spin", "pins", "pinned",
        "adopt", "codes", "", "_", "A", "codec",
    ]) func `names that only look like it are not`(name: String) { #expect(!SecretName.isOne(name)) }

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

    @Test(
        arguments: [
            ("application/x-www-form-urlencoded", "a=1&password=a;b#c&d=/x?token", "a=1&password=REDACTED&d=/x?token"),
            ("application/x-www-form-urlencoded", #"{"password":"x"}"#, #"{"password":"REDACTED"}"#),
            ("text/plain;charset=UTF-8", #" {"a":[{"secret":1234}]}"#, #" {"a":[{"secret":"REDACTED"}]}"#),
            ("text/plain", "password=x&a=1", "password=REDACTED&a=1"), ("text/plain", "my password=x", "my password=x"),
            (nil, #"{"password":"x"}"#, #"{"password":"REDACTED"}"#), ("image/png", "password=x", "password=x"),
            ("application/json", #"{"tokens":["x",["y"],null]}"#, #"{"tokens":["REDACTED",["REDACTED"],null]}"#),
            (
                "application/json", #"{"password":{"value":"x","n":12345}}"#,
                #"{"password":{"value":"REDACTED","n":"REDACTED"}}"#
            ),
            ("application/json", #"{"next":"/n?token=x","n": 1.50}"#, #"{"next":"/n?token=REDACTED","n": 1.50}"#),
            ("application/json", #"{"a":"/?token=x\u0022","b":"\/"}"#, #"{"a":"/?token=REDACTED\"","b":"\/"}"#),
            ("application/json", #"{"a":"{\"to\u006ben\": \"x\"}"}"#, #"{"a":"{\"token\": \"REDACTED\"}"}"#),
            (
                "application/json", #"{"cookie":"x","Authorization":"y"}"#,
                #"{"cookie":"REDACTED","Authorization":"REDACTED"}"#
            ),
            ("application/json", #"{ "a" : "what? none; b" }"#, #"{ "a" : "what? none; b" }"#),
            ("application/json", #"{"password":"x"#, #"{"password":"REDACTED""#),
            ("application/json", #"{"a":[{"token":["x","y"#, #"{"a":[{"token":["REDACTED","REDACTED""#),
            ("application/json", #"{"a":1,"password":12345"#, #"{"a":1,"password":"REDACTED""#),
            ("application/json", #"{"password":"#, #"{"password":"#),
            ("application/json", #"{"a":"{\"token\":\"x"#, #"{"a":"{\"token\":\"REDACTED\""#),
            (
                "application/x-ndjson", "{\"token\":\"x\"}\n\n{\"a\" : 5, \"token\" : 12345}\n",
                "{\"token\":\"REDACTED\"}\n\n{\"a\" : 5, \"token\" : \"REDACTED\"}\n"
            ),
            (
                "text/event-stream", "event: a\ndata: {\"session\":{\"id\":70000}}\n\ndata: /?token=x\n",
                "event: a\ndata: {\"session\":{\"id\":\"REDACTED\"}}\n\ndata: /?token=REDACTED\n"
            ),
            ("text/javascript", #"f({"jwt":"x","a":"b"})"#, #"f({"jwt":"REDACTED","a":"b"})"#),
            ("text/plain", "5\" of {\n\"token\": \"x\"", "5\" of {\n\"token\": \"REDACTED\""),
            ("text/html", #"<a href="/?a&amp;token=x">"#, #"<a href="/?a&amp;token=REDACTED">"#),
            ("text/plain", "https://u:p@a.test/?token=x", "https://a.test/?token=REDACTED"),
            ("application/x-www-form-urlencoded", "payload=%7B%22token%22:+1234%7D&b", "payload=REDACTED&b"),
            ("application/x-www-form-urlencoded", #"payload={"token":"x"}&b"#, "payload=REDACTED&b"),
            ("application/octet-stream", "\0\"token\":\"x\"", "\0\"token\":\"x\""),
        ] as [(String?, String, String)])
    func `content loses what admits somebody`(type: String?, content: String, expected: String) {
        #expect(String(decoding: SecretText.scrubbed(Array(content.utf8), type: type), as: UTF8.self) == expected)
    }

    @Test(arguments: [#""\""#, #"\u0022"#, "?a=%25", "\"a\":", "[\"", "://", "\"?", "-"])
    func `any content comes to its end`(piece: String) {
        let content = Array(String(repeating: piece, count: 10_000).utf8)
        for type in ["application/json", "application/x-www-form-urlencoded", nil] {
            #expect(SecretText.scrubbed(content, type: type).count >= content.count / 2)
        }
    }

    @Test func `secrets are found in JSON in strings, however deep`() {
        var text = #"{"token":"hush"}"#
        for _ in 0..<10 { text = JSONValue.object(["a": .string(text)]).description }
        let clean = String(decoding: SecretText.scrubbed(Array(text.utf8), type: "application/json"), as: UTF8.self)
        #expect(!clean.contains("hush"))
        #expect(clean.contains("REDACTED"))
    }

    @Test(
        arguments: [
            // Octets that no text should have, and types that are wrong.
            ("application/json", "{\"token\":\"x\"}\0", "{\"token\":\"REDACTED\"}\0"),
            ("image/png", #"{"token":"x"}"#, #"{"token":"REDACTED"}"#),
            ("image/svg+xml", #"<a href="/?token=x"/>"#, #"<a href="/?token=REDACTED"/>"#),
            ("application/json", "{\"token\":\"a\tx\"}", "{\"token\":\"REDACTED\"}"),
            ("application/json", "{\"token\":\"a\nx\"}", "{\"token\":\"REDACTED\"}"),
            (
                "application/x-ndjson", "{\"token\":\"a\n{\"token\":\"x\"}\n",
                "{\"token\":\"REDACTED\"\n{\"token\":\"REDACTED\"}\n"
            ),
            // Quotation marks that are out of step.
            ("text/plain", #"5" {"token":"x"}"#, #"5" {"token":"REDACTED"}"#),
            ("text/javascript", #"var q='"';var c={"token":"x"};"#, #"var q='"';var c={"token":"REDACTED"};"#),
            ("text/javascript", #"s.replace(/"/g,'');{"token":"x"}"#, #"s.replace(/"/g,'');{"token":"REDACTED"}"#),
            ("text/javascript", #"f('{\"token\":\"x\"}')"#, #"f('{\"token\":\"REDACTED\"}')"#),
            ("text/javascript", #"{"token":'x',"a":1}"#, #"{"token":'REDACTED',"a":1}"#),
            // JSON in JSON that breaks off, and events.
            ("application/x-ndjson", "{\"log\":\"{\\\"token\\\":\\\"x\n", #"{"log":"{\"token\":\"REDACTED\""#),
            ("text/event-stream", "data: {\"token\":\ndata: \"x\"}\n\n", "data: {\"token\":\ndata: \"REDACTED\"}\n\n"),
            (
                "application/json", #"{"a":"\ud800{\"token\":\"x\"}"}"#,
                "{\"a\":\"\u{FFFD}{\\\"token\\\":\\\"REDACTED\\\"}\"}"
            ),
            // Forms.
            ("application/x-www-form-urlencoded", "[a]=1&password=x", "[a]=1&password=REDACTED"),
            ("application/x-www-form-urlencoded", "{a}=1&password=x", "{a}=1&password=REDACTED"),
            ("text/plain", "a=b&access_token=x\n", "a=b&access_token=REDACTED\n"),
            ("text/plain", "user=x y\r\npassword=a x\r\n", "user=x y\r\npassword=REDACTED\r\n"),
            ("application/x-www-form-urlencoded", "api+key=x&max_tokens=100", "api+key=REDACTED&max_tokens=100"),
            // HTML and scripts.
            (
                "text/html", #"<div data-x="{&quot;token&quot;:&quot;x&quot;}">"#,
                #"<div data-x="{&quot;token&quot;:&quot;REDACTED&quot;}">"#
            ),
            ("text/html", "<p>{&#34;token&#34;: &#34;x&#34;}", "<p>{&#34;token&#34;: &#34;REDACTED&#34;}"),
            (
                "text/html", #"<p>{&quot;a&quot;:&quot;{\&quot;token\&quot;:\&quot;x\&quot;}&quot;}"#,
                #"<p>{&quot;a&quot;:&quot;{\&quot;token\&quot;:\&quot;REDACTED\&quot;}&quot;}"#
            ),
            ("text/javascript", #"var u='https:\/\/u:x@h\/'"#, #"var u='https:\/\/h\/'"#),
            ("text/html", "<a href='/?a&#38;token=x'>", "<a href='/?a&#38;token=REDACTED>"),
            ("text/plain", "https://h.test/a;token=x/b?c=1;token=2", "https://h.test/a;token=REDACTED/b?c=1;token=2"),
            ("application/x-www-form-urlencoded", "q=a; key=5/2&token=", "q=a; key=5/2&token=REDACTED"),
            ("text/plain", "see //u:x@h/ now", "see //h/ now"),
        ] as [(String?, String, String)])
    func `content in disguise loses what admits somebody`(type: String?, content: String, expected: String) {
        #expect(String(decoding: SecretText.scrubbed(Array(content.utf8), type: type), as: UTF8.self) == expected)
    }

    @Test(
        arguments: [
            ("/u;jsessionid=x?a=1", "/u;jsessionid=REDACTED?a=1"), ("/u;token=x/v", "/u;token=REDACTED/v"),
            ("//u:x@h/", "//h/"), ("/?next=//u:x@h/", "/?next=//h/"), ("/?next=%2F%2Fu%3Ax%40h%2F", "/?next=REDACTED"),
            ("/?r=https%253A%252F%252Fh%252F%253Ftoken%253Dx&a=%2525", "/?r=REDACTED&a=%2525"),
            ("/?r=https%3A%2F%2Fh%2F%3Fa%3Db%2Bc%26token%3Dx", "/?r=REDACTED"),
            ("/?max_tokens=100", "/?max_tokens=100"),
            (
                "/?SAMLResponse=x&ticket=y&code_verifier=z",
                "/?SAMLResponse=REDACTED&ticket=REDACTED&code_verifier=REDACTED"
            ),
            (
                "/?API%20Key=x&subscription-key=y&sort_key=z",
                "/?API%20Key=REDACTED&subscription-key=REDACTED&sort_key=z"
            ),
        ] as [(String, String)])
    func `URLs in disguise lose what admits somebody`(url: String, expected: String) {
        #expect(SecretText.scrubbed(url: url) == expected)
    }

    @Test(
        arguments: [
            ("Refresh", "0;URL='/x?a=b c&token=x'", "0;URL='/x?a=b c&token=REDACTED"),
            ("Link", "<//u:x@h/?a>", "<//h/?a>"),
            ("Location", "//u:x@h/", "//h/"), ("Location", #"http:\\u:x@h/"#, #"http:\\h/"#),
            ("Location", "/x;jsessionid=x", "/x;jsessionid=REDACTED"),
            ("X-Info", #"{"token":"x"}"#, #"{"token":"REDACTED"}"#),
            ("Location", "/x?a=\"&token=x", "/x?a=\"&token=REDACTED"),
        ] as [(FieldName, String, String)])
    func `fields in disguise lose what admits somebody`(name: FieldName, value: String, expected: String) {
        #expect(SecretText.scrubbed(value, of: name) == expected)
    }

    @Test func `numbers are replaced where they can be secrets, and stay numbers elsewhere`() {
        func clean(_ text: String) -> String {
            String(decoding: SecretText.scrubbed(text: Array(text.utf8)), as: UTF8.self)
        }
        let same = [
            #"{"usage":{"prompt_tokens":12345,"max_tokens":1000},"error":{"code":404},"tokens":[15496,995]}"#,
            #"{"token_expires_in":3600,"session_timeout":18000,"secret":123,"pin":-1.5e3,"sort_key":1234,"key":null}"#,
        ]
        for text in same { #expect(clean(text) == text) }
        #expect(
            clean(#"{"code":123456,"pin":1234,"session":{"id":70000},"tokens":["1"],"token":"1"}"#)
                == #"{"code":"REDACTED","pin":"REDACTED","session":{"id":"REDACTED"},"tokens":["REDACTED"],"token":"REDACTED"}"#
        )
        #expect(clean(#"f('{\"token\":123456}')"#) == #"f('{\"token\":\"REDACTED\"}')"#)
    }

    @Test(
        arguments: [
            "private_key", "privateKey", "device_code", "code_verifier", "SAMLRequest", "API Key", "api+key", "X-CSRF",
            "xsrf",
            "client_secret", "signing-key", "encryptionKey", "user_code", "X-Auth", "\tpin\0",
        ])
    func `names of secrets`(name: String) {
        #expect(SecretName.isOne(name))
        #expect(SecretName.isOne(name.uppercased()))
    }

    @Test(arguments: [
        "sort_key", "keys", "primaryKey", "monkey", "codec", "author", "passage", "key_code", "spin", "token_type",
        "token_endpoint", "",
    ])
    func `names of other things`(name: String) { #expect(!SecretName.isOne(name)) }

    @Test(
        arguments: [
            "X-OTP", "GitHub-OTP", "X-GitHub-OTP", "X-Pin", "X-Pass", "DPoP", "X-Amzn-Oidc-Data", "X-Sid", "X-Code",
            "X-Totp-Code", "X-2FA-Code", "X-Verification-Code", "X_Auth_Ticket", "X-Api-Passphrase",
        ] as [FieldName])
    func `names of fields with secrets`(name: FieldName) { #expect(SecretName.isOne(field: name)) }

    @Test(
        arguments: [
            "X-Country-Code", "X-Error-Code", "Surrogate-Key", "X-Spin", "Accept", "X-Bypass", "X",
            "X-Oidc-Provider",
        ] as [FieldName])
    func `names of other fields`(name: FieldName) { #expect(!SecretName.isOne(field: name)) }

    @Test func `UTF-16 loses its secrets and stays UTF-16`() {
        func octets(_ text: String, isBig: Bool) -> [UInt8] {
            text.utf16.flatMap { unit in
                let (high, low) = (UInt8(unit >> 8), UInt8(unit & 255))
                return isBig ? [high, low] : [low, high]
            }
        }
        for isBig in [false, true] {
            for (mark, type) in [("\u{FEFF}", "application/json"), ("", "application/json; charset=utf-16"), ("", nil)]
            {
                let dirty = octets(mark + #"{"token":"x\u{1F600}"}"#, isBig: isBig)
                let clean = octets(mark + #"{"token":"REDACTED"}"#, isBig: isBig)
                #expect(SecretText.scrubbed(dirty, type: type) == clean)
            }
        }
        let wrong = Array(#"{"token":"x"}"#.utf8)
        #expect(SecretText.scrubbed(wrong, type: "text/plain; charset=utf-16") == Array(#"{"token":"REDACTED"}"#.utf8))
    }

    @Test func `content that is compressed in secret is decoded, if there are secrets in it`() throws {
        let json = Array(#"{"token":"hush"}"#.utf8)
        let clean = Array(#"{"token":"REDACTED"}"#.utf8)
        let once = try ContentCoding.gzip.encode(json)
        let twice = try ContentCoding.gzip.encode(once)
        for type in ["application/json", "application/gzip", nil] {
            #expect(SecretText.scrubbed(once, type: type) == clean)
            #expect(SecretText.scrubbed(twice, type: type) == clean)
        }
        let torn = Array(once.dropLast(9))
        #expect(SecretText.scrubbed(torn, type: "application/json") == SecretText.octets)
        #expect(SecretText.scrubbed(torn, type: "application/gzip") == torn)
        let archive = try ContentCoding.gzip.encode(Array("a.txt\0\0\0token=x".utf8))
        #expect(SecretText.scrubbed(archive, type: "application/gzip") == archive)
    }
}
