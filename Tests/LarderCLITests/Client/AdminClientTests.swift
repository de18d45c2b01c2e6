// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Glibc
import Larder
import LarderHTTP
import LarderUpstream
import Testing

@testable import LarderCLI

@Suite("Asking a daemon")
struct AdminClientTests {
    @Test func `a request is sent whole, and the answer's content comes back`() async throws {
        let peer = try ScriptedPeer(answer: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: y\r\n\r\n{}\n")
        let content = try AdminClient(socket: peer.path).send(
            .post, AdminClient.target("/-/resource/wipe", [("url", "https://a/?b=ü&c"), ("caches", "remove")]))
        #expect(String(decoding: content, as: UTF8.self) == "{}\n")
        #expect(
            await peer.request() == """
                POST /-/resource/wipe?url=https%3A%2F%2Fa%2F%3Fb%3D%C3%BC%26c&caches=remove HTTP/1.1\r
                Host: localhost\r
                Connection: close\r
                Accept: application/json\r
                Content-Length: 0\r
                \r

                """)
    }

    @Test func `a refusal is told with the daemon's own words`() throws {
        let answer =
            "HTTP/1.1 404 Not Found\r\n\r\n{\"title\": \"Gone\", \"detail\": \"There is no ‘a’.\", \"advice\": \"Load it first.\"}"
        let peer = try ScriptedPeer(answer: answer)
        #expect {
            try AdminClient(socket: peer.path).send(.get, "/")
        } throws: { error in
            "\(error)" == "there is no 'a'; load it first"
        }
    }

    @Test(arguments: [(400, 64), (404, 1)] as [(Int, Int32)])
    func `a parameter that the daemon does not understand was the user's`(status: Int, exit: Int32) throws {
        let peer = try ScriptedPeer(answer: "HTTP/1.1 \(status) No\r\n\r\n{\"detail\": \"‘a’ is no pattern.\"}")
        #expect {
            try AdminClient(socket: peer.path).send(.get, "/-/resources?match=a")
        } throws: { error in
            Program.status(of: error).rawValue == exit
        }
    }

    @Test func `a refusal without words is none of a Larder`() throws {
        let peer = try ScriptedPeer(answer: "HTTP/1.1 500 Oops\r\n\r\n")
        #expect {
            try AdminClient(socket: peer.path).send(.get, "/")
        } throws: { error in
            "\(error)"
                == "what answers with 500, and without a reason, does not look like a Larder; check the daemon's address"
        }
    }

    @Test(arguments: [
        "", "hello\r\n\r\n", "HTTP/1.1 x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    ])
    func `what is no whole answer is refused`(answer: String) throws {
        let peer = try ScriptedPeer(answer: answer)
        #expect(throws: CommandFailure.self) { try AdminClient(socket: peer.path).send(.get, "/") }
    }

    @Test func `chunks and interim responses are no part of an answer`() throws {
        let peer = try ScriptedPeer(
            answer: "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")
        #expect(try AdminClient(socket: peer.path).send(.get, "/") == Array("abc".utf8))
    }

    @Test func `a load is waited for as long as the daemon answers others`() throws {
        let peer = try LoadingPeer(isThere: true)
        var client = AdminClient(socket: peer.path)
        client.patience = 1
        #expect(try client.send(.post, "/-/resource/load?url=a") == Array("{}".utf8))
    }

    @Test(arguments: ["/-/resource/load?url=a", "/-/reload"])
    func `a daemon that answers nobody, or has something else to do, is given up`(target: String) throws {
        let peer = try LoadingPeer(isThere: target == "/-/reload")
        var client = AdminClient(socket: peer.path)
        client.patience = 1
        #expect {
            try client.send(.post, target)
        } throws: { error in
            "\(error)" == "the daemon has not answered for 1 s; see its log"
        }
    }

    @Test func `without a daemon the message says how to start one`() {
        #expect {
            try AdminClient(socket: "/nowhere/larder.sock").send(.get, "/-/status")
        } throws: { error in
            "\(error)" == """
                no daemon is running: there is no socket /nowhere/larder.sock; start it with `larder serve` or \
                `systemctl start larder`, or name its socket with `--socket PATH`
                """
        }
    }

    @Test func `a socket that nobody answers on is no daemon either`() throws {
        let path = NSTemporaryDirectory() + "larder-\(UUID().uuidString.prefix(8)).sock"
        let descriptor = try ScriptedPeer.bound(to: path)
        close(descriptor)
        defer { unlink(path) }
        #expect {
            try AdminClient(socket: path).send(.get, "/-/status")
        } throws: { error in
            "\(error)".hasPrefix("no daemon is running: nobody answers on \(path); start it")
        }
    }

    @Test func `a daemon that answers elsewhere is not said to be missing`() throws {
        let directory = NSTemporaryDirectory() + "larder-\(UUID().uuidString.prefix(8))"
        let client = AdminClient(
            socket: directory + "/a.sock", place: TCPPlace(host: "127.0.0.1", port: 1), others: ["/b.sock"])
        #expect {
            try client.send(.post, "/-/reload")
        } throws: { error in
            "\(error)".hasPrefix(
                "no daemon is running: there is no socket \(directory)/a.sock, nor /b.sock, and nobody answers at "
                    + "http://127.0.0.1:1; start it")
        }
    }

    @Test func `reload says which file was read, or where none was found`() throws {
        #expect(Reload.words(["file": "/x.yaml", "searched": []]) == "the configuration of /x.yaml is in force\n")
        #expect(
            Reload.words(["file": .null, "searched": ["/a", "/b"]]).hasPrefix(
                "no file was read, the defaults are in force: there is no /a, and no /b; make one, or start"))
    }

    @Test(arguments: [("--url", "leave out `--url`"), ("LARDER_URL", "unset LARDER_URL")])
    func `over TCP the advice is about where its address was given`(name: String, advice: String) throws {
        let client = AdminClient(
            socket: "", place: TCPPlace(host: "nowhere.invalid", port: 1), isOverTCP: true, placeName: name)
        let content = Array(#"{"detail": "No.", "advice": "A."}"#.utf8)
        let refusal = AdminAnswer(status: 403, content: content, wantsToken: true)
        #expect {
            try client.advised(refusal).successfulContent()
        } throws: { error in
            "\(error)" == "no; \(advice), as changes go over the daemon's Unix socket"
        }
        #expect(client.failure(.unknownHost).advice == "correct its name in `\(name)`")
    }

    @Test func `a path that no socket can have is refused`() {
        #expect {
            try AdminClient(socket: "/" + String(repeating: "x", count: 200)).send(.get, "/")
        } throws: { error in
            "\(error)".hasPrefix("the socket's path is too long")
        }
    }

    @Test(arguments: [(0, true), (3, false)])
    func `what is out of date already was found`(unchanged: Int, isMissing: Bool) throws {
        let content = "{\"invalidated\":{\"memory\":0,\"disk\":0},\"unchanged\":\(unchanged)}"
        let peer = try ScriptedPeer(
            answer: "HTTP/1.1 200 OK\r\nContent-Length: \(content.utf8.count)\r\nConnection: close\r\n\r\n\(content)")
        var status: ExitCode?
        do throws {
            try withExtendedLifetime(peer) { try Invalidate.parse(["--match", "/a", "--socket", peer.path]).run() }
        } catch let code as ExitCode {
            status = code
        }
        #expect(status == (isMissing ? ExitCode(CommandFailure.nothingMatched) : nil))
    }
}

/// A Unix socket whose first client is answered when a second has come, and been answered; or, unless `isThere`, never,
/// and the second is sent away.
final class LoadingPeer: Sendable {
    let path: String
    private let listener: Int32

    init(isThere: Bool) throws {
        path = NSTemporaryDirectory() + "larder-\(UUID().uuidString.prefix(8)).sock"
        let listener = try ScriptedPeer.bound(to: path)
        self.listener = listener
        listen(listener, 2)
        Thread.detachNewThread {
            let (first, second) = (accept(listener, nil, nil), accept(listener, nil, nil))
            for connection in isThere ? [second, first] : [second] where connection >= 0 {
                // The request is sent before its answer, and in one piece.
                var request = [UInt8](repeating: 0, count: 4_096)
                _ = read(connection, &request, request.count)
                let answer = isThere ? "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" : ""
                _ = Array(answer.utf8).withUnsafeBytes {
                    send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                close(connection)
            }
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        unlink(path)
    }
}

/// A Unix socket that takes one connection, reads a request's head and gives a fixed answer.
final class ScriptedPeer: Sendable {
    let path: String
    private let received: AsyncStream<String>

    init(answer: String) throws {
        path = NSTemporaryDirectory() + "larder-\(UUID().uuidString.prefix(8)).sock"
        let listener = try ScriptedPeer.bound(to: path)
        listen(listener, 1)
        let (stream, continuation) = AsyncStream<String>.makeStream()
        received = stream
        Thread.detachNewThread {
            let connection = accept(listener, nil, nil)
            var bytes: [UInt8] = []
            var chunk = [UInt8](repeating: 0, count: 4_096)
            while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                let count = read(connection, &chunk, chunk.count)
                guard count > 0 else { break }
                bytes += chunk[..<count]
            }
            continuation.yield(String(decoding: bytes, as: UTF8.self))
            continuation.finish()
            _ = Array(answer.utf8).withUnsafeBytes { write(connection, $0.baseAddress, $0.count) }
            close(connection)
            close(listener)
        }
    }

    deinit { unlink(path) }

    func request() async -> String? {
        for await request in received { return request }
        return nil
    }

    static func bound(to path: String) throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(status == 0)
        return descriptor
    }
}
