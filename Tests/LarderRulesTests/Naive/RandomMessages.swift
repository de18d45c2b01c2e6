// SPDX-License-Identifier: Apache-2.0

import LarderHTTP
import LarderRules

/// A generator whose sequences can be repeated from their seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z &>> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z &>> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z &>> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
    mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: 0..<elements.count, using: &self)]
    }
}

/// Makes messages of values that matter, near their borders, and of values that are wrong.
struct RandomMessages {
    var random: SeededGenerator
    /// Every date that was ever written, with its milliseconds.
    private(set) var dates: [String: Int] = [:]

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// A date so many seconds from `now`, in milliseconds since the epoch of the tests, in one of the three forms.
    mutating func date(_ seconds: Int, from now: Int) -> String {
        let second = Int((Double(now) / 1000).rounded(.down)) + seconds
        let fixdate = Timestamp.at(Double(second)).httpDate
        dates[fixdate] = second * 1000
        if random.chance(90) { return fixdate }
        // "Sun, 09 Sep 2001 01:46:40 GMT" as C would write it.
        let parts = fixdate.split(separator: " ").map(String.init)
        let day = parts[1].hasPrefix("0") ? " " + parts[1].dropFirst() : parts[1]
        let asctime = "\(parts[0].dropLast()) \(parts[2]) \(day) \(parts[4]) \(parts[3])"
        dates[asctime] = second * 1000
        return asctime
    }

    mutating func policy() -> NaivePolicy {
        var policy = NaivePolicy()
        policy.isShared = random.chance(75)
        if random.chance(40) {
            policy.expirationTime = random.pick([1000, 5000, 30_000])
            policy.mode = random.pick(["fallback", "fallback", "cap", "floor", "override"])
        }
        if random.chance(30) { policy.retryTime = random.pick([1000, 2000]) }
        if random.chance(20) { policy.staleWhileRevalidate = random.pick([1000, 10_000]) }
        if random.chance(30) { policy.staleIfError = random.pick([5000, 86_400_000]) }
        if random.chance(30) { policy.targets = ["cdn-cache-control"] }
        return policy
    }

    mutating func request(now: Int) -> NaiveMessage {
        var request = NaiveMessage()
        request.method = random.chance(85) ? "GET" : random.pick(["HEAD", "HEAD", "POST", "PUT", "DELETE", "FROB"])
        add(&request, "cache-control", 35) { Self.list(&$0.random, Self.wishes, most: 3) }
        add(&request, "pragma", 5) { $0.random.pick(["no-cache", "foo"]) }
        add(&request, "foo", 50) { $0.random.pick(["1", "2", "1, 2"]) }
        add(&request, "foo", 5) { $0.random.pick(["2", ""]) }
        add(&request, "accept-language", 30) { $0.random.pick(["en", "EN", "de, en", "DE,en", "de"]) }
        add(&request, "authorization", 15) { _ in "Basic x" }
        add(&request, "cookie", 10) { _ in "a=b" }
        add(&request, "range", 12) {
            $0.random.pick([
                "bytes=0-4", "bytes=2-3", "bytes=-5", "bytes=5-", "bytes=0-1,4-5", "bytes=3-2", "bytes=90-", "bytes=-0",
                "lines=0-4",
            ])
        }
        if request.has("range") {
            add(&request, "if-range", 25) {
                $0.random.pick(["\"a\"", "\"b\"", "W/\"a\"", $0.date($0.random.pick([-600, -50]), from: 0)])
            }
        }
        add(&request, "if-none-match", 15) { $0.random.pick(["\"a\"", "\"b\", \"a\"", "W/\"a\"", "*", "c", "\"c\""]) }
        add(&request, "if-modified-since", 10) {
            $0.random.pick([$0.date(-600, from: 0), $0.date(-50, from: 0), $0.date(0, from: now), "x"])
        }
        add(&request, "if-match", 2) { _ in "\"a\"" }
        add(&request, "if-unmodified-since", 1) { $0.date(0, from: 0) }
        add(&request, "content-length", 3) { $0.random.pick(["0", "3"]) }
        return request
    }

    mutating func response(to request: NaiveMessage, now: Int, status: Int? = nil) -> NaiveMessage {
        var response = NaiveMessage()
        // A response without a date gets that of its receipt when it is stored.
        _ = date(0, from: now)
        response.status =
            status
            ?? (random.chance(70)
                ? 200 : random.pick([200, 203, 204, 299, 301, 302, 400, 403, 404, 410, 412, 416, 500, 501, 503, 599]))
        if status == nil, response.status == 200, request.has("range"), random.chance(60) { response.status = 206 }
        add(&response, "cache-control", 65) { Self.list(&$0.random, Self.directives, most: 4) }
        add(&response, "cache-control", 8) { Self.list(&$0.random, Self.directives, most: 2) }
        add(&response, "cdn-cache-control", 12) {
            $0.random.pick([
                "max-age=5", "no-store", "max-age=60, must-revalidate", "private", "no-cache", "max-age =5", "",
            ])
        }
        add(&response, "expires", 20) {
            $0.random.pick([
                $0.date(5, from: now), $0.date(60, from: now), $0.date(-5, from: now), "0", $0.date(0, from: now),
            ])
        }
        add(&response, "expires", 2) { $0.date(600, from: now) }
        add(&response, "date", 60) { $0.date($0.random.pick([0, 0, 0, -3, -30, 5, 3600]), from: now) }
        add(&response, "date", 2) { _ in "junk" }
        add(&response, "age", 20) {
            $0.random.pick(["0", "3", "30", "4294967297", "99999999999999999999", "x", "3, 400", "-1", "5.5"])
        }
        add(&response, "age", 3) { _ in "7" }
        add(&response, "last-modified", 35) {
            $0.random.pick([
                $0.date(-600, from: 0), $0.date(-50, from: 0), $0.date(-3, from: now), $0.date(9, from: now), "x",
            ])
        }
        add(&response, "etag", 45) { $0.random.pick(["\"a\"", "\"b\"", "W/\"a\"", "c"]) }
        add(&response, "etag", 1) { _ in "\"z\"" }
        add(&response, "vary", 25) {
            $0.random.pick(["Foo", "foo, Accept-Language", "accept-language", "", ",", "*", "Foo, *", "a b"])
        }
        add(&response, "pragma", 8) { $0.random.pick(["no-cache", "foo"]) }
        add(&response, "set-cookie", 10) { $0.random.pick(["a=1", "b=2"]) }
        add(&response, "x-a", 30) { $0.random.pick(["1", "2"]) }
        add(&response, "x-hop", 5) { _ in "1" }
        if response.has("x-hop") { response.headers.append(("connection", "X-Hop, cache-control")) }
        add(&response, "content-type", 20) { $0.random.pick(["a/b", "c/d"]) }
        add(&response, "content-location", 10) { $0.random.pick(["/a", "a", "/b", "http://other.example/a"]) }
        add(&response, "location", 8) { $0.random.pick(["/c", "http://origin.example/d", "https://origin.example/e"]) }
        if response.status == 206 {
            add(&response, "content-range", 95) {
                $0.random.pick([
                    "bytes 0-4/10", "bytes 5-9/10", "bytes 2-6/10", "bytes 0-4/*", "bytes 4-9/10", "bytes 0-99/5",
                    "lines 0-4/10",
                ])
            }
        }
        return response
    }

    private mutating func add(
        _ message: inout NaiveMessage, _ name: String, _ percent: Int, _ value: (inout RandomMessages) -> String
    ) {
        if random.chance(percent) { message.headers.append((name, value(&self))) }
    }

    private static func list(_ random: inout SeededGenerator, _ members: [String], most: Int) -> String {
        (0..<Int.random(in: 1...most, using: &random)).map { _ in random.pick(members) }
            .joined(separator: random.pick([", ", ",", " , ", ",,\t"]))
    }

    private static let wishes = [
        "no-cache", "no-store", "max-age=0", "max-age=3", "max-age=30", "max-stale", "max-stale=3", "max-stale=x",
        "min-fresh=2",
        "min-fresh=100", "only-if-cached", "stale-if-error=10", "nothing-to-see-here", "NO-CACHE", "max-age=\"5\"",
        "max-age= 5",
    ]

    private static let directives = [
        "max-age=0", "max-age=2", "max-age=5", "max-age=60", "MAX-AGE=60", "max-age=\"5\"", "max-age=x", "max-age=5.5",
        "max-age",
        "max-age =60", "max-age= 60", "max-age='60'", "max-age=99999999999999999999", "s-maxage=5", "s-maxage=x",
        "no-store", "no-cache",
        "no-cache=\"x-a\"", "no-cache=\"Set-Cookie, X-A\"", "no-cache=\"vary\"", "no-cache=\"\"", "private",
        "private=\"x-a\"",
        "private=x-a", "private; x", "public", "public x", "must-revalidate", "proxy-revalidate", "must-understand",
        "immutable",
        "no-transform", "stale-while-revalidate=3", "stale-while-revalidate=x", "stale-if-error=3",
        "stale-if-error=600",
        "ext=\"no-store, max-age=1\"", "ext=\"open", "max-age=60;x", "unknown",
    ]
}
