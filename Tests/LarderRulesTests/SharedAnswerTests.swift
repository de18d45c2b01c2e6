// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import Testing

@Suite("RFC 9111 §4 Collapsed requests")
struct SharedAnswerTests {
    private func mayShare(
        _ directives: String, _ leader: String, _ follower: String, _ policy: CachePolicy = CachePolicy()
    )
        -> Bool
    {
        let stored = StoredResponse.stored(.ok(cacheControl: directives), policy: policy)
        return Reuse.mayShare(
            stored, askedFor: Fields(lines: [leader]), with: Fields(lines: [follower]), policy: policy, now: .at(0))
    }

    @Test func `what is fresh may be shared`() {
        #expect(mayShare("max-age=60", "Cookie: a", "Cookie: b"))
    }

    @Test(arguments: ["no-cache", "max-age=0", "no-cache=\"Set-Cookie\", max-age=60", "must-revalidate"])
    func `what is not is for those who are nobody in particular`(directives: String) {
        #expect(!mayShare(directives, "Cookie: a", "Cookie: b"))
        #expect(!mayShare(directives, "Cookie: a", "Accept: b"))
        #expect(!mayShare(directives, "Accept: a", "X-Api-Key: b"))
        #expect(mayShare(directives, "Accept: a", "Accept: a"))
        #expect(mayShare(directives, "Cookie: a", "Cookie: a", .with { $0.role = .private }))
    }
}
