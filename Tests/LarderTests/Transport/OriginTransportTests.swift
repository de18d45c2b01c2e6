// SPDX-License-Identifier: Apache-2.0
import Larder
import LarderIO
import LarderTesting
import Testing

@Suite("The transport that services have", .timeLimit(.minutes(10)))
struct OriginTransportTests {
    private func request(
        _ url: String, _ method: Larder.Method = .get, _ fields: Fields = Fields(), body: String? = nil
    )
        throws -> OutgoingRequest
    {
        OutgoingRequest(method: method, url: try TargetURI(url), fields: fields, body: body.map { Array($0.utf8) })
    }

    private func direct(
        time: any TimeSource = SystemTime(), _ change: (inout TransportOptions) -> Void = { _ in }
    ) -> OriginTransport {
        var options = TransportOptions()
        options.proxy = .none
        change(&options)
        return OriginTransport(options, time: time)
    }

    /// Waits until `transport` has noticed everything so far: its loop for `origin` takes a request and its answer
    /// only after that.
    private func settle(_ transport: OriginTransport, _ origin: ScriptedOrigin) async throws {
        origin.answer { head in head.target == "/settle" ? OriginRequest.response(204, []) : nil }
        _ = try await transport.send(try request(origin.url("/settle")), progress: TransferProgress())
    }

    @Test func `SV-10 a service needs a name and a base URL and nothing else`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { head in
                OriginRequest.response(200, ["Content-Type: application/json"], content: #"{"path":"\#(head.target)"}"#)
            }
            let service = Service("shop", baseURL: origin.url("/v1"))
            let resource = service.resource("/things/1")
            let entity = try await resource.load().entity()
            #expect(entity.json?["path"]?.string == "/v1/things/1")
            #expect(resource.json?["path"]?.string == "/v1/things/1")
            let head = try #require(origin.seen.first)
            #expect(head.lines.map(\.name) == ["Host", "Accept", "User-Agent"])
            #expect(head["host"] == origin.authority)
        }
    }

    @Test func `requests go over connections that are there already`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { _ in OriginRequest.response(200, [], content: "x") }
            let transport = direct()
            for number in 0..<5 {
                let reply = try await transport.send(
                    try request(origin.url("/\(number)")), progress: TransferProgress())
                #expect(reply.body == Array("x".utf8))
            }
            #expect(origin.wires.count == 1)
            #expect(origin.seen.count == 5)
        }
    }

    @Test func `five hundred requests at once share sixteen connections`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { head in OriginRequest.response(200, [], content: head.target) }
            let transport = direct()
            let service = Service("many", baseURL: origin.url("/"), transport: transport)
            let texts = await withTaskGroup(of: String.self) { group in
                for number in 0..<500 {
                    group.addTask {
                        let entity = try? await service.resource("/\(number)").load().entity()
                        return String(decoding: entity?.typedContent() ?? [UInt8](), as: UTF8.self)
                    }
                }
                return await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(texts == Set((0..<500).map { "/\($0)" }))
            #expect(origin.wires.count <= 16)
        }
    }

    @Test func `RQ-01 PG-01 content goes up whole and progress says how far both ways are`() async throws {
        try await ScriptedOrigin.run { origin in
            let transport = direct()
            let progress = TransferProgress()
            let body = String(repeating: "0123456789abcdef", count: 40_000)
            let request = try request(origin.url("/"), .post, body: body)
            async let reply = transport.send(request, progress: progress)
            let arrived = try await origin.request()
            #expect(try await arrived.content().content.count == 640_000)
            #expect(arrived["content-length"] == "640000")
            try await arrived.reply(content: "thanks")
            let response = try await reply
            #expect(response.body == Array("thanks".utf8))
            #expect(progress.counters == .init(sent: 640_000, toSend: 640_000, received: 6, toReceive: 6))
        }
    }

    @Test func `a POST without content says that it has none`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { _ in OriginRequest.response(204, []) }
            let reply = try await direct().send(try request(origin.url("/"), .post), progress: TransferProgress())
            #expect(reply.response.status == 204 && reply.body.isEmpty)
            #expect(origin.seen.first?["content-length"] == "0")
        }
    }

    @Test func `redirections are followed and end somewhere`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { head in
                switch head.target {
                case "/a": OriginRequest.response(302, ["Location: b?x=1"], content: "look there")
                case "/b?x=1": OriginRequest.response(307, ["Location: /c"])
                case "/c": OriginRequest.response(200, [], content: "here")
                default: OriginRequest.response(301, ["Location: /circle"])
                }
            }
            let reply = try await direct().send(
                try request(origin.url("/a"), .get, [.authorization: "Bearer x"]), progress: TransferProgress())
            #expect(reply.body == Array("here".utf8))
            #expect(origin.seen.last?["authorization"] == "Bearer x")
            #expect(origin.wires.count == 1)
            let error = await #expect(throws: TransportError.self) {
                _ = try await direct().send(try request(origin.url("/circle")), progress: TransferProgress())
            }
            #expect(error?.code == .redirect)
            #expect(origin.count(of: "/circle") == 11)
            let plain = try await direct { $0.redirectLimit = 0 }.send(
                try request(origin.url("/a")), progress: TransferProgress())
            #expect(plain.response.status == 302)
        }
    }

    @Test func `credentials stay with the origin they were for`() async throws {
        try await ScriptedOrigin.run { other in
            other.answer { _ in OriginRequest.response(200, [], content: "other") }
            let url = other.url("/x")
            try await ScriptedOrigin.run { origin in
                origin.answer { _ in OriginRequest.response(302, ["Location: \(url)"]) }
                let fields: Fields = [
                    .authorization: "Bearer x", "X-Api-Key": "y", .cookie: "z=1", .accept: "text/plain",
                ]
                let reply = try await direct().send(
                    try request(origin.url("/"), .get, fields), progress: TransferProgress())
                #expect(reply.body == Array("other".utf8))
            }
            let head = try #require(other.seen.first)
            #expect(head["authorization"] == nil && head["x-api-key"] == nil && head["cookie"] == nil)
            #expect(head["accept"] == "text/plain")
            #expect(head["host"] == other.authority)
        }
    }

    @Test func `cancelling the task ends the exchange`() async throws {
        try await ScriptedOrigin.run { origin in
            let transport = direct()
            let url = origin.url("/slow")
            let task = Task {
                try await transport.send(OutgoingRequest(url: try TargetURI(url)), progress: TransferProgress())
            }
            let arrived = try await origin.request()
            task.cancel()
            let result = await task.result
            #expect(throws: CancellationError.self) { try result.get() }
            await arrived.close()
        }
    }

    @Test func `RQ-22 cancelling a request of a resource gives the exchange up`() async throws {
        try await ScriptedOrigin.run { origin in
            let service = Service("slow", baseURL: origin.url("/"), transport: direct())
            let load = service.resource("/slow").load()
            let arrived = try await origin.request()
            load.cancel()
            #expect(await load.response().response.isCancellation)
            await arrived.close()
        }
    }

    @Test func `what takes too long fails`() async throws {
        try await ScriptedOrigin.run { origin in
            let time = ManualTime()
            let transport = direct(time: time) { $0.timeout = .seconds(8) }
            let (early, late) = (try request(origin.url("/early")), try request(origin.url("/late")))
            async let answered = transport.send(early, progress: TransferProgress())
            let arrived = try await origin.request()
            let task = Task { try await transport.send(late, progress: TransferProgress()) }
            let unanswered = try await origin.request()
            time.advance(by: .seconds(8) - .milliseconds(1))
            try await settle(transport, origin)
            try await arrived.reply(content: "just in time")
            #expect(try await answered.body == Array("just in time".utf8))
            time.advance(by: .milliseconds(1))
            let result = await task.result
            #expect(#expect(throws: TransportError.self) { try result.get() }?.code == .timedOut)
            unanswered.finish()
        }
    }

    @Test func `a time limit without end is never over`() async throws {
        try await ScriptedOrigin.run { origin in
            let transport = direct { $0.timeout = .seconds(Int64.max) }
            let request = try request(origin.url("/"))
            async let answered = transport.send(request, progress: TransferProgress())
            try await origin.request().reply(content: "here")
            #expect(try await answered.body == Array("here".utf8))
        }
    }

    @Test func `an origin that falls silent fails too`() async throws {
        try await ScriptedOrigin.run { origin in
            let time = ManualTime()
            let transport = direct(time: time) { $0.silenceTimeout = .seconds(8) }
            let request = try request(origin.url("/"))
            let task = Task { try await transport.send(request, progress: TransferProgress()) }
            let arrived = try await origin.request()
            try await arrived.send("HTTP/1.1 200 OK", "Content-Length: 10", content: "half")
            try await settle(transport, origin)
            time.advance(by: .seconds(8) - .milliseconds(1))
            try await settle(transport, origin)
            try await arrived.write(" more")
            try await settle(transport, origin)
            time.advance(by: .seconds(8))
            let result = await task.result
            let failure = #expect(throws: TransportFailure.self) { try result.get() }
            #expect((failure?.cause as? TransportError)?.code == .timedOut)
            #expect(failure?.response?.body == Array("half more".utf8))
            arrived.finish()
        }
    }

    @Test func `a response that is cut short is an error of the resource with what had come`() async throws {
        try await ScriptedOrigin.run { origin in
            let resource = Service("cut", baseURL: origin.url("/"), transport: direct()).resource("/")
            let load = resource.load()
            let arrived = try await origin.request()
            try await arrived.send(
                "HTTP/1.1 200 OK", "Content-Type: text/plain", "Content-Length: 10", content: "half")
            await arrived.close()
            let error = await load.response().response.error
            #expect((error?.cause as? TransportError)?.code == .responseIncomplete)
            #expect(error?.isTransient == true)
        }
    }

    @Test func `nobody there is said with the place`() async throws {
        try await ScriptedOrigin.run { origin in
            await origin.refuse()
            let error = await #expect(throws: TransportError.self) {
                _ = try await direct().send(try request(origin.url("/")), progress: TransferProgress())
            }
            #expect(error?.code == .connectionRefused)
            #expect("\(error as Any)".contains("127.0.0.1:\(origin.port) refused the connection"))
        }
    }

    @Test func `content that is too long is refused`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { _ in
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n"
            }
            let transport = direct { $0.contentLimit = 10 }
            let error = await #expect(throws: TransportError.self) {
                _ = try await transport.send(try request(origin.url("/")), progress: TransferProgress())
            }
            #expect(error?.code == .contentTooLarge)
        }
    }

    @Test func `a proxy is asked for what is elsewhere and not for what is here`() async throws {
        try await ScriptedOrigin.run { proxy in
            proxy.answer { head in OriginRequest.response(200, [], content: head.target) }
            var options = TransportOptions()
            options.proxy = .url("http://me:pass%20word@127.0.0.1:\(proxy.port)")
            let transport = OriginTransport(options)
            let reply = try await transport.send(try request("http://far.test/a?b"), progress: TransferProgress())
            #expect(reply.body == Array("http://far.test/a?b".utf8))
            #expect(proxy.seen.first?["proxy-authorization"] == "Basic bWU6cGFzcyB3b3Jk")
            let here = try await transport.send(try request(proxy.url("/here")), progress: TransferProgress())
            #expect(here.body == Array("/here".utf8))
        }
    }

    @Test func `a proxy that is none fails every request and says so`() async throws {
        var options = TransportOptions()
        options.proxy = .url("socks5://127.0.0.1:1080")
        let transport = OriginTransport(options)
        let error = await #expect(throws: TransportError.self) {
            _ = try await transport.send(try request("http://127.0.0.1:1/"), progress: TransferProgress())
        }
        #expect(error?.code == .configuration)
        #expect("\(error as Any)".contains("socks5"))
    }

    @Test func `SH-07 the transport is a session`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { _ in OriginRequest.response(200, [], content: #"{"a":1}"#) }
            let session = direct().json().body()
            let value = try await session.value(for: request(origin.url("/")))
            #expect(value?["a"]?.int == 1)
        }
    }
}
