// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderProxy

@Suite("Quotas by credential")
struct QuotaTableTests {
    private static let second: Int64 = 1_000_000_000

    private func note(_ table: QuotaTable, _ key: String, reset: String, at moment: Int64 = 0) {
        table.note(
            ResponseHead(status: 200, fields: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset]),
            to: ["Authorization": key], of: "api", now: Timestamp(seconds: 0), at: moment)
    }

    private func pause(_ table: QuotaTable, _ key: String, at moment: Int64) -> Duration? {
        table.pause(reserve: 0, for: ["Authorization": key], of: "api", at: moment, limit: .seconds(60))
    }

    @Test(arguments: ["99999999", "999999999999999999"])
    func `no report counts for longer than the limit of all waits`(reset: String) {
        let table = QuotaTable()
        note(table, "a", reset: reset)
        #expect(pause(table, "a", at: 59 * Self.second) == .seconds(1))
        #expect(pause(table, "a", at: 60 * Self.second) == nil)
        #expect(pause(table, "b", at: 0) == nil)
    }

    @Test func `a new credential is always recorded`() {
        let table = QuotaTable()
        for number in 0..<10_001 { note(table, "\(number)", reset: "30") }
        #expect(pause(table, "10000", at: 0) == .seconds(30))
    }
}
