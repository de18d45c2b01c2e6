// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderAdmin

@Suite("Shown fields")
struct ShownFieldsTests {
    static let fields: Fields = [
        "Content-Type": "text/plain", "X-Session-Token": "a", "X-Password": "b", "Surrogate-Key": "c",
        "Location": "/?signature=d", "Set-Cookie": "e=f", "Link": "</?token=g>; rel=next",
    ]

    @Test func `fields that look like credentials are shown without their values`() {
        #expect(
            ShownFields.lines(json: Self.fields, areForOne: false)
                == .strings([
                    "Content-Type: text/plain", "x-session-token: [redacted]", "x-password: [redacted]",
                    "surrogate-key: c", "Location: /?signature=REDACTED", "Set-Cookie: [redacted]",
                    "Link: </?token=REDACTED>; rel=next",
                ]))
    }

    @Test func `of a response for one user, only fields for caches are shown`() {
        #expect(ShownFields.lines(json: Self.fields, areForOne: true) == .strings(["Content-Type: text/plain"]))
    }
}
