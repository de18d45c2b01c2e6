// SPDX-License-Identifier: Apache-2.0
import LarderHTTP
import LarderRules
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Users and strangers who ask for the same few things at once, in any order, of an origin that makes everything for
/// whom it recognises and says with each answer whom that was.
struct IdentityGame {
    let seed: UInt64
    let count: Int

    /// The service tells users apart by these, whatever else a request carries.
    static let identity: [Identity.Part] = [.field(.authorization), .field("X-Api-Key"), .cookie("session")]

    /// The fields of clients; each is somebody else, but for the fields that the service is told to ignore.
    static let people: [(identity: String, lines: [String])] = [
        ("", []),
        ("", ["Cookie: theme=dark"]),
        ("", ["X-Auth-Token: zoe"]),
        ("anna", ["Authorization: Bearer anna"]),
        ("anna", ["Authorization: Bearer anna", "Cookie: theme=light"]),
        ("ben", ["Authorization: Bearer ben"]),
        ("carl", ["X-Api-Key: carl"]),
        ("dora", ["Cookie: session=dora; theme=dark"]),
        ("eve", ["Cookie: session=dora", "X-Api-Key: carl"]),
        ("frank", ["Authorization: Bearer anna", "X-Api-Key: carl"]),
    ]

    /// The origin's directives, by path, and whether a shared cache may give to others what somebody got.
    static let paths: [(directives: String, isPublic: Bool)] = [
        ("private, max-age=600", false), ("private, no-cache", false), ("max-age=600", false), ("max-age=0", false),
        ("no-cache", false), ("x", false), ("public, max-age=600", true), ("s-maxage=30", true),
        ("max-age=60, stale-while-revalidate=60", false), ("private=\"X-For\", max-age=60, public", true),
        ("no-store", false), ("must-revalidate, max-age=5", true),
    ]

    func run() async throws {
        try await Scenario.run {
            $0.threads = 2
            // The game moves the clock while requests are under way, and between them.
            let timeouts: [WritableKeyPath<Settings.Timeouts, Duration>] = [
                \.upstream, \.upstreamIdle, \.idle, \.head, \.body, \.write,
            ]
            for timeout in timeouts { $0.timeouts[keyPath: timeout] = .seconds(86_400) }
            $0.add("api", at: $1.url("/")) {
                $0.privacy = .partitioned
                $0.identity = Self.identity
            }
        } _: { (scene) async throws in
            scene.origin.answer { head in
                // Some wait until others have joined.
                (head["X-Turn"]?.utf8.last ?? 0) % 4 == 0 ? nil : Self.answer(to: head)
            }
            let origin = scene.origin
            let slow = Task {
                while !Task.isCancelled, let request = try? await origin.request() {
                    await Peers.sleep(for: .milliseconds(2))
                    try? await request.write(Self.answer(to: request.head))
                    request.finish()
                }
            }
            defer { slow.cancel() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<12 {
                    group.addTask { try await play(UInt64(number), scene) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// One client's turns.
    private func play(_ number: UInt64, _ scene: Scenario) async throws {
        var random = Dice(state: seed &+ number)
        var client = try await scene.client("client \(number)")
        for turn in 0..<count / 12 {
            let person = Self.people[random.below(Self.people.count)]
            let path = random.below(Self.paths.count)
            var lines = person.lines + ["X-Turn: \(number).\(turn)"]
            if random.below(12) == 0 { lines.append("Cache-Control: no-cache") }
            try await client.get(scene.url("/\(path)/\(turn / 40)"), lines)
            var response = try await client.response()
            while response.status == 103 {
                check(response, to: person, "\(number).\(turn)", path: path)
                response = try await client.response()
            }
            #expect(response.status == 200)
            check(response, to: person, "\(number).\(turn)", path: path)
            if random.below(50) == 0 { scene.advance(.seconds(random.below(40))) }
            if random.below(40) == 0 {
                await client.close()
                client = try await scene.client("client \(number)")
            }
        }
        await client.close()
    }

    /// - Parameter turn: what tells the request from all others.
    private func check(
        _ response: WireMessage, to person: (identity: String, lines: [String]), _ turn: String, path: Int
    ) {
        let what = "seed \(seed): /\(path) for \(person.lines)"
        let isPublic = Self.paths[path].isPublic
        func isOwn(_ mark: String) -> Bool {
            // A client that is nobody gets responses made for nobody, or for the very same request.
            Self.identity(ofMark: mark) == person.identity
                && (!person.identity.isEmpty || mark == Self.mark(person.lines))
        }
        if let cookie = response["Set-Cookie"] {
            let isItsOwn = cookie.hasSuffix("|\(turn)") || !person.identity.isEmpty && isOwn(Self.mark(of: cookie))
            #expect(isItsOwn, "\(what): the cookie of \(cookie)")
        }
        if let field = response["X-For"], !isPublic || Self.paths[path].directives.contains("X-For") {
            let mark = Self.mark(of: field)
            #expect(isOwn(mark) || mark == "for=" && person.identity.isEmpty, "\(what): the field of \(field)")
        }
        guard response.status == 200 else { return }
        let mark = Self.mark(of: response.text)
        #expect(isOwn(mark) || isPublic || mark == "for=" && person.identity.isEmpty, "\(what): \(response.text)")
    }

    private static func mark(of text: String) -> String { String(text.prefix { $0 != "|" }) }

    private static func identity(ofMark mark: String) -> String {
        people.first { Self.mark($0.lines) == mark }?.identity ?? "?"
    }

    /// For whom something is.
    private static func mark(_ lines: [String]) -> String {
        "for="
            + ["Authorization", "Cookie", "X-Api-Key", "X-Auth-Token"].compactMap { name in
                lines.first { $0.hasPrefix(name) }.map { $0.filter { $0 != " " && $0 != ";" } }
            }.joined(separator: "+")
    }

    private static func answer(to head: WireHead) -> String {
        let lines = ["Authorization", "Cookie", "X-Api-Key", "X-Auth-Token"].compactMap { name in
            head[name].map { "\(name): \($0)" }
        }
        let mark = mark(lines)
        let path = Int(head.target.split(separator: "/").first ?? "") ?? 0
        let tag = "\"\(mark.utf8.reduce(UInt64(path)) { $0 &* 31 &+ UInt64($1) })\""
        let own = "\(mark)|\(head["X-Turn"] ?? "")"
        let hint = "HTTP/1.1 103 Early Hints\r\nSet-Cookie: \(own)\r\n\r\n"
        let fields = [
            "Cache-Control: \(paths[path].directives)", "ETag: \(tag)", "Set-Cookie: \(own)", "X-For: \(own)",
        ]
        if head["If-None-Match"]?.contains(tag) == true { return hint + OriginRequest.response(304, fields) }
        return hint + OriginRequest.response(200, fields, content: own)
    }
}

/// Numbers that can be had again from their seed.
private struct Dice {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ mixed >> 31) % UInt64(bound))
    }
}
