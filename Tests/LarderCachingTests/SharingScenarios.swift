// SPDX-License-Identifier: Apache-2.0
import LarderSettings
import LarderTesting
import Testing

@testable import Larder
@testable import LarderProxy

/// Fields that only the first of several clients that wait for one load gets.
@Suite("Scenarios: what is one client's alone")
struct SharingScenarios {
    struct Reply: Sendable, CustomTestStringConvertible {
        var name: String
        var status = 200
        var lines: [String]
        /// Fields that are for the first client alone.
        var own: [String]
        var testDescription: String { name }
    }

    static let replies = [
        Reply(name: "explicit", lines: ["Cache-Control: max-age=60", "Set-Cookie: id=1"], own: ["Set-Cookie"]),
        Reply(
            name: "302", status: 302, lines: ["Location: /b", "Cache-Control: max-age=60", "Set-Cookie: id=1"],
            own: ["Set-Cookie"]),
        Reply(
            name: "private fields",
            lines: ["Cache-Control: max-age=60, private=\"X-User, set-cookie\"", "X-User: anna", "Set-Cookie: id=1"],
            own: ["X-User", "Set-Cookie"]),
        Reply(
            name: "no-cache fields", lines: ["Cache-Control: max-age=60, no-cache=\"X-Balance\"", "X-Balance: 7"],
            own: ["X-Balance"]),
    ]
    static let lastModified = "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT"

    /// How the response comes: at once, in pieces, or in chunks with a trailer.
    enum Pace: CaseIterable { case atOnce, inPieces, chunked }

    @Test(arguments: replies, Pace.allCases)
    func `others get the response without what is the first one's, and the first gets all of it`(
        reply: Reply, pace: Pace
    ) async throws {
        for isTransformed in [false, true] {
            try await Scenario.run { settings, origin in
                guard isTransformed else { return }
                settings.add("api", at: origin.url("/"))
                settings.services[0].declare = { service in
                    service.add(
                        TransformingScenarios.closure("anew") { response in
                            response.map { $0.withContent(Array("apples".utf8) as any Sendable) }
                        })
                }
            } _: { (scene) async throws in
                let (leader, follower, request) = try await scene.twoClients()
                try await request.write("HTTP/1.1 103 Early Hints\r\nSet-Cookie: hint=1\r\nLink: </anna.css>\r\n\r\n")
                try await Self.send(reply, pace, to: request)
                #expect(try await leader.response()["Set-Cookie"] == "hint=1")
                let first = try await leader.response()
                let second = try await follower.response()
                #expect(first.text == "apples" && second.text == "apples")
                #expect(second.status == reply.status)
                for name in reply.own {
                    #expect(first[name] != nil, "\(name) \(isTransformed)")
                    #expect(second[name] == nil, "\(name) \(isTransformed)")
                }
                #expect(second.trailers.isEmpty, "\(isTransformed)")
                #expect(scene.origin.seen.count == 1)
            }
        }
    }

    private static func send(_ reply: Reply, _ pace: Pace, to request: OriginRequest) async throws {
        let start = (["HTTP/1.1 \(reply.status) Scripted"] + reply.lines).map { $0 + "\r\n" }.joined()
        switch pace {
        case .atOnce: try await request.write(start + "Content-Length: 6\r\n\r\napples")
        case .inPieces:
            try await request.write(start + "Content-Length: 6\r\n\r\napp")
            try await request.write("les")
        case .chunked:
            try await request.write(
                start + "Transfer-Encoding: chunked\r\n\r\n6\r\napples\r\n0\r\nX-Own: anna\r\nSet-Cookie: id=2\r\n\r\n")
        }
        request.finish()
    }

    /// Responses that must be validated before each use, or are stale as they come.
    @Test(arguments: [
        "no-cache, max-age=60", "max-age=0", "no-cache=\"Set-Cookie\", max-age=60", "max-age=0, must-revalidate",
    ])
    func `who has a cookie asks for itself what is not fresh, also where the load validates`(
        directives: String
    )
        async throws
    {
        try await Scenario.run { (scene) async throws in
            let tag = "ETag: \"anna\""
            for validates in [false, true] {
                let leader = try await scene.client("anna")
                try await leader.get(scene.url("/a"), "Cookie: user=anna")
                let first = try await scene.origin.request()
                #expect((first["If-None-Match"] != nil) == validates)
                let follower = try await scene.client("ben")
                try await follower.get(scene.url("/a"), "Cookie: user=ben")
                try await eventually("both wait") { scene.interest(in: "/a") == 2 }
                if validates {
                    try await first.reply(304, tag, "Cache-Control: \(directives)")
                } else {
                    try await first.reply("Cache-Control: \(directives)", tag, content: "for anna")
                }
                #expect(try await leader.response().text == "for anna")
                let second = try await scene.origin.request()
                #expect(second["Cookie"] == "user=ben")
                try await second.reply("Cache-Control: \(directives)", tag, content: validates ? "for anna" : "for ben")
                #expect(try await follower.response().text == (validates ? "for anna" : "for ben"))
                guard !validates else { continue }
                // The response stored for the second round is anna's again.
                let again = try await scene.client("anna")
                try await again.get(scene.url("/a"), "Cookie: user=anna")
                try await scene.origin.request().reply("Cache-Control: \(directives)", tag, content: "for anna")
                #expect(try await again.response().text == "for anna")
            }
        }
    }

    @Test func `those who are nobody in particular share what is not fresh`() async throws {
        try await Scenario.run { (scene) async throws in
            let (leader, follower, request) = try await scene.twoClients()
            try await request.reply("Cache-Control: no-cache", content: "apples")
            for client in [leader, follower] { #expect(try await client.response().text == "apples") }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `a validation that says that what is stored is private answers its own client alone`() async throws {
        try await Scenario.run { (scene) async throws in
            scene.origin.answer { _ in .ok("Cache-Control: max-age=60", "ETag: \"1\"", content: "apples") }
            _ = try await scene.get("/a")
            scene.advance(.seconds(100))
            scene.origin.answer { _ in nil }
            let (leader, follower, request) = try await scene.twoClients()
            try await request.reply(304, "Cache-Control: private, max-age=60", "ETag: \"1\"")
            #expect(try await leader.response().text == "apples")
            try await scene.origin.request().reply("Cache-Control: private", content: "pears")
            #expect(try await follower.response().text == "pears")
        }
    }

    // MARK: Lifetimes that nobody named

    @Test(arguments: [200, 404, 405, 410, 414, 501], ["Cookie: id=1", "X-Api-Key: 1", "PRIVATE-TOKEN: 1"])
    func `what names no lifetime is not kept where the request has credentials`(status: Int, line: String) async throws
    {
        let name = String(line.prefix { $0 != ":" })
        for isService in [false, true] {
            try await Scenario.run { settings, origin in
                if isService {
                    settings.add("api", at: origin.url("/")) { $0.configure { $0.retryTime = .seconds(60) } }
                }
            } _: { (scene) async throws in
                scene.origin.answer { .response(status, Self.lastModified, content: $0[name] ?? "nobody") }
                let own = String(line.drop { $0 != " " }.dropFirst())
                #expect(try await scene.get("/a", line).text == own)
                #expect(try await scene.get("/a").text == "nobody")
                // A response that has one may be anybody's (RFC 9111 §3).
                scene.origin.answer { _ in .response(status, "Cache-Control: max-age=60", content: "all") }
                _ = try await scene.get("/c", line)
                #expect(try await scene.get("/c")["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            }
        }
    }
}
