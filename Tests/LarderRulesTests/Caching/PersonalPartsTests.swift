// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import Testing

@testable import LarderRules

/// Parts of what is stored for all, and parts that may be one user's.
@Suite("Parts for one user")
struct PersonalPartsTests {
    static let old = "Last-Modified: Mon, 03 Sep 2001 00:00:00 GMT"

    private static func stored(_ lines: String...) -> StoredResponse {
        StoredResponse(
            status: 200, fields: Fields(lines: lines + ["Cache-Control: max-age=100", "X-User: nobody"]),
            requestTime: .at(0), responseTime: .at(0),
            extent: .parts([ByteRange(first: 0, last: 4)], completeLength: 10), policy: CachePolicy())
    }

    private static func combine(
        _ stored: StoredResponse, _ request: RequestHead, _ lines: String...
    ) -> CombineDecision {
        let response = ResponseHead(
            status: 206, fields: Fields(lines: lines + ["Content-Range: bytes 5-9/10", "X-User: ann"]))
        return PartialContent.combine(
            stored, with: response, to: request, contentLength: 5, requestTime: .at(1), responseTime: .at(1),
            policy: CachePolicy())
    }

    private static let user = RequestHead.get("Cookie: sid=ann")

    @Test(arguments: ["Expires: 0", "Cache-Control: max-age=0", "Cache-Control: no-cache", "X: 1"])
    func `a date shows nobody's part to be another's`(_ line: String) {
        let date = "Date: Thu, 01 Jan 2026 00:00:00 GMT"
        let stored = Self.stored(Self.old, date)
        guard case .separate(.validator) = Self.combine(stored, Self.user, Self.old, date, line) else {
            Issue.record("combined")
            return
        }
        guard case .combined(_, isForAll: true) = Self.combine(stored, .get(), Self.old, date, line) else {
            Issue.record("not combined, for a client without credentials")
            return
        }
    }

    @Test func `no rest is asked for by a date with a user's credentials`() {
        let stored = Self.stored(Self.old, "Date: Thu, 01 Jan 2026 00:00:00 GMT")
        #expect(PartialContent.fill(stored, for: Self.user, policy: CachePolicy()) == .asItIs(.noStrongValidator))
        guard case .ask = PartialContent.fill(stored, for: .get(), policy: CachePolicy()) else {
            Issue.record("not asked for")
            return
        }
        guard case .ask = PartialContent.fill(Self.stored("ETag: \"a\""), for: Self.user, policy: CachePolicy()) else {
            Issue.record("not asked for by a tag")
            return
        }
    }

    @Test(arguments: [
        (user, "Expires: 0"), (user, "Cache-Control: no-cache"), (user, "X-New: 1"),
        (.get(), "Set-Cookie: sid=ann\r\nExpires: 0"),
    ])
    func `a user's fields are not put into what is stored for all, whatever the tag`(
        _ request: RequestHead, _ lines: String
    ) {
        let own = lines.split(separator: "\r\n").map(String.init)
        let decision = Self.combine(Self.stored("ETag: \"a\""), request, "ETag: \"a\"", own[0], own.last!)
        guard case .combined(let answer, isForAll: false) = decision else {
            Issue.record("\(decision)")
            return
        }
        #expect(answer.fields["X-User"] == "ann")
    }

    @Test func `a part that the origin lets others use is for all`() {
        let decision = Self.combine(
            Self.stored("ETag: \"a\""), Self.user, "ETag: \"a\"", "Cache-Control: max-age=100")
        guard case .combined(_, isForAll: true) = decision else {
            Issue.record("\(decision)")
            return
        }
    }
}
