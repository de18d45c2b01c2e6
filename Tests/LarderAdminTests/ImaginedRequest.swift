// SPDX-License-Identifier: Apache-2.0

import LarderHTTP

/// Numbers that are the same each time for one seed (SplitMix64).
struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &self)! }
}

/// A request out of everything that the decision about it looks at.
struct ImaginedRequest {
    var method: LarderHTTP.Method
    var lines: [String]
    var content = ""

    /// One without any requirements.
    init(_ method: LarderHTTP.Method) { (self.method, lines) = (method, []) }

    init(_ random: inout SeededNumbers) {
        let methods: [LarderHTTP.Method] = [.get, .head, .post, .delete, .options, .query]
        method = random.chance(75) ? .get : random.pick(methods)
        lines = []
        if random.chance(35) { lines.append(random.pick(Self.directives)) }
        if random.chance(12) { lines.append(random.pick(Self.preconditions)) }
        if random.chance(12) { lines.append(random.pick(Self.ranges)) }
        if random.chance(30) { lines.append("Accept-Language: \(random.pick(["de", "en"]))") }
        if random.chance(12) { lines.append("Authorization: Bearer \(random.pick(["anna", "ben"]))") }
        if random.chance(8) { lines.append("Cookie: a=\(random.pick(["1", "2"]))") }
        if random.chance(4) { lines += ["Connection: upgrade", "Upgrade: websocket"] }
        if !method.isSafe || method == .query || random.chance(3) {
            content = "12345"
            lines.append("Content-Length: 5")
        } else if random.chance(6) {
            lines.append("Content-Length: 0")
        }
    }

    private static let directives = [
        "Cache-Control: no-cache", "Cache-Control: no-store", "Cache-Control: max-age=0", "Cache-Control: max-age=30",
        "Cache-Control: max-stale", "Cache-Control: max-stale=60", "Cache-Control: min-fresh=20",
        "Cache-Control: only-if-cached", "Cache-Control: only-if-cached, max-stale",
        "Cache-Control: stale-if-error=600",
        "Cache-Control: nothing-to-see-here", "Pragma: no-cache", "Pragma: foo",
    ]
    private static let preconditions = [
        "If-None-Match: \"a\"", "If-None-Match: \"other\"", "If-Match: \"a\"",
        "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT", "If-Unmodified-Since: Tue, 14 Nov 2023 22:13:20 GMT",
    ]
    private static let ranges = ["Range: bytes=0-4", "Range: bytes=5-", "Range: bytes=-3", "Range: bytes=50-60"]

    /// The fields as a parsed request has them.
    var fields: Fields { Fields(lines: lines) }
}

/// A response out of everything that the decision about a later request looks at.
struct ImaginedResponse {
    var status: Status
    var lines: [String] = []
    var content = "0123456789"
    /// Of the request it was given to.
    var requestLines: [String] = []

    init(_ random: inout SeededNumbers) {
        status = random.chance(80) ? 200 : random.pick([404, 206, 301, 503])
        if status == 206 {
            lines.append("Content-Range: bytes 0-4/10")
            requestLines.append("Range: bytes=0-4")
            content = "01234"
        }
        if random.chance(90) { lines.append("Cache-Control: " + random.pick(Self.directives)) }
        if random.chance(10) { lines.append("Age: \(random.pick([5, 50]))") }
        if random.chance(60) { lines.append("ETag: \"a\"") }
        if random.chance(30) { lines.append("Last-Modified: Mon, 13 Nov 2023 22:13:20 GMT") }
        if random.chance(25) {
            lines.append("Vary: Accept-Language")
            requestLines.append("Accept-Language: \(random.pick(["de", "en"]))")
        }
        if random.chance(8) { requestLines.append("Authorization: Bearer anna") }
    }

    private static let directives = [
        "max-age=60", "max-age=60", "max-age=600", "max-age=10", "no-cache", "max-age=60, must-revalidate",
        "max-age=30, stale-while-revalidate=300", "max-age=30, stale-if-error=30", "s-maxage=60", "public, max-age=60",
        "max-age=30, no-cache=\"Set-Cookie\"",
    ]
}

extension Fields {
    /// Makes a section of `Name: value` lines.
    init(lines: [String]) {
        self.init()
        for line in lines {
            guard let colon = line.firstIndex(of: ":"), let name = FieldName(line[..<colon]) else {
                preconditionFailure("'\(line)' is no field line")
            }
            append(name, line[line.index(after: colon)...].drop { $0 == " " })
        }
    }
}
