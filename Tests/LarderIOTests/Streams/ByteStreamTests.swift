// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LarderIO

@Suite("Byte streams")
struct ByteStreamTests {
    @Test(arguments: [AF_UNIX, AF_INET])
    func `what one side writes the other reads`(family: Int32) async throws {
        let heard = try await onLoop { loop in
            let (a, b) = try connectedPair(family)
            let near = try ByteStream(adopting: a, on: loop)
            let far = try ByteStream(adopting: b, on: loop)
            loop.spawnHere {
                while let some = try? await far.readSome(), !some.isEmpty { try? await far.write(some) }
                far.close()
            }
            try await near.write(Array("hello ".utf8))
            try await near.write(Array("there".utf8))
            near.shutdownWrite()
            defer { near.close() }
            return try await near.readAll().text
        }
        #expect(heard == "hello there")
    }

    @Test(arguments: [AF_UNIX, AF_INET])
    func `data and end in one edge are both noticed`(family: Int32) async throws {
        for _ in 0..<100 {
            let (text, end) = try await onLoop { loop in
                let (stream, peer) = try streamAndPeer(on: loop, family)
                defer { stream.close() }
                peer.send("last words")
                peer.close()
                return (try await stream.readSome().text, try await stream.readSome().count)
            }
            #expect(text == "last words")
            #expect(end == 0)
        }
    }
}
