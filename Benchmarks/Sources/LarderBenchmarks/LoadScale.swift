// SPDX-License-Identifier: Apache-2.0
import CAllocations
import Foundation
import FoundationNetworking
import Glibc
import Larder
import LarderIO

/// Many resources loaded from an origin on this machine, many at a time: how long it takes, how much memory they are
/// afterwards, and how often memory is asked for. The origin is in the same process, on a loop of its own, and asks for
/// next to none.
struct LoadScale {
    let count: Int
    let width: Int
    let contentSize: Int
    /// Whether it is `URLSession` with a dictionary that loads and keeps, to compare with.
    let isURLSession: Bool

    func run() async throws {
        let origin = try await SmallOrigin.start(contentSize: contentSize)
        let base = "http://127.0.0.1:\(origin.port)"
        let get = isURLSession ? Self.session(base) : service(base)
        // The first loads make what all others share.
        for number in 0..<64 { _ = await get("/warm/\(number)") }

        let memory = Self.residentOctets()
        allocations_begin()
        let clock = ContinuousClock()
        let start = clock.now
        let failures = await load(get)
        let duration = clock.now - start
        let allocations = allocations_count()
        let grown = Self.residentOctets() - memory
        let seconds = Double(duration.wholeNanoseconds) / 1e9
        print("with                       \(isURLSession ? "URLSession and a dictionary" : "Larder")")
        print("loads                      \(count), \(width) at a time, \(contentSize) octets each; \(failures) failed")
        print("seconds                    \(seconds)")
        print("loads a second             \(Int(Double(count) / seconds))")
        print("octets a resource          \(grown / count)")
        print("allocations a load         \(Double(allocations) / Double(count))")
        origin.stop()
    }

    /// Loads a path and keeps what came; false when it failed.
    private typealias Get = @Sendable (String) async -> Bool

    private func service(_ base: String) -> Get {
        let service = Service("many", baseURL: base)
        service.cachedResourceCountLimit = count + 65
        return { path in
            guard case .failure = await service.resource(path).load().response().response else { return true }
            return false
        }
    }

    /// As many connections as `OriginTransport` has, JSON parsed as a service's standard transformers parse it.
    private static func session(_ base: String) -> Get {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpMaximumConnectionsPerHost = TransportOptions().connectionLimit
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        let kept = Lock<[URL: (HTTPURLResponse, [String: String])]>([:])
        return { path in
            guard let url = URL(string: base + path), let (data, response) = try? await session.data(from: url),
                let response = response as? HTTPURLResponse,
                let content = try? JSONDecoder().decode([String: String].self, from: data)
            else { return false }
            kept.withLock { $0[url] = (response, content) }
            return true
        }
    }

    /// How many failed.
    private func load(_ get: @escaping Get) async -> Int {
        await withTaskGroup(of: Bool.self) { group in
            var next = 0
            var failures = 0
            func add() {
                let path = "/things/\(next)"
                next += 1
                group.addTask { await get(path) }
            }
            while next < min(width, count) { add() }
            for await isLoaded in group {
                if !isLoaded { failures += 1 }
                if next < count { add() }
            }
            return failures
        }
    }

    private static func residentOctets() -> Int {
        let descriptor = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = max(0, read(descriptor, &buffer, buffer.count))
        let pages = String(decoding: buffer[..<count], as: UTF8.self).split(separator: " ").dropFirst().first
        return (pages.flatMap { Int($0) } ?? 0) * sysconf(Int32(_SC_PAGESIZE))
    }
}

/// Answers every request with the same JSON.
private final class SmallOrigin: Sendable {
    let port: UInt16
    private let loop: EventLoop
    private let listener: Confined<Listener>

    private init(_ loop: EventLoop, _ listener: Confined<Listener>, port: UInt16) {
        self.loop = loop
        self.listener = listener
        self.port = port
    }

    static func start(contentSize: Int) async throws -> SmallOrigin {
        let text = String(repeating: "x", count: max(0, contentSize - 8))
        let content = "{\"a\":\"\(text)\"}"
        let reply = Array(
            """
            HTTP/1.1 200 OK\r
            Content-Type: application/json\r
            ETag: "1"\r
            Content-Length: \(content.utf8.count)\r
            \r
            \(content)
            """.utf8)
        let loop = try EventLoop(name: "origin")
        try loop.start()
        let socket = try ListeningSocket.tcp(.loopback(port: 0))[0]
        let listener = try await loop.perform { loop in
            Confined(
                try Listener(socket, on: loop) { stream in
                    loop.startHere { await SmallOrigin.serve(stream, reply) }
                })
        }
        return SmallOrigin(loop, listener, port: listener.value.address.port)
    }

    func stop() { loop.stop() }

    /// Requests without content that come whole: a reply for each empty line.
    private static func serve(_ stream: ByteStream, _ reply: [UInt8]) async {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16_384, alignment: 16)
        defer { buffer.deallocate() }
        var matched = 0
        let end = Array("\r\n\r\n".utf8)
        while let count = try? await stream.read(into: buffer), count > 0 {
            for octet in buffer[..<count] {
                matched = octet == end[matched] ? matched + 1 : octet == end[0] ? 1 : 0
                guard matched == end.count else { continue }
                matched = 0
                guard (try? await stream.write(reply)) != nil else { return }
            }
        }
        stream.close()
    }
}
