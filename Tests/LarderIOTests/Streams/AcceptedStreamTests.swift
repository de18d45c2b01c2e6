// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LarderIO

/// Streams as a listener hands them over, which the kernel is not asked about before something waits.
@Suite("Accepted streams", .timeLimit(.minutes(10)))
struct AcceptedStreamTests {
    /// A stream accepted from a client that did `first` before.
    private func accepted(on loop: isolated EventLoop, _ first: (Peer) -> Void = { _ in }) throws -> (ByteStream, Peer)
    {
        let (client, server) = try connectedPair(AF_INET)
        setNonBlocking(server)
        let peer = Peer(client)
        first(peer)
        return (ByteStream(accepted: server, on: loop.executor, peer: nil, local: nil), peer)
    }

    @Test func `what came before is read at once, what comes later is waited for`() async throws {
        let texts = try await onLoop { loop in
            let (stream, peer) = try self.accepted(on: loop) { $0.send("first") }
            defer { stream.close() }
            let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 16)
            defer { scratch.deallocate() }
            let count = try #require(try stream.tryRead(into: scratch))
            let first = Array(scratch[..<count]).text
            #expect(try stream.tryRead(into: scratch) == nil)
            loop.spawnHere { peer.send("second") }
            return [first, try await stream.readSome().text]
        }
        #expect(texts == ["first", "second"])
    }

    @Test func `an end that came with the first octets is read after them`() async throws {
        let text = try await onLoop { loop in
            let (stream, _) = try self.accepted(on: loop) {
                $0.send("all")
                $0.shutdownWrite()
            }
            defer { stream.close() }
            return try await stream.readAll().text
        }
        #expect(text == "all")
    }

    @Test(arguments: [false, true])
    func `a peer that left before anything waited is announced to who asks`(breaking: Bool) async throws {
        let calls = try await onLoop { loop in
            let (stream, _) = try self.accepted(on: loop) { if breaking { $0.reset() } else { $0.close() } }
            defer { stream.close() }
            var calls = 0
            stream.onPeerClosed = { calls += 1 }
            while calls == 0 { await loop.yield() }
            for _ in 0..<5 { await loop.yield() }
            return calls
        }
        #expect(calls == 1)
    }

    @Test func `a closure waits for the first octets in place of a task`() async throws {
        let heard = try await onLoop { loop in
            let (stream, peer) = try self.accepted(on: loop)
            defer { stream.close() }
            var heard: [String] = []
            // Nobody has looked yet: it may be there already.
            heard.append("\(stream.watch { _ in })")
            let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64, alignment: 16)
            defer { scratch.deallocate() }
            #expect(try stream.tryRead(into: scratch) == nil)
            heard.append("\(stream.watch { heard.append("input: \($0)") })")
            peer.send("x")
            while heard.count < 3 { await loop.yield() }
            return heard
        }
        #expect(heard == ["false", "true", "input: true"])
    }

    @Test func `octets that the end follows leave together with it`() async throws {
        try await onLoop { loop in
            let (stream, peer) = try self.accepted(on: loop)
            defer { stream.close() }
            let isWritten = try Array("last words".utf8).withUnsafeBytes { bytes in
                var parts = GatherList()
                parts.append(bytes)
                return try stream.tryWrite(&parts, endFollows: true)
            }
            #expect(isWritten)
            var octet: UInt8 = 0
            #expect(recv(peer.descriptor, &octet, 1, SocketKind.peek) < 0, "nothing leaves before the end does")
            stream.shutdownWrite()
            #expect(peer.receive().text == "last words")
            #expect(peer.receive().isEmpty)
        }
    }

    @Test func `a deadline ends the wait for the first octets`() async throws {
        let code = try await onLoop { loop -> IOError.Code? in
            let (stream, peer) = try self.accepted(on: loop)
            defer {
                stream.close()
                peer.close()
            }
            stream.setDeadline(after: .milliseconds(1))
            do throws(IOError) {
                _ = try await stream.readSome()
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code == .timedOut)
    }
}
