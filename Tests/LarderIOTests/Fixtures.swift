// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LarderIO

/// Runs `body` on a fresh loop and ends the loop afterwards, whatever happened.
func onLoop<Result: Sendable>(
    _ name: String = "test", time: any TimeSource = SystemTime(),
    _ body: @Sendable @escaping (isolated EventLoop) async throws -> Result
) async throws -> Result {
    let loop = try EventLoop(name: name, time: time)
    try loop.start()
    defer { loop.stop() }
    return try await loop.run(body)
}

/// Two connected sockets, as from `socketpair`.
func connectedPair(_ family: Int32 = AF_UNIX) throws -> (Int32, Int32) {
    if family == AF_UNIX {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, SocketKind.stream, 0, &pair) == 0)
        return (pair[0], pair[1])
    }
    let listener = socket(family, SocketKind.stream, 0)
    defer { close(listener) }
    let bound = SocketAddress.loopback(port: 0).bind(listener)
    try #require(bound == 0 && listen(listener, 8) == 0)
    let client = socket(family, SocketKind.stream, 0)
    let connected = SocketAddress.of(listener, ask: getsockname).connect(client)
    try #require(connected == 0)
    let server = accept(listener, nil, nil)
    try #require(server >= 0)
    return (client, server)
}

/// A stream and the plain socket at its other end, which the test drives with blocking calls.
func streamAndPeer(on loop: isolated EventLoop, _ family: Int32 = AF_UNIX) throws -> (ByteStream, Peer) {
    let (a, b) = try connectedPair(family)
    return (try ByteStream(adopting: a, on: loop), Peer(b))
}

/// The far end of a stream under test: a blocking socket.
final class Peer {
    private(set) var descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        close()
    }

    func send(_ text: String) {
        let octets = Array(text.utf8)
        #expect(Glibc.send(descriptor, octets, octets.count, SocketKind.noSignal) == octets.count)
    }

    func shutdownWrite() { Glibc.shutdown(descriptor, SocketKind.ourSide) }

    /// The octets of one receive; empty at the end.
    func receive(_ limit: Int = 65536) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = recv(descriptor, &buffer, limit, 0)
        return count > 0 ? Array(buffer[..<count]) : []
    }

    /// Takes what has come, without waiting; returns how many octets that was.
    func receiveAtHand(limit: Int) -> Int {
        var buffer = [UInt8](repeating: 0, count: limit)
        return max(0, recv(descriptor, &buffer, limit, Int32(MSG_DONTWAIT)))
    }
}

extension ByteStream {
    /// One read, as octets; empty at the end.
    func readSome(_ limit: Int = 65536) async throws(IOError) -> [UInt8] {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 16)
        defer { buffer.deallocate() }
        let count = try await read(into: buffer)
        return Array(buffer[..<count])
    }

    /// All there is until the end.
    func readAll() async throws(IOError) -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let some = try await readSome()
            if some.isEmpty { return all }
            all += some
        }
    }

    /// Exactly `count` octets, fewer only at the end.
    func readExactly(_ count: Int) async throws(IOError) -> [UInt8] {
        var all: [UInt8] = []
        while all.count < count {
            let some = try await readSome(count - all.count)
            if some.isEmpty { break }
            all += some
        }
        return all
    }
}

extension Array where Element == UInt8 {
    var text: String { String(decoding: self, as: UTF8.self) }
}
