// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderTesting
import Testing

@testable import LarderIO
@testable import LarderUpstream

/// A pool under test with the test as its origin: every dial makes a pair of real sockets, the far end of which the
/// test accepts, reads and writes. All of it lives on one loop, and time moves by hand.
final class Fixture {
    let loop: EventLoop
    let time: ManualTime
    let pool: UpstreamPool
    private let network: Network

    /// Runs `body` on a fresh loop.
    static func run(
        _ configure: @Sendable @escaping (inout UpstreamSettings) -> Void = { _ in },
        _ body: @Sendable @escaping (Fixture) async throws -> Void
    ) async throws {
        let time = ManualTime()
        let loop = try EventLoop(name: "test", time: time)
        try loop.start()
        defer { loop.stop() }
        try await loop.run { loop in
            var settings = UpstreamSettings(tls: try TLSClientContext())
            configure(&settings)
            try await body(Fixture(loop, time, settings))
        }
    }

    private init(_ loop: EventLoop, _ time: ManualTime, _ settings: UpstreamSettings) {
        self.loop = loop
        self.time = time
        let network = Network(loop)
        self.network = network
        pool = UpstreamPool(loop: loop, settings: settings) { host, port, timeout, abort, allows throws(IOError) in
            network.aborts.append(abort)
            return try await network.connect(host, port, allows)
        }
    }

    // MARK: The client's side

    /// Begins to send and goes on at once.
    func send(_ request: UpstreamRequest) -> Promise<Result<UpstreamResponse, any Error>> {
        let answer = Promise<Result<UpstreamResponse, any Error>>()
        let pool = pool
        loop.startHere {
            do { answer.fulfil(.success(try await pool.send(request))) } catch { answer.fulfil(.failure(error)) }
        }
        return answer
    }

    /// Sends, lets the origin do its part, and answers what came of it.
    func exchange(_ request: UpstreamRequest, _ origin: (FarEnd) async throws -> Void) async throws -> UpstreamResponse
    {
        let answer = send(request)
        try await origin(try await accept())
        return try await answer.value().get()
    }

    var statistics: UpstreamStatistics? { pool.statistics.first }

    /// Lets everything that is ready on the loop, the kernel's reports included, run.
    func settle() async {
        for _ in 0..<5 {
            await turn()
        }
    }

    private func turn() async {
        let turned = Promise<Void>()
        loop.execute { _ in }
        _ = loop.timerHere(after: .zero) { turned.fulfil(()) }
        await turned.value()
    }

    // MARK: Time

    /// Lets time pass until `limit` is reached, and fails if `hasHappened` is true just before it.
    func pass(
        _ limit: Duration, sourceLocation: SourceLocation = #_sourceLocation, notBefore hasHappened: () -> Bool
    ) async {
        // What the limit applies to is under way before time moves.
        await settle()
        time.advance(by: limit - .milliseconds(1))
        await settle()
        #expect(!hasHappened(), "it happened before \(limit) had passed", sourceLocation: sourceLocation)
        time.advance(by: .milliseconds(1))
    }

    /// The code of the error that `body` throws when it has lasted for `limit`; fails if `body` ends before.
    func failure(
        at limit: Duration, sourceLocation: SourceLocation = #_sourceLocation, _ body: @escaping () async throws -> Void
    ) async -> UpstreamError.Code? {
        var hasEnded = false
        let ended = Promise<UpstreamError.Code?>()
        loop.startHere {
            let outcome = await code(body)
            hasEnded = true
            ended.fulfil(outcome)
        }
        await pass(limit, sourceLocation: sourceLocation) { hasEnded }
        return await ended.value()
    }

    // MARK: The network

    /// The next connection the pool makes.
    func accept() async throws -> FarEnd { await network.accept() }

    var dials: [String] { network.dials }
    /// What ends each of them, in order.
    var connectAborts: [ConnectAbort] { network.aborts }
    /// Has the next dials end with `error` instead of a connection.
    func refuseDials(with error: IOError?) { network.refusal = error }
    /// Holds dials back until it is called with false.
    func holdDials(_ isHeld: Bool) { network.hold(isHeld) }
}

/// Where dials lead.
private final class Network {
    private let loop: EventLoop
    private(set) var dials: [String] = []
    var aborts: [ConnectAbort] = []
    var refusal: IOError?
    private var arrived: [FarEnd] = []
    /// All of them, so that none is closed for want of somebody who holds it.
    private var farEnds: [FarEnd] = []
    private var awaited: Promise<FarEnd>?
    private var held: [Promise<Void>]?

    init(_ loop: EventLoop) { self.loop = loop }

    func connect(
        _ host: String, _ port: UInt16, _ allows: (SocketAddress) -> Bool
    ) async throws(IOError) -> ByteStream {
        dials.append("\(host):\(port)")
        if held != nil {
            let promise = Promise<Void>()
            held?.append(promise)
            await promise.value()
        }
        if let refusal { throw refusal }
        let address = SocketAddress(host: host, port: port) ?? .loopback(port: port)
        guard allows(address) else { throw IOError(.permissionDenied, operation: "connect") }
        var pair: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
            throw IOError(errno: errno, operation: "socketpair")
        }
        let near = try stream(pair[0], address)
        let far = FarEnd(try stream(pair[1], address))
        farEnds.append(far)
        if let awaited = awaited.take() { awaited.fulfil(far) } else { arrived.append(far) }
        return near
    }

    private func stream(_ descriptor: Int32, _ peer: SocketAddress) throws(IOError) -> ByteStream {
        try ByteStream(adopting: descriptor, on: loop.executor, peer: peer, isNonBlocking: false)
    }

    func accept() async -> FarEnd {
        if !arrived.isEmpty { return arrived.removeFirst() }
        let promise = Promise<FarEnd>()
        awaited = promise
        return await promise.value()
    }

    func hold(_ isHeld: Bool) {
        let waiting = held ?? []
        held = isHeld ? [] : nil
        for promise in waiting { promise.fulfil(()) }
    }
}

/// The origin's end of a connection.
final class FarEnd {
    let stream: ByteStream
    private var rest: [UInt8] = []

    init(_ stream: ByteStream) { self.stream = stream }

    /// Reads up to an empty line and answers everything before it, with `\n` between lines.
    func head() async throws -> String {
        while true {
            let text = String(decoding: rest, as: UTF8.self)
            if let end = text.range("\r\n\r\n") {
                rest = Array(rest[(end + 4)...])
                return String(decoding: text.utf8.prefix(end).filter { $0 != 0x0D }, as: UTF8.self)
            }
            guard try await more() else { return "end: " + text }
        }
    }

    /// Reads exactly `count` octets.
    func octets(_ count: Int) async throws -> String {
        while rest.count < count, try await more() {}
        defer { rest.removeFirst(min(count, rest.count)) }
        return String(decoding: rest.prefix(count), as: UTF8.self)
    }

    /// Whether the pool closes the connection, having sent nothing more.
    func isClosed() async -> Bool {
        do {
            let hasMore = try await more()
            return !hasMore && rest.isEmpty
        } catch {
            return true
        }
    }

    func send(_ text: String) async throws { try await stream.write(Array(text.utf8)) }
    func send(_ octets: [UInt8]) async throws { try await stream.write(octets) }
    func close() { stream.close() }

    private func more() async throws -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65536, alignment: 16)
        defer { buffer.deallocate() }
        let count = try await stream.read(into: buffer)
        rest.append(contentsOf: buffer[..<count])
        return count > 0
    }
}

extension String {
    /// The offset of the first `text`, in octets.
    fileprivate func range(_ text: String) -> Int? {
        let all = Array(utf8)
        let part = Array(text.utf8)
        guard all.count >= part.count else { return nil }
        return (0...(all.count - part.count)).first { all[$0..<($0 + part.count)].elementsEqual(part) }
    }
}

extension UpstreamRequest {
    /// A request to `http://origin.test`, complete as the proxy makes them.
    static func to(
        _ target: String = "/", _ method: Method = .get, origin: String = "http://origin.test", fields: Fields = [:],
        parent: ParentAddress? = nil
    ) throws -> UpstreamRequest {
        let uri = try TargetURI(origin)
        var all: Fields = [.host: uri.authority]
        fields.forEachLine { name, spelling, value in all.appendReceived(spelling: spelling, value: value) }
        return UpstreamRequest(
            origin: Origin(uri), head: RequestHead(method: method, target: target, fields: all), parent: parent)
    }

    func with(_ change: (inout UpstreamRequest) -> Void) -> UpstreamRequest {
        var copy = self
        change(&copy)
        return copy
    }
}

extension UpstreamResponse {
    /// All content as text.
    func text() async throws(UpstreamError) -> String {
        var octets: [UInt8] = []
        while let chunk = try await nextChunk() { chunk.withBytes { octets.append(contentsOf: $0) } }
        return String(decoding: octets, as: UTF8.self)
    }
}

/// The code of the error that `body` throws.
func code(_ body: () async throws -> Void) async -> UpstreamError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? UpstreamError)?.code
    }
}
