// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@testable import LarderProxy

@Suite("Secrets in parts of content")
struct SecretPartsTests {
    private static func scrubbed(_ content: String, _ type: String) -> String {
        String(decoding: SecretText.scrubbed(Array(content.utf8), type: type), as: UTF8.self)
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
        #expect(String(decoding: clean, as: UTF8.self) == head + head + "REDACTED")
    }

    @Test(
        arguments: [
            "Content-Disposition: form-data;\r\n name=\"password\"", "Content-Disposition: form-data ; name = password",
            "Content-Disposition: form-data; name*=utf-8''pass%77ord", "content-disposition : form-data;name=password",
            #"Content-Disposition: form-data; name="a\"; name=password"; x=y"#,
            "X: y\r\nContent-Disposition: form-data; name=\"user[password]\"",
        ], ["\r\n", "\n"])
    func `the name of a part may be written in many ways`(fields: String, lineEnd: String) {
        func form(_ value: String) -> String {
            "--B\r\n\(fields)\r\n\r\n\(value)\r\n--B\r\n\r\nx\r\n--B--\r\n".split(
                separator: "\r\n", omittingEmptySubsequences: false
            )
            .joined(separator: lineEnd)
        }
        for value in ["hush", "x--B\r\n\r\nhush", "x--B--", "--Bx"] {
            for type in ["multipart/form-data; boundary=B", "multipart/form-data", "multipart/mixed; boundary=other"] {
                #expect(Self.scrubbed(form(value), type) == form("REDACTED"))
            }
        }
    }

    @Test(
        arguments: [
            #"filename="C:\tmp\"; name="pin""#, "name\t=\t\"password\"", "\tname=pin",
            "filename=\"a\u{1}.png\"; name=\"pin\"",
            #"filename="a.png; name="password""#, #"name="pin""#, #"name="pin[]""#, #"name="pin%5B0%5D""#, #"NAME=pin"#,
            "name='pin'", #"name="p\in""#, #"name="x"; name="pin""#, #"name="pin"; filename=""#, #"name="pin"#,
            #"filename="caf\u{E9}"; name="pin""#, "filename=a(1) b.png;name=pin", "name*0=\"pas\"; name*1=\"sword\"",
            "name*=utf-8''%70in", "name*=%70in", #"filename*=utf-8''a; name="pin""#, "name=\"pin\0\"",
            #"name="=?utf-8?q?p=69n?=""#, #"x name="pin""#,
        ])
    func `a part whose name is ambiguous loses its content`(disposition: String) {
        func form(_ value: String) -> String {
            "--B\r\nContent-Disposition: form-data; \(disposition)\r\n\r\n\(value)\r\n--B--\r\n"
        }
        #expect(Self.scrubbed(form("hush"), "multipart/form-data; boundary=B") == form("REDACTED"))
    }

    @Test(
        arguments: [
            #"name="file"; filename="pin.txt""#, #"name="a"; filename="name_pin.png""#, #"filename="pin"; name="a""#,
            #"name=""; filename="C:\key\""#, #"name="a"; rename="pin""#, #"name="spin"; x=pin"#,
        ])
    func `a part with another name keeps its content`(disposition: String) {
        let form = "--B\r\nContent-Disposition: form-data; \(disposition)\r\n\r\nkept\r\n--B--\r\n"
        #expect(Self.scrubbed(form, "multipart/form-data; boundary=B") == form)
    }

    @Test func `fields of parts lose what fields of messages lose`() {
        func parts(_ secret: String) -> String {
            "--B\r\nX-Api-Key: \(secret)\r\nSet-Cookie:\(secret)\r\nContent-Location: /x;jsessionid=\(secret)\r\n\r\nx\r\n--B--"
        }
        let clean = Self.scrubbed(parts("hush"), "multipart/mixed; boundary=B")
        #expect(!clean.contains("hush") && clean.hasSuffix("\r\n\r\nx\r\n--B--"), "\(clean)")
    }

    @Test func `parts of all kinds lose their secrets, and parts of parts`() {
        func parts(_ secret: String) -> String {
            "--B\r\nContent-Type: application/json\r\n\r\n{\"token\":\"\(secret)\"}\r\n"
                + "--B\r\nContent-Type: multipart/mixed; boundary=C\r\n\r\n--C\r\n\r\n/?token=\(secret)\r\n--C--\r\n"
                + "--B\r\nContent-Type: application/octet-stream\r\n\r\n\0\u{1}\r\n--B--\r\n"
        }
        for type in ["multipart/related; boundary=B", "multipart/mixed;boundary=\"B\""] {
            #expect(Self.scrubbed(parts("hush"), type) == parts("REDACTED"))
        }
    }

    @Test func `without delimiters it is text`() {
        #expect(Self.scrubbed(#"{"token":"hush"}"#, "multipart/mixed; boundary=B") == #"{"token":"REDACTED"}"#)
    }
}
