// SPDX-License-Identifier: Apache-2.0
import LarderRules
import Larder
import LarderCodings
import LarderHTTP
import LarderProxy
import LarderSettings
import LarderStores
import LarderTesting
import Testing

/// One stored response for clients that accept different codings.
@Suite("Scenarios: content codings for clients")
struct CodingScenarios {
    static let fresh = "Cache-Control: max-age=600"
    static let json = "Content-Type: application/json"
    static let vary = "Vary: Accept-Encoding"
    static let text = "{\"words\":\"" + String(repeating: "apples and pears, ", count: 400) + "\"}"

    static func run(
        onDisk: Bool = false, codings: [ServedCoding] = [.br, .zstd, .gzip], _ body: (Scenario) async throws -> Void
    ) async throws {
        try await Scenario.run(onDisk: onDisk) { settings, origin in
            settings.add("api", at: origin.url("/")) { service in service.configure { $0.codings = codings } }
        } _: {
            try await body($0)
        }
    }

    /// Sends a whole response in octets.
    static func reply(_ request: OriginRequest, _ octets: [UInt8], _ lines: String...) async throws {
        let head = ["HTTP/1.1 200 OK", "Content-Length: \(octets.count)"] + lines
        try await request.wire.write(Array(head.map { $0 + "\r\n" }.joined().utf8) + [13, 10] + octets)
        request.finish()
    }

    static func accept(_ codings: String) -> String { "Accept-Encoding: " + codings }

    /// Has `/a` stored, as the origin gave it to a client that accepts nothing.
    static func store(_ scene: Scenario, _ lines: String...) async throws {
        async let first = scene.get("/a")
        let request = try await scene.origin.request()
        try await request.wire.write(
            OriginRequest.response(200, [fresh, json, vary, "ETag: \"a\""] + lines, content: text))
        request.finish()
        #expect(try await first.text == text)
    }

    static func decoded(_ message: WireMessage) throws -> String {
        guard let name = message["Content-Encoding"] else { return message.text }
        let coding = try #require(ContentCoding(token: name))
        return String(decoding: try coding.decode(message.content, limit: 1 << 20), as: UTF8.self)
    }

    @Test(arguments: ["br", "zstd", "gzip", "gzip;q=0.5, zstd", "*"])
    func `what is stored plain goes out in what each client accepts`(accepted: String) async throws {
        try await Self.run { (scene) async throws in
            try await Self.store(scene, "Digest: sha-256=x", "Content-Digest: sha-256=:eA==:", "Accept-Ranges: bytes")
            for round in 1...3 {
                let response = try await scene.get("/a", Self.accept(accepted))
                #expect(try Self.decoded(response) == Self.text)
                #expect(response.content.count < Self.text.utf8.count / 4)
                let coding = try #require(response["Content-Encoding"])
                #expect(response["Content-Length"] == "\(response.content.count)")
                #expect(response["Vary"] == "Accept-Encoding")
                #expect(response["ETag"]?.hasPrefix("\"a;larder.\(coding).") == true)
                #expect(response["Digest"] == nil && response["Content-Digest"] == nil)
                #expect(response["Cache-Status"] == "Larder; hit; ttl=600; detail=coded-\(coding)", "round \(round)")
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `codings of the configuration are for what no service covers, and for blocks without their own`()
        async throws
    {
        try await Scenario.run { settings, origin in
            settings.codings = [.br, .gzip]
            settings.add("api", at: origin.url("/api/")) { _ in }
            settings.add("plain", at: origin.url("/plain/")) { service in service.configure { $0.codings = [] } }
        } _: { (scene) async throws in
            scene.origin.answer { _ in .ok(Self.fresh, Self.json, Self.vary, "ETag: \"a\"", content: Self.text) }
            for (path, coding) in [("/a", "br"), ("/api/a", "br"), ("/plain/a", nil)] {
                #expect(try await scene.get(path).text == Self.text)
                let coded = try await scene.get(path, Self.accept("br, gzip"))
                #expect(coded["Content-Encoding"] == coding)
                #expect(try Self.decoded(coded) == Self.text)
                if coding != nil {
                    #expect(coded["Cache-Status"] == "Larder; hit; ttl=600; detail=coded-br")
                    #expect(try await scene.get(path, Self.accept("gzip"))["Content-Encoding"] == "gzip")
                    #expect(scene.origin.count(of: path) == 1)
                }
            }
            func blocks(_ path: String) async throws -> String {
                try await scene.ask("/-/explain?url=\(scene.url(path))&header=Accept-Encoding:%20br").description
            }
            #expect(try await blocks("/a").contains("codings: br, gzip"))
            #expect(try await blocks("/a").contains("out of the configuration"))
            #expect(try await blocks("/api/a").contains("codings: br, gzip (was as it came)"))
            #expect(try await blocks("/plain/a").contains("codings: as it came (was br, gzip)"))
        }
    }

    @Test func `who accepts nothing gets the origin's octets and tag`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.store(scene)
            for lines in [[], [Self.accept("")], [Self.accept("identity, gzip;q=0.5")], [Self.accept("br;q=0")]] {
                let client = try await scene.client()
                try await client.get(scene.url("/a"), lines)
                let response = try await client.response()
                #expect(response.text == Self.text)
                #expect(response["ETag"] == "\"a\"" && response["Content-Encoding"] == nil)
                #expect(response["Cache-Status"] == "Larder; hit; ttl=600")
            }
        }
    }

    @Test func `what is stored in gzip is undone for who does not accept it`() async throws {
        let gzip = try ContentCoding.gzip.encode(Array(Self.text.utf8))
        try await Self.run { (scene) async throws in
            async let first = scene.get("/a", Self.accept("gzip"))
            try await Self.reply(
                scene.origin.request(), gzip, Self.fresh, Self.json, Self.vary, "Content-Encoding: gzip",
                "ETag: W/\"a\"")
            #expect(try await first.content == gzip)
            let plain = try await scene.get("/a")
            #expect(plain.text == Self.text)
            #expect(plain["Content-Encoding"] == nil)
            #expect(plain["ETag"]?.hasPrefix("W/\"a;larder.identity.") == true)
            #expect(plain["Cache-Status"] == "Larder; hit; ttl=600; detail=decoded")
            let brotli = try await scene.get("/a", Self.accept("br"))
            #expect(brotli["Content-Encoding"] == "br")
            #expect(try Self.decoded(brotli) == Self.text)
            let same = try await scene.get("/a", Self.accept("gzip, br"))
            #expect(same.content == gzip)
            #expect(same["ETag"] == "W/\"a\"")
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `hundreds of clients of three codings cost one request`() async throws {
        let gzip = try ContentCoding.gzip.encode(Array(Self.text.utf8))
        let accepted = ["gzip", "br", "identity"]
        try await Self.run { (scene) async throws in
            var clients: [Wire] = []
            for number in 0..<300 {
                let client = try await scene.client("client \(number)")
                // The first one's wish goes to the origin.
                try await client.get(scene.url("/a"), Self.accept(accepted[number % 3]))
                clients.append(client)
                if number == 0 { try await eventually("it is asked") { scene.origin.seen.count == 1 } }
            }
            try await eventually("all have joined") { scene.interest(in: "/a") == 300 }
            try await Self.reply(
                scene.origin.request(), gzip, Self.fresh, Self.json, Self.vary, "Content-Encoding: gzip", "ETag: \"a\"")
            for (number, client) in clients.enumerated() {
                let response = try await client.response()
                #expect(try Self.decoded(response) == Self.text)
                let coding = number % 3 == 2 ? nil : accepted[number % 3]
                #expect(response["Content-Encoding"] == coding)
            }
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `each form is validated by its own tag, as the client has it`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.store(scene)
            let coded = try await scene.get("/a", Self.accept("br"))
            let tag = try #require(coded["ETag"])
            let same = try await scene.get("/a", Self.accept("br"), "If-None-Match: \(tag)")
            #expect(same.status == 304)
            #expect(same["ETag"] == tag)
            // The tag from before anything was coded is still good, and needs no other.
            let plain = try await scene.get("/a", Self.accept("br"), "If-None-Match: \"a\"")
            #expect(plain.status == 304)
            #expect(plain["ETag"] == "\"a\"")
            let other = try await scene.get("/a", Self.accept("gzip"), "If-None-Match: \(tag)")
            #expect(other.status == 200)
            #expect(other["Content-Encoding"] == "gzip")
        }
    }

    @Test func `ranges are of one form, which If-Range names`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.store(scene)
            let whole = try await scene.get("/a", Self.accept("br"))
            let tag = try #require(whole["ETag"])
            let rest = try await scene.get("/a", Self.accept("br"), "Range: bytes=10-", "If-Range: \(tag)")
            #expect(rest.status == 206)
            #expect(rest.content == Array(whole.content[10...]))
            #expect(rest["ETag"] == tag)
            let plain = try await scene.get("/a", Self.accept("br"), "Range: bytes=0-9")
            #expect(plain.status == 206)
            #expect(plain.text == String(Self.text.prefix(10)))
            #expect(plain["ETag"] == "\"a\"")
            let made = tag.replacing("br.", with: "br.0")
            let changed = try await scene.get("/a", Self.accept("br"), "Range: bytes=10-", "If-Range: \(made)")
            #expect(changed.status == 200)
        }
    }

    @Test func `HEAD says what GET would`() async throws {
        try await Self.run { (scene) async throws in
            try await Self.store(scene)
            let get = try await scene.get("/a", Self.accept("zstd"))
            let client = try await scene.client()
            try await client.write("HEAD \(scene.url("/a")) HTTP/1.1\r\nHost: x\r\nAccept-Encoding: zstd\r\n\r\n")
            let head = try await client.response(to: "HEAD")
            for name in ["Content-Length", "Content-Encoding", "ETag", "Vary"] { #expect(head[name] == get[name]) }
        }
    }

    @Test func `a stale response is validated as it was asked for, whoever asks`() async throws {
        try await Self.run { (scene) async throws in
            let gzip = try ContentCoding.gzip.encode(Array(Self.text.utf8))
            async let first = scene.get("/a", Self.accept("gzip"))
            try await Self.reply(
                scene.origin.request(), gzip, Self.fresh, Self.json, Self.vary, "Content-Encoding: gzip", "ETag: \"a\"")
            _ = try await first
            let coded = try await scene.get("/a", Self.accept("br"))
            scene.advance(.seconds(601))
            async let second = scene.get("/a", Self.accept("br"))
            let validation = try await scene.origin.request()
            #expect(validation["If-None-Match"] == "\"a\"")
            #expect(validation["Accept-Encoding"] == "gzip")
            try await validation.reply(304, Self.fresh, "ETag: \"a\"")
            #expect(try await second.content == coded.content)
            // And when there is something new, it is asked for once.
            scene.advance(.seconds(601))
            async let third = scene.get("/a", Self.accept("br"))
            let other = try ContentCoding.gzip.encode(Array("[\(Self.text)]".utf8))
            try await Self.reply(
                scene.origin.request(), other, Self.fresh, Self.json, Self.vary, "Content-Encoding: gzip", "ETag: \"b\""
            )
            let new = try await third
            #expect(new["Content-Encoding"] == "br")
            #expect(try Self.decoded(new) == "[\(Self.text)]")
            #expect(scene.origin.seen.count == 3)
        }
    }

    @Test func `what the origin is asked about it is asked by its own tags`() async throws {
        try await Self.run { (scene) async throws in
            let tag = "\"a;larder.br.0123456789abcdef\""
            async let read = scene.get("/a", Self.accept("br"), "If-None-Match: \(tag)")
            let request = try await scene.origin.request()
            #expect(request["If-None-Match"] == "\"a\"")
            try await request.reply(304, "ETag: \"a\"")
            let response = try await read
            #expect(response.status == 304)
            #expect(response["ETag"] == tag)
            let client = try await scene.client()
            try await client.write(
                "PUT \(scene.url("/a")) HTTP/1.1\r\nHost: x\r\nIf-Match: \(tag)\r\nContent-Length: 1\r\n\r\nx")
            let write = try await scene.origin.request()
            #expect(write["If-Match"] == "\"a\"")
            try await write.reply(204)
            #expect(try await client.response().status == 204)
        }
    }

    @Test func `what the origin forbids to transform goes out as it came`() async throws {
        try await Self.run { (scene) async throws in
            for (path, accepted) in [("/a", "gzip"), ("/a", "br")] {
                async let response = scene.get(path, Self.accept(accepted))
                let request = try await scene.origin.request()
                #expect(request["Accept-Encoding"] == accepted)
                try await request.reply(
                    "Cache-Control: max-age=60, no-transform", Self.json, Self.vary, content: "\(accepted) \(Self.text)"
                )
                #expect(try await response.text == "\(accepted) \(Self.text)")
            }
            let again = try await scene.get("/a", Self.accept("gzip"))
            #expect(again.text == "gzip \(Self.text)")
        }
    }

    @Test func `content that grows without bounds is not undone, and the origin is asked instead`() async throws {
        let bomb = try ContentCoding.gzip.encode([UInt8](repeating: 0x20, count: 32 << 20))
        try await Self.run { (scene) async throws in
            async let first = scene.get("/a", Self.accept("gzip"))
            try await Self.reply(
                scene.origin.request(), bomb, Self.fresh, Self.json, Self.vary, "Content-Encoding: gzip")
            #expect(try await first.content == bomb)
            for _ in 1...2 {
                async let plain = scene.get("/a")
                let request = try await scene.origin.request()
                #expect(request["Accept-Encoding"] == nil)
                try await request.reply(Self.fresh, Self.json, Self.vary, content: Self.text)
                #expect(try await plain.text == Self.text)
            }
            #expect(try await scene.get("/a", Self.accept("gzip")).content == bomb)
        }
    }

    @Test(arguments: [false, true]) func `no origin is asked for another coding where none may be`(
        isOffline: Bool
    ) async throws {
        try await Self.run { (scene) async throws in
            let bomb = try ContentCoding.gzip.encode([UInt8](repeating: 0x20, count: 40 << 20))
            let client = try await scene.client()
            try await client.get(scene.url("/a"), [Self.accept("gzip")])
            try await Self.reply(
                try await scene.origin.request(), bomb, Self.fresh, Self.json, Self.vary, "Content-Encoding: gzip")
            #expect(try await client.response().content == bomb)
            try await eventually("it is stored") { scene.resource("/a")?.memory.loads.isEmpty == true }
            if isOffline { try await scene.reload { $0.services[0].offline = .on } }
            let refused = try await scene.get("/a", isOffline ? "X: 1" : "Cache-Control: only-if-cached")
            #expect(refused.status == 504)
            #expect(scene.origin.seen.count == 1)
        }
    }

    @Test func `what coding makes longer goes out as it came, and says that it might not`() async throws {
        let noise = String((0..<600).map { _ in "0123456789abcdefghijklmnopqrstuvwxyz".randomElement() ?? "0" })
        let octets = (0..<4096).map { _ in UInt8.random(in: .min ... .max) }
        try await Self.run { (scene) async throws in
            async let first = scene.get("/a", Self.accept("br"))
            try await Self.reply(scene.origin.request(), octets, Self.fresh, Self.json)
            #expect(try await first["Vary"] == "Accept-Encoding")
            let second = try await scene.get("/a", Self.accept("br"))
            #expect(second.content == octets)
            #expect(second["Vary"] == "Accept-Encoding" && second["Content-Encoding"] == nil)
            async let tiny = scene.get("/tiny", Self.accept("br"))
            try await scene.origin.request().reply(Self.fresh, Self.json, content: String(noise.prefix(100)))
            _ = try await tiny
            #expect(try await scene.get("/tiny", Self.accept("br"))["Content-Encoding"] == nil)
        }
    }

    @Test func `forms are made again after a restart, and not at all where nobody asks for them`() async throws {
        try await Self.run(onDisk: true) { (scene) async throws in
            try await Self.store(scene)
            let before = try await scene.get("/a", Self.accept("br"))
            try await eventually("it is stored") { scene.proxy.diskTier?.store.statistics.pendingBytes == 0 }
            try await scene.restart()
            let after = try await scene.get("/a", Self.accept("br"))
            #expect(after.content == before.content)
            #expect(after["ETag"] == before["ETag"])
            try await scene.reload { $0.services[0].configure[0].codings = [] }
            async let other = scene.get("/a", Self.accept("br"))
            try await scene.origin.request().reply(Self.fresh, Self.json, Self.vary, content: "other")
            #expect(try await other.text == "other")
        }
    }

    @Test(arguments: ["identity", "br", "br, zstd;q=0.5"], [false, true])
    func `the first client waits for its form when the origin sends a coding that it does not accept`(
        accepted: String, isPiecewise: Bool
    ) async throws {
        let gzip = try ContentCoding.gzip.encode(Array(Self.text.utf8))
        for lines in [[Self.vary, Self.fresh], [Self.fresh], ["Cache-Control: no-cache", "ETag: \"a\""]] {
            try await Self.run(onDisk: isPiecewise) { (scene) async throws in
                async let first = scene.get("/a", Self.accept(accepted))
                let request = try await scene.origin.request()
                let head =
                    ["HTTP/1.1 200 OK", "Content-Length: \(gzip.count)", Self.json, "Content-Encoding: gzip"]
                    + lines + ["Set-Cookie: a=b", "Cache-Control: public"]
                let octets = Array(head.map { $0 + "\r\n" }.joined().utf8) + [13, 10] + gzip
                try await request.wire.write(isPiecewise ? Array(octets.dropLast(9)) : octets)
                if isPiecewise {
                    try await eventually("it arrives") { scene.resource("/a")?.memory.loads.isEmpty == false }
                    try await request.wire.write(Array(octets.suffix(9)))
                }
                request.finish()
                let response = try await first
                #expect(try Self.decoded(response) == Self.text)
                let coding = accepted == "identity" ? nil : "br"
                #expect(response["Content-Encoding"] == coding)
                #expect(response["Set-Cookie"] == "a=b")
                let form = coding.map { "coded-\($0)" } ?? "decoded"
                #expect(
                    response["Cache-Status"] == "Larder; fwd=uri-miss; fwd-status=200; stored; detail=\(form)")
                #expect(scene.origin.seen.count == 1)
            }
        }
    }

    @Test func `the first client gets octets that cannot be undone as they came`() async throws {
        try await Self.run { (scene) async throws in
            async let first = scene.get("/a", Self.accept("br"))
            let octets = Array(Self.text.utf8)
            try await Self.reply(
                scene.origin.request(), octets, Self.fresh, Self.json, "Content-Encoding: gzip")
            let response = try await first
            #expect(response.content == octets)
            #expect(response["Content-Encoding"] == "gzip")
            #expect(scene.origin.seen.count == 1)
        }
    }
}
