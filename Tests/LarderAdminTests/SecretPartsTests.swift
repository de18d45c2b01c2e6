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
