// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules
import RawStructuredFieldValues
import Testing

/// A member as another implementation reads it: its identifier and its parameters.
private func read(_ value: String) throws -> [(name: RFC9651BareItem, parameters: [String: RFC9651BareItem])] {
    var parser = StructuredFieldValueParser(Array(value.utf8))
    return try parser.parseListFieldValue().compactMap { member in
        guard case .item(let item) = member else { return nil }
        return (item.rfc9651BareItem, Dictionary(uniqueKeysWithValues: Array(item.rfc9651Parameters)))
    }
}

@Suite("RFC 9211 Cache-Status")
struct CacheStatusTests {
    typealias Case = Row<CacheStatus, [String: RFC9651BareItem]>

    static let cases: [Case] = [
        Case("a hit", CacheStatus(.hit), ["hit": .bool(true)]),
        Case("with its lifetime", CacheStatus(.hit, ttl: .seconds(376.9)), ["hit": .bool(true), "ttl": .integer(376)]),
        Case(
            "a stale one", CacheStatus(.hit, ttl: .seconds(-411.5), detail: "max-stale"),
            ["hit": .bool(true), "ttl": .integer(-412), "detail": .token("max-stale")]),
        Case("a miss", CacheStatus(.forward(.uriMiss)), ["fwd": .token("uri-miss")]),
        Case(
            "a stored one", CacheStatus(.forward(.varyMiss, status: 200, stored: true)),
            ["fwd": .token("vary-miss"), "fwd-status": .integer(200), "stored": .bool(true)]),
        Case(
            "validated", CacheStatus(.forward(.stale, status: 304), ttl: .seconds(60)),
            ["fwd": .token("stale"), "fwd-status": .integer(304), "ttl": .integer(60)]),
        Case(
            "collapsed", CacheStatus(.forward(.uriMiss, collapsed: true)),
            ["fwd": .token("uri-miss"), "collapsed": .bool(true)]),
        Case(
            "not collapsed after all", CacheStatus(.forward(.uriMiss, collapsed: false)),
            ["fwd": .token("uri-miss"), "collapsed": .bool(false)]),
        Case(
            "strings with anything in them", CacheStatus(.hit, key: "a\"b\\c\u{1F600}\n", detail: "two words"),
            ["hit": .bool(true), "key": .string("a\"b\\c??"), "detail": .string("two words")]),
        Case(
            "a detail that looks like a number", CacheStatus(.hit, detail: "12"),
            ["hit": .bool(true), "detail": .string("12")]),
        Case("no detail", CacheStatus(.hit, detail: ""), ["hit": .bool(true), "detail": .string("")]),
    ]

    @Test(arguments: cases)
    func `a member reads as what it means`(_ row: Case) throws {
        let members = try read(row.input.member())
        #expect(members.count == 1)
        #expect(members.first?.name == .token("Larder"))
        #expect(members.first?.parameters == row.output)
    }

    @Test(arguments: ForwardReason.allCases)
    func `every reason is a word of the RFC`(_ reason: ForwardReason) throws {
        let words = ["bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"]
        #expect(words.contains(reason.rawValue))
        #expect(try read(CacheStatus(.forward(reason)).member()).first?.parameters == ["fwd": .token(reason.rawValue)])
    }

    @Test func `decisions become members, refusals do not`() {
        let selection = ReuseDecision.Selection(index: 0, age: .seconds(70), ttl: .seconds(-10))
        #expect(CacheStatus(.answer(selection))?.member() == "Larder; hit; ttl=-10")
        #expect(CacheStatus(.answerStale(selection, .offline))?.member() == "Larder; hit; ttl=-10; detail=offline")
        #expect(CacheStatus(.validate(selection, .request))?.member() == "Larder; fwd=request")
        #expect(CacheStatus(.forward(.partial, fallback: nil))?.member() == "Larder; fwd=partial")
        #expect(CacheStatus(.refuse(.onlyIfCached)) == nil)
    }
}

@Suite("RFC 9209 Proxy-Status")
struct ProxyStatusTests {
    @Test(arguments: ProxyStatus.ErrorType.allCases)
    func `every error reads as a token`(_ error: ProxyStatus.ErrorType) throws {
        #expect(try read(ProxyStatus(error).member()).first?.parameters == ["error": .token(error.rawValue)])
    }

    @Test func `all parameters read as what they mean`() throws {
        let status = ProxyStatus(.connectionRefused, receivedStatus: 200, details: "no \"luck\"")
        let member = try #require(try read(status.member()).first)
        #expect(member.name == .token("Larder"))
        #expect(
            member.parameters == [
                "error": .token("connection_refused"), "received-status": .integer(200),
                "details": .string("no \"luck\""),
            ])
    }
}
