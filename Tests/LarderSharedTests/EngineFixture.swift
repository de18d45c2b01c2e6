// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderIO
import Testing

@testable import LarderShared

/// Connections to an engine that the test plays: each dial makes a pair of sockets, the far end of which the test reads
/// and writes. All of it lives on one loop, and time moves by hand.
final class EngineFixture {
    let loop: EventLoop
    let time: ManualTime
    private(set) var dials: [EngineNode] = []
    /// What dials end with instead of a connection.
    var refusal: IOError?
    private var arrived: [Peer] = []
    private var all: [Peer] = []
    private var awaited: UnsafeContinuation<Void, Never>?
    /// The changes of circuits: the node's port, and whether it is used again.
    var changes: [String] = []

    /// Runs `body` on a fresh loop.
    static func run(_ body: @Sendable @escaping (EngineFixture) async throws -> Void) async throws {
        let time = ManualTime()
        let loop = try EventLoop(name: "test", time: time)
        try loop.start()
        defer { loop.stop() }
        try await loop.run { loop in try await body(EngineFixture(loop, time)) }
    }

    private init(_ loop: EventLoop, _ time: ManualTime) {
        self.loop = loop
        self.time = time
    }

    static let node = EngineNode.tcp(host: "10.0.0.1", port: 6379)

    func connection(_ change: (inout EngineSettings) -> Void = { _ in }) -> NodeConnection {
        NodeConnection(Self.node, on: loop, settings(change), dial: dial, changed: changed)
    }

    func engine(_ change: (inout EngineSettings) -> Void = { _ in }) -> Engine {
        Engine(on: loop, settings(change), dial: dial, changed: changed)
    }

    private func settings(_ change: (inout EngineSettings) -> Void) -> EngineSettings {
        var settings = EngineSettings(nodes: [Self.node])
        settings.haste = 0
        change(&settings)
        return settings
    }

    private var changed: (EngineNode, Bool, String) -> Void {
        { [weak self] node, isUsable, _ in self?.changes.append("\(node) \(isUsable ? "on" : "off")") }
    }

    private var dial: EngineDial {
        { [unowned self] node, _ async throws(IOError) in try open(node) }
    }

    private func open(_ node: EngineNode) throws(IOError) -> ByteStream {
        dials.append(node)
        if let refusal { throw refusal }
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw IOError(errno: errno, operation: "socketpair")
        }
        let near = try loop.adoptHere(pair[0], peer: .loopback(port: 1))
        let far = Peer(try loop.adoptHere(pair[1], peer: .loopback(port: 1)), node)
        all.append(far)
        arrived.append(far)
        awaited.take()?.resume()
        return near
    }

    /// The next connection that was made.
    func accept() async -> Peer {
        while arrived.isEmpty { await withUnsafeContinuation { awaited = $0 } }
        return arrived.removeFirst()
    }

    var deadline: Int64 { loop.monotonicHere() + 20_000_000 }

    /// Performs a command and goes on at once.
    func begin(_ engine: Engine, _ command: Command) -> PendingReply {
        let pending = PendingReply()
        let deadline = deadline
        loop.startHere { pending.settle(await engine.perform(command, until: deadline)) }
        return pending
    }

    /// Lets everything that is ready run, the kernel's reports included.
    func settle() async {
        for _ in 0..<5 {
            await withUnsafeContinuation { continuation in
                loop.execute { _ in }
                loop.timerHere(after: .zero) { continuation.resume() }
            }
        }
    }

    /// Lets time pass, and everything run that is due then.
    func pass(_ duration: Duration) async {
        time.advance(by: duration)
        await settle()
    }
}

/// The engine's end of a connection.
final class Peer {
    let node: EngineNode
    private let stream: ByteStream
    private let reader = ReplyReader()
    private var commands: [[String]] = []

    init(_ stream: ByteStream, _ node: EngineNode) {
        self.stream = stream
        self.node = node
    }

    /// The next command; nil at the end.
    func next() async throws -> [String]? {
        while commands.isEmpty {
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 16)
            defer { buffer.deallocate() }
            let count = try await stream.read(into: buffer)
            guard count > 0 else { return nil }
            let replies = try reader.read(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            commands += replies.map { ($0.elements ?? []).map { $0.text ?? "?" } }
        }
        return commands.removeFirst()
    }

    /// Reads a command and sends octets back.
    func answer(_ text: String, to expected: String? = nil) async throws {
        let command = try #require(try await next())
        if let expected { #expect(command.joined(separator: " ") == expected) }
        try await send(text)
    }

    func send(_ text: String) async throws { try await stream.write(Array(text.utf8)) }
    func close() { stream.close() }
}
