// SPDX-License-Identifier: Apache-2.0
import Foundation
import Larder
import LarderIO
import LarderTesting
import Testing

@Suite("Content that goes by piece by piece", .timeLimit(.minutes(10)))
struct TransferTests {
    private let transport: OriginTransport = {
        var options = TransportOptions()
        options.proxy = .none
        return OriginTransport(options)
    }()

    @Test func `a stream begins with the head and goes on as content comes`() async throws {
        try await ScriptedOrigin.run { origin in
            let url = try TargetURI(origin.url("/events"))
            async let opening = transport.stream(OutgoingRequest(url: url))
            let arrived = try await origin.request()
            try await arrived.send("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
            let stream = try await opening
            #expect(stream.response.status == 200)
            #expect(stream.contentLength == nil && stream.url == url)
            var iterator = stream.makeAsyncIterator()
            for piece in ["one", "two"] {
                try await arrived.write("3\r\n\(piece)\r\n")
                let chunk = try await iterator.next()
                #expect(chunk?.withBytes { String(decoding: $0, as: UTF8.self) } == piece)
            }
            try await arrived.write("0\r\n\r\n")
            #expect(try await iterator.next() == nil)
            #expect(try await iterator.next() == nil)
            arrived.finish()
        }
    }

    @Test func `cancelling who reads a stream ends it and letting go of one closes it`() async throws {
        try await ScriptedOrigin.run { origin in
            for isCancelled in [true, false] {
                let arrived = try await self.openAndLeave(origin, isCancelled: isCancelled)
                _ = try await arrived.wire.wait(for: "the end") { $0.end }
                arrived.finish()
            }
        }
    }

    /// Opens a stream and lets go of it, perhaps after its reader was cancelled.
    private func openAndLeave(_ origin: ScriptedOrigin, isCancelled: Bool) async throws -> OriginRequest {
        let url = try TargetURI(origin.url("/events"))
        async let opening = transport.stream(OutgoingRequest(url: url))
        let arrived = try await origin.request()
        try await arrived.send("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
        let stream = try await opening
        guard isCancelled else { return arrived }
        let task = Task {
            for try await _ in stream {}
        }
        task.cancel()
        let result = await task.result
        #expect(throws: CancellationError.self) { try result.get() }
        return arrived
    }

    @Test func `SH-12 a download is there when all of it is`() async throws {
        try await ScriptedOrigin.run { origin in
            let directory = FreshDirectory()
            let path = directory.path + "/file"
            let progress = TransferProgress()
            let content = String(repeating: "line\n", count: 200_000)
            let request = DownloadRequest(
                OutgoingRequest(url: try TargetURI(origin.url("/file"))), to: path, progress: progress)
            async let download = transport.download.value(for: request)
            let arrived = try await origin.request()
            try await arrived.reply(content: content)
            let downloaded = try await download
            let message = try #require(downloaded)
            #expect(message.body == DownloadedFile(path: path, count: 1_000_000))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == content)
            #expect(directory.files == ["file"])
            #expect(progress.counters.received == 1_000_000 && progress.counters.toReceive == 1_000_000)
        }
    }

    @Test func `SH-12 a download that fails leaves what was there`() async throws {
        try await ScriptedOrigin.run { origin in
            let directory = FreshDirectory()
            let path = directory.path + "/file"
            try "before".write(toFile: path, atomically: true, encoding: .utf8)
            let request = DownloadRequest(OutgoingRequest(url: try TargetURI(origin.url("/file"))), to: path)
            let cut = Task { try await transport.download.value(for: request) }
            let arrived = try await origin.request()
            try await arrived.send("HTTP/1.1 200 OK", "Content-Length: 10", content: "half")
            await arrived.close()
            let outcome = await cut.result
            let error = #expect(throws: TransportError.self) { try outcome.get() }
            #expect(error?.code == .responseIncomplete)
            let refused = Task { try await transport.download.value(for: request) }
            try await origin.request().reply(404, content: "no such file")
            let refusal = await refused.result
            let missing = #expect(throws: HTTPError.self) { try refusal.get() }
            #expect(missing?.status == 404)
            #expect(directory.files == ["file"])
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "before")
        }
    }

    @Test func `SH-12 a download to nowhere says where`() async throws {
        try await ScriptedOrigin.run { origin in
            origin.answer { _ in OriginRequest.response(200, [], content: "x") }
            let request = DownloadRequest(
                OutgoingRequest(url: try TargetURI(origin.url("/file"))), to: "/nonexistent-directory/file")
            let error = await #expect(throws: TransportError.self) {
                _ = try await transport.download.value(for: request)
            }
            #expect(error?.code == .file)
            #expect(error?.detail.contains("/nonexistent-directory/file") == true)
        }
    }

    @Test func `SH-12 a file is uploaded as it is read and again after a redirection`() async throws {
        try await ScriptedOrigin.run { origin in
            let directory = FreshDirectory()
            let path = directory.path + "/file"
            let content = String(repeating: "0123456789", count: 70_000)
            try content.write(toFile: path, atomically: true, encoding: .utf8)
            let progress = TransferProgress()
            let request = UploadRequest(
                OutgoingRequest(method: .put, url: try TargetURI(origin.url("/a"))), source: .file(path),
                progress: progress)
            async let upload = transport.upload.value(for: request)
            for (target, status) in [("/a", 307), ("/b", 201)] {
                let arrived = try await origin.request()
                #expect(arrived.target == target && arrived.head.method == "PUT")
                #expect(try await arrived.content().text == content)
                try await arrived.reply(status, "Location: /b")
            }
            let status = try await upload?.response.status
            #expect(status == 201)
            #expect(progress.counters.sent == 700_000 && progress.counters.toSend == 700_000)
        }
    }

    @Test func `SH-12 a file that is not there is not uploaded`() async throws {
        let request = UploadRequest(
            OutgoingRequest(method: .put, url: try TargetURI("http://127.0.0.1:1/")), source: .file("/nonexistent"))
        let error = await #expect(throws: TransportError.self) { _ = try await transport.upload.value(for: request) }
        #expect(error?.code == .file)
    }
}
