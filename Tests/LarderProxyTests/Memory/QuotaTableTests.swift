// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import Testing

@testable import LarderProxy

@Suite("Quotas by credential")
struct QuotaTableTests {
    private static let second: Int64 = 1_000_000_000

    private func head(_ key: String, _ path: String) -> RequestHead {
        RequestHead(method: .get, target: path, fields: ["Authorization": key])
    }

    private func note(
        _ table: QuotaTable, _ key: String, _ path: String = "/", remaining: String = "0", reset: String,
        limit: String? = nil, resource: String? = nil, insists: Bool = false, at moment: Int64 = 0
    ) {
        var fields: Fields = ["X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset]
        if let limit { fields["X-RateLimit-Limit"] = limit }
        if let resource { fields["X-RateLimit-Resource"] = resource }
        table.note(
            ResponseHead(status: 200, fields: fields), to: head(key, path), insists: insists, of: "api",
            now: Timestamp(seconds: 0), at: moment)
    }

    private func pause(_ table: QuotaTable, _ key: String, _ path: String = "/", at moment: Int64) -> Duration? {
        table.pause(reserve: 0, for: head(key, path), of: "api", at: moment, limit: .seconds(60))
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

    @Test(arguments: [("search", "core"), (nil, nil)])
    func `one quota of several says nothing about the others`(small: String?, great: String?) {
        let table = QuotaTable()
        note(table, "a", "/search?q=1", reset: "30", limit: "30", resource: small)
        note(table, "a", "/users", remaining: "4000", reset: "3000", limit: "5000", resource: great)
        #expect(pause(table, "a", "/search?q=2", at: 0) == .seconds(30))
        #expect(pause(table, "a", "/users", at: 0) == nil)
        // It has not been asked yet.
        #expect(pause(table, "a", "/repos", at: 0) == nil)
        note(table, "a", "/users", remaining: "0", reset: "3000", limit: "5000", resource: great)
        #expect(pause(table, "a", "/repos", at: 0) == .seconds(60))
    }

    @Test func `a path that reports no quota has none`() {
        let table = QuotaTable()
        note(table, "a", "/limited", reset: "30")
        #expect(pause(table, "a", "/free", at: 0) == .seconds(30))
        table.note(
            ResponseHead(status: 200), to: head("a", "/free"), insists: true, of: "api", now: Timestamp(seconds: 0),
            at: 1)
        #expect(pause(table, "a", "/free", at: 2) == nil)
        #expect(pause(table, "a", "/limited", at: 2) != nil)
    }

    @Test func `an error that reports no quota does not mean that its path has none`() {
        let table = QuotaTable()
        note(table, "a", "/limited", reset: "30")
        table.note(
            ResponseHead(status: 404), to: head("a", "/limited"), insists: true, of: "api", now: Timestamp(seconds: 0),
            at: 1)
        #expect(pause(table, "a", "/limited", at: 2) != nil)
    }

    @Test func `of quotas without limits the one of which most is left is that of new paths`() {
        for _ in 0..<20 {
            let table = QuotaTable()
            for name in ["a", "b", "c", "d"] { note(table, "k", "/\(name)", reset: "30", resource: name) }
            note(table, "k", "/core", remaining: "1000", reset: "30", resource: "core")
            #expect(pause(table, "k", "/new", at: 0) == nil)
        }
    }

    @Test func `of too many quotas the one that is reset first is forgotten`() {
        let table = QuotaTable()
        for number in 0..<40 { note(table, "k", "/\(number)", reset: "\(20 + number)", resource: "\(number)") }
        #expect(pause(table, "k", "/39", at: 0) == .seconds(59))
        #expect(pause(table, "k", "/0", at: 0) == nil)
        #expect(table.all(at: 0).count == 16)
    }

    @Test func `nobody who is let through in any case prolongs a wait`() {
        let table = QuotaTable()
        note(table, "a", reset: "99999")
        for second in 1..<60 { note(table, "a", reset: "99999", insists: true, at: Int64(second) * Self.second) }
        #expect(pause(table, "a", at: 59 * Self.second) == .seconds(1))
        #expect(pause(table, "a", at: 60 * Self.second) == nil)
        // The next who is not finds out.
        note(table, "a", reset: "99999", at: 61 * Self.second)
        #expect(pause(table, "a", at: 62 * Self.second) == .seconds(59))
    }

    @Test func `where nothing is reserved, responses without quotas leave nothing`() {
        let table = QuotaTable()
        note(table, "a", "/limited", reset: "30")
        table.note(
            ResponseHead(status: 200), to: head("a", "/free"), insists: false, hasReserve: false, of: "api",
            now: Timestamp(seconds: 0), at: 1)
        // It counts as one that has not been asked yet.
        #expect(pause(table, "a", "/free", at: 2) != nil)
    }
}
