// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderPeers
import Testing

@testable import LarderIO
@testable import LarderProxy

@Suite("What keeps a tunnel open", .timeLimit(.minutes(10)))
struct TunnelRelayTests {
    private static let idle = Duration.seconds(8)

    /// A relay under test, and the plain sockets at its far ends. Time moves by hand.
    private final class Bench {
        let time: ManualTime
        let loop: EventLoop
        let client: Int32
        let origin: ByteStream
        private let relay: TunnelRelay
        private(set) var hasEnded = false

        init(_ time: ManualTime, _ loop: EventLoop) throws {
            (self.time, self.loop) = (time, loop)
            let (nearClient, client) = try Self.pair()
            let (nearOrigin, origin) = try Self.pair()
            func stream(_ descriptor: Int32) throws(IOError) -> ByteStream {
                try ByteStream(adopting: descriptor, on: loop.executor, peer: nil, isNonBlocking: false)
            }
            self.client = client
            self.origin = try stream(origin)
            relay = TunnelRelay(
                client: try stream(nearClient), upstream: try stream(nearOrigin), idle: TunnelRelayTests.idle,
                patience: TunnelRelayTests.idle, counters: LoopCounters(), buffers: BufferPool())
            loop.startHere {
                await self.relay.run(on: self.loop)
                self.hasEnded = true
            }
        }

        deinit { close(client) }

        private static func pair() throws -> (Int32, Int32) {
            var pair: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            return (pair[0], pair[1])
        }

        /// What the client takes of what is there; 0 if there is nothing, or the tunnel has ended.
        func take() -> Int {
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            return max(0, recv(client, &buffer, buffer.count, Int32(MSG_DONTWAIT)))
        }

        /// Lets seconds pass, and everything happen that is due in them.
        func pass(seconds: Int) async {
            await settle()
            for _ in 0..<seconds {
                time.advance(by: .seconds(1))
                await settle()
            }
        }

        private func settle() async {
            for _ in 0..<5 {
                let turned = Promise<Void>()
                loop.execute { _ in }
                _ = loop.timerHere(after: .zero) { turned.fulfil(()) }
                await turned.value()
            }
        }
    }

    private func run(_ body: @Sendable @escaping (Bench) async throws -> Void) async throws {
        let time = ManualTime()
        let loop = try EventLoop(name: "test", time: time)
        try loop.start()
        defer { loop.stop() }
        try await loop.run { loop in try await body(Bench(time, loop)) }
    }

    @Test(arguments: [128 << 10, 1 << 20])
    func `a client that takes octets slowly is not idle`(count: Int) async throws {
        try await run { bench in
            bench.loop.startHere { try? await bench.origin.write([UInt8](repeating: 0x61, count: count)) }
            var taken = 0
            while taken < count {
                await bench.pass(seconds: 6)
                let next = bench.take()
                try #require(next > 0 && !bench.hasEnded, "\(taken) of \(count) octets were taken")
                taken += next
            }
            await bench.pass(seconds: 7)
            #expect(!bench.hasEnded)
            await bench.pass(seconds: 2)
            #expect(bench.hasEnded)
        }
    }

    @Test(arguments: [0, 128 << 10, 1 << 20])
    func `a tunnel whose client takes nothing is idle`(count: Int) async throws {
        try await run { bench in
            bench.loop.startHere { try? await bench.origin.write([UInt8](repeating: 0x61, count: count)) }
            await bench.pass(seconds: 7)
            #expect(!bench.hasEnded)
            await bench.pass(seconds: 1)
            #expect(bench.hasEnded)
        }
    }
}
