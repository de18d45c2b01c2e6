// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderRules
import Testing

/// Nanoseconds that this thread has run.
func threadTime() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}

/// Nobody's head may cost much more than another of the same length: what is read of it is read in time that grows as
/// it does. Times are those of this thread alone, and only their growth is looked at.
@Suite("What reading a head costs", .serialized)
struct ReadingCostTests {
    /// Values made to have something looked for again and again.
    private static let units: [@Sendable (Int) -> String] = [
        { "a\($0)," }, { "a\($0)=1, " }, { ";a\($0)" }, { "a;b\($0)=1, " }, { "\"g\($0)\", " }, { _ in "\"\\\"" },
        { _ in "\\\"" }, { _ in "a=\"" }, { _ in "a b\"\\" }, { _ in "," }, { _ in "; " }, { _ in "(" },
        { _ in "(a) " },
        { _ in "W/\"" }, { "W/\"\($0)\"," }, { "\"\($0)," }, { "\($0)-\($0)," }, { "bytes=\($0)-," }, { _ in "=" },
        { "private=\"a\($0)\"," }, { "no-cache=\"a\($0)\", " }, { "gzip;q=0.\($0 % 1000)," }, { _ in "%41" },
        { _ in "/.." }, { "a\($0)=b; " }, { _ in "\t" }, { _ in "9" }, { _ in "Mon, " }, { _ in "1.1 a (" },
    ]

    private static let names: [FieldName] = [
        .accept, .acceptEncoding, .acceptLanguage, .age, .authorization, .cacheControl, .cdnCacheControl, .connection,
        .contentEncoding, .contentLength, .contentLocation, .contentRange, .contentType, .cookie, .date, .eTag, .expect,
        .expires, .ifMatch, .ifModifiedSince, .ifNoneMatch, .ifRange, .lastModified, .link, .location, .maxForwards,
        .pragma, .range, .retryAfter, .setCookie, .surrogateControl, .cacheGroups, .cacheGroupInvalidation, .te,
        .trailer, .transferEncoding, .upgrade, .vary, .via, .warning, "RateLimit", "RateLimit-Reset", "Surrogate-Key",
    ]

    private func value(_ unit: (Int) -> String, octets: Int, opening: String) -> String {
        var value = opening
        value.reserveCapacity(octets + 32)
        var number = 0
        while value.utf8.count < octets {
            value += unit(number)
            number += 1
        }
        return value
    }

    /// Everything that is read of a request and of the response to it.
    private func readAll(_ fields: Fields) {
        let request = RequestHead(method: .get, target: "/a", fields: fields)
        let response = ResponseHead(status: 200, fields: fields)
        let policy = CachePolicy()
        let stored = StoredResponse.stored(response)
        _ = CacheControl.Request(fields)
        _ = CacheControl.Response(fields, targets: [.cdnCacheControl, .surrogateControl])
        _ = Storability.decide(
            request: request, target: target, response: response, policy: policy, responseTime: epoch)
        _ = Reuse.decide(request: request, candidates: [stored], policy: policy, now: .at(5))
        _ = Preconditions.evaluate(request, against: stored)
        _ = Ranges.evaluate(request, against: stored)
        _ = Invalidation.decide(method: .post, target: target, status: 200, response: fields)
        _ = Invalidation.groups(of: fields, surrogateKey: "Surrogate-Key")
        _ = RetryAfter.pause(ResponseHead(status: 429, fields: fields), now: epoch)
        let variance = Variance(vary: fields, request: fields)
        _ = variance.matches(fields)
        _ = ConnectionOptions(fields)
        _ = AcceptedCodings(fields)
        _ = ContentRange(fields)
        var forwarded = fields
        HopByHop.strip(&forwarded, for: .forwardRequest)
        _ = Freshening.freshen(
            stored, with: ResponseHead(status: 304, fields: fields), to: request, requestTime: epoch,
            responseTime: epoch, policy: policy)
    }

    /// Octets of the shorter value: four times as many with `LARDER_FULL`, which takes a minute.
    private static let shortest = getenv("LARDER_FULL") != nil ? 4 << 10 : 1 << 10

    /// Nanoseconds of this thread; the least of several tries.
    private func cost(_ fields: Fields, tries: Int) -> Int64 {
        (0..<tries).map { _ in
            let start = threadTime()
            readAll(fields)
            return threadTime() - start
        }.min() ?? 0
    }

    @Test(arguments: names)
    func `four times as long a value costs no more than a little over four times as much`(name: FieldName) {
        for (index, unit) in Self.units.enumerated() {
            for opening in ["", "a b\""] {
                var long = Fields()
                long.append(name, value(unit, octets: 4 * Self.shortest, opening: opening))
                // A quick reading is too short to be compared.
                guard cost(long, tries: 1) > Self.shortest * 1250 else { continue }
                var short = Fields()
                short.append(name, value(unit, octets: Self.shortest, opening: opening))
                let most = cost(long, tries: 4)
                let ratio = Double(most) / Double(max(cost(short, tries: 4), 1))
                #expect(ratio < 9, "\(name), value \(index) behind ‘\(opening)’: \(most) ns")
            }
        }
    }

    @Test func `a response that varies by more fields than anybody means is never reused`() {
        let many = (0...Variance.fieldLimit).map { "a\($0)" }.joined(separator: ", ")
        #expect(Variance(vary: Fields(lines: ["Vary: \(many)"]), request: Fields()).matchesNothing)
        let some = (0..<Variance.fieldLimit).map { "a\($0)" }.joined(separator: ", ")
        #expect(!Variance(vary: Fields(lines: ["Vary: \(some)"]), request: Fields()).matchesNothing)
    }

    @Test(arguments: ["private", "no-cache"])
    func `a directive about more fields than anybody means is about the response`(directive: String) {
        for value in [
            (0...64).map { "a\($0)" }.joined(separator: ","),
            (0...64).map { "a\($0)" }.joined(separator: "\", \(directive)=\""),
        ] {
            let directives = CacheControl.Response(Fields(lines: ["Cache-Control: \(directive)=\"\(value)\""]))
            #expect(!directives.flags.isDisjoint(with: [.isPrivate, .noCache]))
        }
    }

    @Test func `a targeted field with more members than anybody means forbids to store`() {
        let value = (0..<300).map { "a\($0)" }.joined(separator: ",")
        let fields = Fields(lines: ["CDN-Cache-Control: max-age=60,\(value)", "Cache-Control: max-age=60"])
        let directives = CacheControl.Response(fields, targets: [.cdnCacheControl])
        #expect(directives.flags.contains(.noStore))
        #expect(directives.isTargeted)
    }

    @Test func `what stands behind a string that does not end is read, whatever strings follow`() {
        let fields = Fields(lines: ["Cache-Control: max-age=60, x=\"\\\"\\\", private, no-store"])
        #expect(CacheControl.Response(fields).flags.isSuperset(of: [.isPrivate, .noStore]))
    }
}
