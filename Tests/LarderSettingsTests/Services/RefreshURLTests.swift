// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderSettings
import Testing

@Suite("URLs of refreshes")
struct RefreshURLTests {
    @Test(arguments: [
        ("/token", "https://api.test/v1/token"), ("/token?a=b", "https://api.test/v1/token?a=b"),
        ("https://login.test/token", "https://login.test/token"), ("token", nil), ("//x/token", nil),
        ("ftp://x/", nil), ("", nil),
    ]) func `a refresh has a path below the base or a URL`(_ text: String, _ result: String?) throws {
        let base = try TargetURI("https://api.test/v1/")
        #expect(RefreshURL(text)?.resolved(below: base)?.string == result)
    }
}
