// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderProxy
import LarderSettings
import LarderTesting
import Testing

/// Downloads that break off, and go on where they stopped.
@Suite("Scenarios: resuming")
struct ResumeScenarios {
    static let fresh = "Cache-Control: max-age=600"
    static let tag = "ETag: \"1\""

    /// A download that breaks off after `count` octets of `content`.
    func interrupted(
        _ scene: Scenario, _ path: String = "/a", after count: Int, of content: String, _ lines: String...,
        chunked: Bool = false
    ) async throws {
        let client = try await scene.client()
        try await client.get(scene.url(path))
        let request = try await scene.origin.request()
        let sent = String(content.prefix(count))
        let framing = chunked ? "Transfer-Encoding: chunked" : "Content-Length: \(content.utf8.count)"
        let head = (["HTTP/1.1 200 OK", framing] + lines).map { $0 + "\r\n" }.joined() + "\r\n"
        let chunk = count == 0 ? "" : "\(String(count, radix: 16))\r\n\(sent)\r\n"
        try await request.write(head + (chunked ? chunk : sent))
        // The first octets must be there before the end, or the end overtakes them.
        _ = try await client.head()
        _ = chunked ? try await client.chunk() : try await client.octets(count)
        await request.close()
        _ = try await client.end()
        await client.close()
    }

    /// Answers the next request at the origin.
    func reply(_ scene: Scenario, _ check: (OriginRequest) -> Void = { _ in }, with response: String) async throws {
        let request = try await scene.origin.request()
        check(request)
        try await request.write(response)
        request.finish()
    }

    static func rest(_ content: String, from count: Int, _ lines: String...) -> String {
        let length = content.utf8.count
        let rest = String(content.dropFirst(count))
        return OriginRequest.response(
            206, lines + ["Content-Range: bytes \(count)-\(length - 1)/\(length)"], content: rest)
    }

    @Test(arguments: [false, true]) func `a download goes on at every octet`(onDisk: Bool) async throws {
        let content = "0123456789"
        try await Scenario.run(onDisk: onDisk) { (scene) async throws in
            for count in 1..<content.count {
                let path = "/\(count)"
                try await interrupted(scene, path, after: count, of: content, Self.fresh, Self.tag)
                if onDisk { try await scene.restart() }
                async let answer = scene.get(path)
                try await reply(
                    scene,
                    { request in
                        #expect(request["Range"] == "bytes=\(count)-")
                        #expect(request["If-Range"] == "\"1\"")
                    }, with: Self.rest(content, from: count, Self.fresh, Self.tag))
                let whole = try await answer
                #expect(whole.status == 200)
                #expect(whole.text == content)
                #expect(whole["Content-Length"] == "10")
                #expect(whole["Content-Range"] == nil)
                if onDisk { try await scene.restart() }
                let hit = try await scene.get(path)
                #expect(hit["Cache-Status"]?.hasPrefix("Larder; hit") == true)
                #expect(hit.text == content)
            }
        }
    }

    @Test(arguments: [false, true]) func `a download that breaks off again and again goes on each time`(
        isChunked: Bool
    ) async throws {
        let content = "0123456789"
        try await Scenario.run(onDisk: true) { (scene) async throws in
            try await interrupted(
                scene, after: 2, of: content, Self.fresh, Self.tag, chunked: isChunked)
            for count in [2, 5] {
                let client = try await scene.client()
                try await client.get(scene.url("/a"))
                let request = try await scene.origin.request()
                #expect(request["Range"] == "bytes=\(count)-")
                try await request.write(
                    "HTTP/1.1 206 X\r\nContent-Length: \(10 - count)\r\n\(Self.fresh)\r\n\(Self.tag)\r\n"
                        + "Content-Range: bytes \(count)-9/10\r\n\r\n"
                        + String(content.dropFirst(count).prefix(3)))
                #expect(try await client.head().status == 200)
                #expect(try await client.text(count + 3) == content.prefix(count + 3))
                await request.close()
                _ = try await client.end()
                #expect(client.pending == 0)
                await client.close()
            }
            async let answer = scene.get("/a")
            try await reply(scene, { #expect($0["Range"] == "bytes=8-") }, with: Self.rest(content, from: 8, Self.tag))
            #expect(try await answer.text == content)
        }
    }

    /// The response in place of the rest, and whether the request is then sent anew.
    struct Other: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let response: String
        let isAskedAnew: Bool
    }

    static let others = [
        Other(
            testDescription: "another tag",
            response: .response(206, fresh, "ETag: \"2\"", "Content-Range: bytes 4-9/10", content: "######"),
            isAskedAnew: true),
        Other(
            testDescription: "no tag",
            response: .response(206, fresh, "Content-Range: bytes 4-9/10", content: "######"), isAskedAnew: true),
        Other(
            testDescription: "a weak tag",
            response: .response(206, fresh, "ETag: W/\"1\"", "Content-Range: bytes 4-9/10", content: "######"),
            isAskedAnew: true),
        Other(
            testDescription: "another range",
            response: .response(206, fresh, tag, "Content-Range: bytes 3-9/10", content: "#######"), isAskedAnew: true),
        Other(
            testDescription: "less than the rest",
            response: .response(206, fresh, tag, "Content-Range: bytes 4-8/10", content: "#####"), isAskedAnew: true),
        Other(
            testDescription: "another length",
            response: .response(206, fresh, tag, "Content-Range: bytes 4-9/11", content: "######"), isAskedAnew: true),
        Other(
            testDescription: "no range", response: .response(206, fresh, tag, content: "######"), isAskedAnew: true),
        Other(
            testDescription: "nothing there",
            response: .response(416, "Content-Range: bytes */4", content: "none"), isAskedAnew: true),
        Other(
            testDescription: "the whole", response: .ok(fresh, "ETag: \"2\"", content: "new content"),
            isAskedAnew: false),
    ]

    @Test(arguments: others) func `what is not the rest is not put behind what came before`(other: Other) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            try await interrupted(scene, after: 4, of: "0123456789", Self.fresh, Self.tag)
            async let answer = scene.get("/a")
            try await reply(scene, { #expect($0["Range"] == "bytes=4-") }, with: other.response)
            if other.isAskedAnew {
                try await reply(
                    scene,
                    { request in
                        #expect(request["Range"] == nil)
                        #expect(request["If-Range"] == nil)
                    }, with: .ok(Self.fresh, "ETag: \"2\"", content: "new content"))
            }
            #expect(try await answer.text == "new content")
            try await scene.restart()
            let hit = try await scene.get("/a")
            #expect(hit.text == "new content")
            #expect(hit["Cache-Status"]?.hasPrefix("Larder; hit") == true)
        }
    }

    @Test func `an error in place of the rest is the answer, and the rest is asked for later`() async throws {
        try await Scenario.run { (scene) async throws in
            try await interrupted(scene, after: 4, of: "0123456789", Self.fresh, Self.tag)
            async let answer = scene.get("/a")
            try await reply(scene, with: .response(503, content: "later"))
            #expect(try await answer.status == 503)
            async let second = scene.get("/a")
            try await reply(
                scene, { #expect($0["Range"] == "bytes=4-") }, with: Self.rest("0123456789", from: 4, Self.tag))
            #expect(try await second.text == "0123456789")
        }
    }

    @Test(arguments: [
        ["Cache-Control: max-age=600"], ["Cache-Control: max-age=600", "ETag: W/\"1\""],
        ["Cache-Control: max-age=600", "ETag: \"1\"", "Accept-Ranges: none"],
        ["Cache-Control: no-store", "ETag: \"1\""],
        [
            "Cache-Control: max-age=600", "Last-Modified: Tue, 14 Nov 2023 22:13:00 GMT",
            "Date: Tue, 14 Nov 2023 22:13:20 GMT",
        ],
    ])
    func `what nothing can be put behind is begun anew`(lines: [String]) async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write(
                (["HTTP/1.1 200 OK", "Content-Length: 10"] + lines).map { $0 + "\r\n" }.joined() + "\r\n01234")
            _ = try await client.head()
            _ = try await client.octets(5)
            await request.close()
            _ = try await client.end()
            async let answer = scene.get("/a")
            try await reply(scene, { #expect($0["Range"] == nil) }, with: .ok(content: "whole"))
            #expect(try await answer.text == "whole")
        }
    }

    @Test func `a date long before the response is as good as a tag`() async throws {
        let lines = ("Last-Modified: Tue, 14 Nov 2023 00:00:00 GMT", "Date: Tue, 14 Nov 2023 22:13:20 GMT")
        try await Scenario.run { (scene) async throws in
            try await interrupted(scene, after: 4, of: "0123456789", Self.fresh, lines.0, lines.1)
            async let answer = scene.get("/a")
            try await reply(
                scene, { #expect($0["If-Range"] == "Tue, 14 Nov 2023 00:00:00 GMT") },
                with: Self.rest("0123456789", from: 4, lines.0, lines.1))
            #expect(try await answer.text == "0123456789")
        }
    }

    @Test func `what broke off answers no request by itself, but for ranges that came`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            try await interrupted(scene, after: 4, of: "0123456789", Self.fresh, Self.tag)
            try await scene.restart()
            let part = try await scene.get("/a", "Range: bytes=1-3")
            #expect(part.status == 206)
            #expect(part.text == "123")
            #expect(part["Content-Range"] == "bytes 1-3/10")
            #expect(part["Cache-Status"]?.hasPrefix("Larder; hit") == true)
            let refused = try await scene.get("/a", "Cache-Control: only-if-cached")
            #expect(refused.status == 504)
            scene.advance(.seconds(700))
            async let answer = scene.get("/a")
            await (try scene.origin.request()).close()
            #expect(try await answer.status == 502)
        }
    }

    /// Larger than memory keeps, so that what came is in the store alone.
    @Test func `many clients read what came before and the rest from one load`() async throws {
        let content = String((0..<300_000).map { Character(UnicodeScalar(UInt8(0x61 + $0 % 26))) })
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.cache.memory = .mebibytes(1)
        } _: { (scene) async throws in
            try await interrupted(scene, after: 200_000, of: content, Self.fresh, Self.tag)
            #expect(scene.resource("/a")?.memory.snapshot.variants.isEmpty == true)
            let first = try await scene.client()
            try await first.get(scene.url("/a"))
            let request = try await scene.origin.request()
            #expect(request["Range"] == "bytes=200000-")
            try await request.write(
                "HTTP/1.1 206 X\r\nContent-Length: 100000\r\n\(Self.fresh)\r\n\(Self.tag)\r\n"
                    + "Content-Range: bytes 200000-299999/300000\r\n\r\n")
            try await first.hasReceived(200_000)
            var clients = [first]
            for _ in 0..<3 {
                let client = try await scene.client()
                try await client.get(scene.url("/a"))
                try await client.hasReceived(100_000)
                clients.append(client)
            }
            try await request.write(String(content.dropFirst(200_000)))
            request.finish()
            for client in clients {
                let answer = try await client.response()
                #expect(answer.isWhole)
                #expect(answer.text == content)
            }
            #expect(scene.origin.seen.count == 2)
            try await scene.restart()
            #expect(try await scene.get("/a").text == content)
            #expect(scene.origin.seen.count == 2)
        }
    }

    @Test func `HT-15 a download whose clients left is kept as far as it came`() async throws {
        try await Scenario.run(onDisk: true) { settings, _ in
            settings.timeouts.abandon = .seconds(2)
        } _: { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write(
                "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(Self.fresh)\r\n\(Self.tag)\r\n\r\n01234")
            try await client.hasReceived(50)
            await client.close()
            try await eventually("nobody waits") { scene.interest(in: "/a") == 0 }
            _ = try await scene.lettingTimePass(reaching: .seconds(2)) { try await request.wire.end() }
            request.finish()
            try await eventually("the load is over") { scene.resource("/a")?.memory.loads.isEmpty != false }
            async let answer = scene.get("/a")
            try await reply(
                scene, { #expect($0["Range"] == "bytes=5-") }, with: Self.rest("0123456789", from: 5, Self.tag))
            #expect(try await answer.text == "0123456789")
        }
    }

    /// The origin knows that the load is cancelled before the load does.
    @Test func `who comes while a load that nobody waits for is being cancelled gets a response of its own`()
        async throws
    {
        try await Scenario.run { settings, _ in
            settings.timeouts.abandon = .seconds(2)
        } _: { (scene) async throws in
            for number in 0..<50 {
                let client = try await scene.client("client \(number)")
                try await client.get(scene.url("/\(number)"))
                let request = try await scene.origin.request()
                try await request.write(
                    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(Self.fresh)\r\n\(Self.tag)\r\n\r\n01234")
                try await client.hasReceived(50)
                await client.close()
                try await eventually("nobody waits") { scene.interest(in: "/\(number)") == 0 }
                _ = try await scene.lettingTimePass(reaching: .seconds(2)) { try await request.wire.end() }
                request.finish()
                let next = try await scene.client("client \(number) again")
                try await next.get(scene.url("/\(number)"))
                let second = try await scene.origin.request()
                try await second.write(
                    second["Range"] == nil
                        ? OriginRequest.response(200, [Self.fresh, Self.tag], content: "0123456789")
                        : Self.rest("0123456789", from: 5, Self.tag))
                second.finish()
                #expect(try await next.response().text == "0123456789")
                await next.close()
            }
        }
    }

    @Test func `a torn part is kept too`() async throws {
        try await Scenario.run { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"), "Range: bytes=2-8")
            let request = try await scene.origin.request()
            try await request.write(
                "HTTP/1.1 206 X\r\nContent-Length: 7\r\n\(Self.fresh)\r\n\(Self.tag)\r\n"
                    + "Content-Range: bytes 2-8/10\r\n\r\n234")
            _ = try await client.head()
            _ = try await client.octets(3)
            await request.close()
            _ = try await client.end()
            let part = try await scene.get("/a", "Range: bytes=2-4")
            #expect(part.text == "234")
            async let answer = scene.get("/a", "Range: bytes=2-8")
            try await reply(
                scene, { #expect($0["Range"] == "bytes=5-8") },
                with: .response(206, Self.fresh, Self.tag, "Content-Range: bytes 5-8/10", content: "5678"))
            #expect(try await answer.text == "2345678")
        }
    }

    @Test func `a wipe in the middle keeps nothing`() async throws {
        try await Scenario.run(onDisk: true) { (scene) async throws in
            let client = try await scene.client()
            try await client.get(scene.url("/a"))
            let request = try await scene.origin.request()
            try await request.write(
                "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(Self.fresh)\r\n\(Self.tag)\r\n\r\n01234")
            _ = try await client.head()
            _ = try await client.octets(5)
            scene.resource("/a")?.memory.wipe(storeIsEmpty: true)
            await request.close()
            _ = try await client.end()
            async let answer = scene.get("/a")
            try await reply(scene, { #expect($0["Range"] == nil) }, with: .ok(content: "whole"))
            #expect(try await answer.text == "whole")
        }
    }
}
