// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@testable import LarderProxy

/// Secrets as HTML, scripts, servers and clients spell them; and ordinary content that looks like it.
@Suite("Spellings of secrets")
struct SecretSpellingTests {
    private static func scrubbed(_ content: String, _ type: String?) -> String {
        String(decoding: SecretText.scrubbed(Array(content.utf8), type: type), as: UTF8.self)
    }

    /// Each contains `hush`, which does not survive, and `kept`, which does.
    @Test(
        arguments: [
            // Parameters of paths, with and without a host.
            ("text/html", #"<form action="/login.do;jsessionid=hush" kept>"#),
            ("text/html", #"<a href="index.jsp;jsessionid=hush?kept">"#),
            ("text/html", "<a href=/a/b;v=kept;token=hush>"),
            ("text/html", "<p>/a;jsessionid=hush</p>kept"),
            ("text/html", "<a href='/x;PHPSESSID=hush'><b>kept"),
            ("text/html", #"<a href="&#x2F;x;jsessionid&#x3D;hush" kept>"#),
            ("application/json", #"{"next":"/login.do;jsessionid=hush","a":"kept"}"#),
            ("application/json", #"{"next":"\/login.do;jsessionid=hush","a":"kept"}"#),
            ("application/json", #"{"next":"/x?to=/y;jsessionid=hush&a=kept"}"#),
            ("text/plain", "GET /x;token=hush HTTP/1.1\nkept"),
            ("text/plain", "see https://h.test/?to=https://b.test/&token=a/hush kept"),
            // Entities.
            ("text/html", #"<a href="https://h.test/x?a=kept&#038;token=hush">"#),
            ("text/html", #"<a href="/x?a=kept&#X26;token=hush">"#),
            ("text/html", #"<a href="/x?a=kept&AMP;pin=hush">"#),
            ("text/html", #"<a href="/x?a=kept&#38pin=hush">"#),
            ("text/html", #"<a href="/x&#x3F;a&#x3D;kept&amp;pin&#x3D;hush">"#),
            ("text/html", #"<a href="/x?a=kept&amp;api&#95;key&equals;hush">"#),
            ("text/html", #"<a href="https:&#x2F;&#x2F;u:hush@kept&#x2F;">"#),
            ("text/html", #"<p data-x="{&#034;token&#034;:&#034;hush&#034;}" kept>"#),
            ("text/html", #"<p data-x="{&QUOT;pin&QUOT;:&QUOT;hush&QUOT;}" kept>"#),
            ("text/html", #"<p data-x="{&#X22;a&#X22;:&#X22;{\&#X22;pin\&#X22;:\&#X22;hush\&#X22;}kept&#X22;}">"#),
            ("text/html", #"<p data-x="&#x7b;&#x22;pin&#x22;&#x3a;&#x22;hush&#x22;&#x7d;" kept>"#),
            ("text/html", #"<p data-x="{&quot;tokens&quot;&colon;&lbrack;&quot;hush&quot;&rsqb;,&quot;kept&quot;}">"#),
            // Escapes of scripts, in strings with single marks as well.
            ("text/html", #"<script>var u='/x?a=kept\u0026token=hush'</script>"#),
            ("text/html", #"<script>var u='/x?a=kept\x26pin\x3Dhush'</script>"#),
            ("text/html", #"<script>var u="/x\x3Fa\x3Dkept\x26pin\x3Dhush"</script>"#),
            ("text/html", #"<script>var u='/x?kept\u{26}api\u002Dkey\u003dhush'</script>"#),
            ("text/javascript", #"'https:\x2f\x2Fu:hush@kept\x2F'"#),
            ("text/javascript", #"JSON.parse('{\x22token\x22:\x22hush\x22,\x22a\x22:\x22kept\x22}')"#),
            ("text/javascript", #"f('\x7B\x22tokens\x22\x3A\x5B\x22hush\x22\x5D,\x22kept\x22')"#),
            ("text/javascript", #"f('{\u{22}pin\u{22}:\u{22}hush\u{22},\u{22}kept\u{22}:1')"#),
            ("text/javascript", #"f("{\x22pin\x22:\x22hush\x22}kept")"#),
            // Numbers in members with a secret's name, in one that is a count's.
            ("application/json", #"{"credentials":{"pin":"hush","a":"x"},"kept":1}"#),
            // Names of arrays.
            ("application/x-www-form-urlencoded", "x=kept&key[]=hush"),
            ("application/x-www-form-urlencoded", "x=kept&pin[0]=hush"),
            ("application/x-www-form-urlencoded", "x=kept&pin%5B%5D=hush&a[pin][]=hush&pin[a]=hush"),
            ("text/plain", "see /x?kept&code[]=hush"),
            // Forms that look like JSON, and names after line ends.
            ("application/x-www-form-urlencoded", #""a"=kept&password=hush"#),
            ("application/x-www-form-urlencoded", #""a=kept&password=hush"#),
            ("application/x-www-form-urlencoded", #"[1]=kept&password=hush"#),
            ("application/x-www-form-urlencoded", "[\"a\"]=kept&password=hush"),
            ("application/x-www-form-urlencoded", "\n\n{\"a\":1}=kept&password=hush"),
            ("application/x-www-form-urlencoded", "a=kept&\npin=hush"),
            ("application/x-www-form-urlencoded", "a=kept&%09pin%00=hush"),
            ("application/x-www-form-urlencoded", #"{"a":"/?b=1&token=hush","b":"kept"}"#),
            ("application/x-www-form-urlencoded", #"{"a":"kept","password":"hush"#),
            // JSON, whatever it is sent as.
            ("image/png", #"[1,{"token":"hush","a":"kept"}]"#),
            ("application/octet-stream", "[\"kept\",{\"pin\":\"hush\"}]\0"),
            ("image/png", String(repeating: " ", count: 70) + #"{"token":"hush","a":"kept"}"#),
            ("application/zip", "[null,\n{\"token\":\"hush\",\"a\":\"kept\"}]\0"),
            // Events.
            ("text/event-stream", "data: {\"access_token\":\rdata: \"hush\"}\r\rdata: kept"),
            ("text/event-stream", "data: {\"access_token\":\r\ndata: \"hush\"}\r\n\r\ndata: kept"),
        ])
    func `what is hidden is found, however it is spelled`(type: String, content: String) {
        let clean = Self.scrubbed(content, type)
        #expect(!clean.contains("hush") && clean.contains("REDACTED") != content.contains("u:hush@"), "\(clean)")
        #expect(clean.contains("kept"), "\(clean)")
        #expect(Self.scrubbed(clean, type) == clean)
    }

    @Test(
        arguments: [
            ("text/html", "<p>a;b</p>;key=c <b>/x</b>;key=d"),
            ("text/javascript", "a='/';key=d;b=\"/\";token=e;c=f/g;key=h"),
            ("text/javascript", "a=b;key=c;this.sessionId=d;f();sessionId=e;var g='\\x26token';h='\\u0026'"),
            ("text/html", #"<a href="/x;v=1/y?a=1&amp;b=2&#038;c=3&AMP;d&#x3D;4#e">&QUOT;a&QUOT;: &#034;b&#034;</a>"#),
            (
                "text/html",
                #"<a href="https://h.test/?q=&quot;a&quot;&amp;r=&lt;b&gt;">&amp;&#;&#x;&#99999999999999999999;"#
            ),
            ("application/json", #"{"token_type":"Bearer","tokenType":"bearer","token_type_hint":"access_token"}"#),
            ("application/json", #"{"tokens":{"used":12345,"max_tokens":4096},"a":{"b":[12345]}}"#),
            ("application/x-www-form-urlencoded", "a[0]=1&sort[by]=2&keys[]=3&token_type=bearer"),
            ("application/x-www-form-urlencoded", #"{"a":"b=1&c=2"}"#), ("image/png", "\"x{1,2}[pin=3"),
            ("text/javascript", #"'\x','\x2','\u','\u{','\u{22','\u{110000000000000}','\xZZ'"#),
        ])
    func `ordinary content stays`(type: String, content: String) { #expect(Self.scrubbed(content, type) == content) }

    @Test(
        arguments: [
            (#"{"credentials":{"pin":98877701}}"#, #"{"credentials":{"pin":"REDACTED"}}"#),
            (
                #"{"tokens":{"code":[98877701,{"a":12345}],"max_tokens":4096},"used":12345}"#,
                #"{"tokens":{"code":["REDACTED",{"a":"REDACTED"}],"max_tokens":4096},"used":12345}"#
            ),
            (
                #"{"tokens":{"a":{"pin":{"b":12345},"c":12345},"key":'x',"d":"y"}}"#,
                #"{"tokens":{"a":{"pin":{"b":"REDACTED"},"c":12345},"key":'REDACTED',"d":"REDACTED"}}"#
            ),
            (#"f('{\x22pin\x22:98877701}')"#, #"f('{\x22pin\x22:\x22REDACTED\x22}')"#),
        ])
    func `numbers are secrets in members within others too`(content: String, expected: String) {
        #expect(Self.scrubbed(content, "text/javascript") == expected)
    }

    @Test(
        arguments: [
            ("Link", "</x;jsessionid=hush>; rel=next"), ("X-Next-Url", "/x;jsessionid=hush"),
            ("Location", "/x?key[]=hush"), ("Link", "<https://h.test/x?a=1&#038;token=hush>"),
        ] as [(FieldName, String)])
    func `fields lose them too`(name: FieldName, value: String) {
        let clean = SecretText.scrubbed(value, of: name)
        #expect(!clean.contains("hush") && clean.contains("REDACTED"))
    }

    @Test(arguments: ["", "\n ", "\u{FEFF}", "\u{FEFF}\n"])
    func `JSON in UTF-16 is found whatever it is called`(start: String) {
        func octets(_ secret: String, isBig: Bool) -> [UInt8] {
            (start + #"[1,{"token":"\#(secret)"}]"#).utf16.flatMap { unit in
                let pair = [UInt8(unit >> 8), UInt8(unit & 255)]
                return isBig ? pair : pair.reversed()
            }
        }
        for isBig in [false, true] {
            for type in ["image/png", "application/octet-stream", "text/plain", nil] {
                #expect(
                    SecretText.scrubbed(octets("hush", isBig: isBig), type: type) == octets("REDACTED", isBig: isBig))
            }
        }
    }
}
