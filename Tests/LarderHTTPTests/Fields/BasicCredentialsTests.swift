// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@Suite("RFC 7617 Basic credentials")
struct BasicCredentialsTests {
    typealias Refusal = BasicCredentials.Refusal

    private func read(_ lines: String...) -> Result<BasicCredentials, Refusal> {
        var fields = Fields()
        for line in lines {
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            fields.append(parts[0] == "Authorization" ? .authorization : .proxyAuthorization, String(parts[1]))
        }
        return BasicCredentials.read(fields, .proxyAuthorization)
    }

    @Test(arguments: [
        ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin", "open sesame"),
        // RFC 7617 §2.1: UTF-8.
        ("Basic dGVzdDoxMjPCow==", "test", "123£"),
        ("basic YTpi", "a", "b"), ("BASIC  YTpi", "a", "b"), ("Basic YTpiOmM=", "a", "b:c"),
        ("Basic YTo=", "a", ""), ("Basic Og==", "", ""), ("Basic OmI=", "", "b"),
    ])
    func `name and password are what is before and behind the first colon`(
        value: String, name: String, password: String
    ) {
        #expect(
            read("Proxy-Authorization: \(value)") == .success(BasicCredentials(name: name, password: password)))
    }

    @Test(
        arguments: [
            ("", .otherScheme), ("Basic", .notBase64), ("Bearer YTpi", .otherScheme), ("BasicYTpi", .otherScheme),
            ("Basic\tYTpi", .otherScheme), ("Digest username=\"a\"", .otherScheme),
            ("Basic YTpi, Basic YTpj", .notBase64), ("Basic YTpi YTpi", .notBase64), ("Basic YTo", .notBase64),
            ("Basic YTp=", .notBase64), ("Basic =YTp", .notBase64), ("Basic YTpi====", .notBase64),
            ("Basic YT-_", .notBase64), ("Basic \"YTpi\"", .notBase64),
            // One spelling only: bits that no octet has are zero.
            ("Basic YWI6Yx==", .notBase64), ("Basic YTpiYzE=", nil),
            ("Basic YTpiYzF=", .notBase64),
            // `a:` and an octet that is no UTF-8; NUL, a line end, DEL and one of C1 in the name or the password.
            ("Basic YTr/", .notText), ("Basic YTpiAA==", .notText), ("Basic YQo6Yg==", .notText),
            ("Basic YTpifw==", .notText), ("Basic wog6Yg==", .notText), ("Basic YWI=", .withoutColon),
        ] as [(String, Refusal?)])
    func `anything else is refused by name`(value: String, refusal: Refusal?) {
        let result = read("Proxy-Authorization: \(value)")
        if let refusal {
            #expect(result == .failure(refusal), "\(value)")
        } else {
            #expect(throws: Never.self) { try result.get() }
        }
    }

    @Test func `one field is needed, and not two`() {
        #expect(read() == .failure(.missing))
        #expect(read("Authorization: Basic YTpi") == .failure(.missing))
        #expect(read("Proxy-Authorization: Basic YTpi", "Proxy-Authorization: Basic YTpi") == .failure(.repeated))
        let long = String(repeating: "YTpi", count: 257)
        #expect(read("Proxy-Authorization: Basic \(long)") == .failure(.tooLong))
    }
}
