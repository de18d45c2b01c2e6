// SPDX-License-Identifier: Apache-2.0

import LarderIO

/// Two streams connected to each other. Confined to their loop.
final class TunnelRelay {
    private let client: ByteStream
    private let upstream: ByteStream
    /// How long both sides may be silent.
    private let idle: Duration
    /// How long both sides may be silent before one of them has sent a byte.
    private let patience: Duration
    private let counters: LoopCounters
    private let buffers: BufferPool
    private static let bufferSize = 64 << 10
    var clientEarly: [UInt8] = []
    var upstreamEarly: [UInt8] = []
    /// Bytes relayed to the upstream.
    private(set) var sentUpstream = 0
    /// Bytes relayed to the client.
    private(set) var sentToClient = 0
    private var running = 2
    /// True if a side takes no more.
    private var isBroken = false
    private var whenDone: UnsafeContinuation<Void, Never>?

    init(
        client: ByteStream, upstream: ByteStream, idle: Duration, patience: Duration, counters: LoopCounters,
        buffers: BufferPool
    ) {
        self.client = client
        self.upstream = upstream
        self.idle = idle
        self.patience = min(patience, idle)
        self.counters = counters
        self.buffers = buffers
        client.partner = upstream
        upstream.partner = client
    }

    func run(on loop: EventLoop) async {
        loop.startHere {
            await self.pass(self.clientEarly, from: self.client, to: self.upstream) { self.sentUpstream += $0 }
            self.ended()
        }
        loop.startHere {
            await self.pass(self.upstreamEarly, from: self.upstream, to: self.client) { self.sentToClient += $0 }
            self.ended()
        }
        await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
            // Both may have ended before this task is suspended.
            if running > 0 { whenDone = continuation } else { continuation.resume() }
        }
    }

    private func ended() {
        running -= 1
        if running == 0 { whenDone.take()?.resume() }
    }

    /// Traffic in either direction keeps both alive.
    private func keepAlive() {
        let hasBegun = sentUpstream > 0 || sentToClient > 0
        client.setIdleDeadline(after: hasBegun ? idle : patience)
        upstream.setIdleDeadline(after: hasBegun ? idle : patience)
    }

    /// Relays one direction until its end, which is relayed too; a broken side breaks the other, as what came of it would
    /// look whole after an orderly end.
    private func pass(
        _ early: [UInt8], from source: ByteStream, to target: ByteStream, count add: (Int) -> Void
    ) async {
        do {
            let buffer = try buffers.take(atLeast: TunnelRelay.bufferSize)
            defer { buffers.giveBack(buffer) }
            add(early.count)
            if !early.isEmpty { try await target.write(early) }
            while true {
                keepAlive()
                let count = try await source.read(into: buffer)
                guard count > 0 else { break }
                add(count)
                keepAlive()
                counters.add(.tunnelled, count)
                do throws(IOError) {
                    try await target.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                } catch  where error.code != .timedOut {
                    // The other direction still relays what the target sent before it broke.
                    isBroken = true
                    return
                }
            }
            // After an error has been told to a writer, readers find an orderly end.
            guard !isBroken else { throw IOError(.connectionReset, operation: "relay") }
            target.shutdownWrite()
        } catch let error as IOError where error.code == .timedOut {
            source.close()
            target.close()
        } catch {
            source.reset()
            target.reset()
        }
    }
}
