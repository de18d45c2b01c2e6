// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Larder
import LarderAdmin
import LarderHTTP
import LarderIO
import LarderProxy
import LarderSettings
import Logging
import Testing

/// A daemon on ports of its own with a store in a directory of its own, and an origin that answers as it is told.
final class AdminFixture: Sendable {
    let daemon: Daemon
    let origin: AdminOrigin
    let port: UInt16
    let socketPath: String
    let directory: String

    /// Runs `body` with a daemon that has the service `api` and the admin token `secret`.
    static func run(
        _ change: (inout Settings) -> Void = { _ in }, configure: [ConfigureBlock] = [],
        origin answer: @escaping @Sendable (String, String) -> String = AdminOrigin.standard,
        _ body: (AdminFixture) async throws -> Void
    ) async throws {
        let fixture = try await AdminFixture(change, configure, AdminOrigin(answer))
        do {
            try await body(fixture)
        } catch {
            await fixture.stop()
            throw error
        }
        await fixture.stop()
    }

    private init(
        _ change: (inout Settings) -> Void, _ configure: [ConfigureBlock], _ origin: AdminOrigin
    ) async throws {
        self.origin = origin
        directory = NSTemporaryDirectory() + "larder-admin-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        socketPath = directory + "/a.sock"
        var settings = Settings()
        settings.listen = [.loopback(port: 0)]
        settings.threads = 2
        settings.cache.path = .path(directory + "/store/larder.db")
        settings.cache.disk = .mebibytes(64)
        settings.cache.memory = .mebibytes(16)
        settings.admin.token = Secret("secret")
        settings.timeouts.drain = .seconds(1)
        settings.upstream.parent = ParentProxy.none
        var api = ServiceSettings()
        api.name = "api"
        api.baseURL = try BaseURL.read("http://127.0.0.1:\(origin.port)/api/").get()
        api.configure = configure
        settings.services = [api]
        change(&settings)
        daemon = try Daemon(settings: settings, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        port = try #require(try await daemon.proxy.start(admin: AdminSocket(path: socketPath)).first).port
    }

    private func stop() async {
        await daemon.proxy.drain()
        origin.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    // MARK: Asking

    /// Sends a request over TCP, addressed to localhost unless it says otherwise.
    func send(_ method: String, _ target: String, _ fields: [String] = [], port: UInt16? = nil) throws -> Answer {
        let host =
            fields.contains { $0.lowercased().hasPrefix("host:") } ? [] : ["Host: localhost:\(port ?? self.port)"]
        return try Answer(AdminWire.tcp(port ?? self.port, request(method, target, host + fields)))
    }

    func get(_ target: String, _ fields: String...) throws -> Answer { try send("GET", target, fields) }

    /// Sends a request over the Unix socket, as the command line does.
    func command(_ method: String, _ target: String, _ fields: [String] = []) throws -> Answer {
        try Answer(AdminWire.unix(socketPath, request(method, target, ["Host: localhost"] + fields)))
    }

    func raw(_ text: String) throws -> Answer { try Answer(AdminWire.tcp(port, text)) }

    private func request(_ method: String, _ target: String, _ fields: [String]) -> String {
        let length = method == "POST" ? ["Content-Length: 0"] : []
        return ["\(method) \(target) HTTP/1.1", "Connection: close"].joined(separator: "\r\n") + "\r\n"
            + (fields + length).map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// The origin's URL for a path.
    func url(_ path: String) -> String { "http://127.0.0.1:\(origin.port)\(path)" }
}

/// A response as the client got it.
struct Answer {
    let status: Int
    let fields: [(name: String, value: String)]
    let content: String

    init(_ text: String) throws {
        let end = try #require(text.range(of: "\r\n\r\n"), "no whole head in: \(text)")
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        status = try #require(lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) })
        fields = lines.dropFirst().map { line in
            let colon = line.firstIndex(of: ":") ?? line.endIndex
            return (String(line[..<colon]), line[colon...].dropFirst().trimmingCharacters(in: .whitespaces))
        }
        content = String(text[end.upperBound...])
    }

    subscript(name: String) -> String? { fields.first { $0.name.lowercased() == name.lowercased() }?.value }

    var json: JSONValue {
        get throws { try JSONValue(parsing: Array(content.utf8)) }
    }
}

/// Blocking exchanges of text: one request, and everything that comes back until the peer closes.
enum AdminWire {
    struct Failure: Error {
        var code = errno
    }

    static func tcp(_ port: UInt16, _ text: String) throws -> String {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return try exchange(AF_INET, &address, MemoryLayout<sockaddr_in>.size, text)
    }

    static func unix(_ path: String, _ text: String) throws -> String {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        return try exchange(AF_UNIX, &address, MemoryLayout<sockaddr_un>.size, text)
    }

    private static func exchange(
        _ family: Int32, _ address: UnsafeRawPointer, _ length: Int, _ text: String
    ) throws -> String {
        let descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure() }
        defer { close(descriptor) }
        // A test that waits this long has failed.
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        let status = connect(descriptor, address.assumingMemoryBound(to: sockaddr.self), socklen_t(length))
        guard status == 0 else { throw Failure() }
        let octets = Array(text.utf8)
        guard Glibc.send(descriptor, octets, octets.count, Int32(MSG_NOSIGNAL)) == octets.count else { throw Failure() }
        return try readAll(descriptor)
    }

    static func readAll(_ descriptor: Int32) throws -> String {
        var all: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &bytes, bytes.count, 0)
            guard count >= 0 else { throw Failure() }
            if count == 0 { return String(decoding: all, as: UTF8.self) }
            all += bytes[..<count]
        }
    }
}

/// An origin on a port of its own that answers each request by a function of its path and its whole head.
final class AdminOrigin: Sendable {
    let port: UInt16
    private let descriptor: Int32
    private let seen = Lock<[String]>([])

    init(_ answer: @escaping @Sendable (_ path: String, _ head: String) -> String) throws {
        let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, length) == 0 && getsockname(listening, $0, &length) == 0
            }
        }
        guard isBound, listen(listening, 64) == 0 else { throw AdminWire.Failure() }
        port = UInt16(bigEndian: address.sin_port)
        descriptor = listening
        Thread { [seen] in
            while true {
                let connection = accept(listening, nil, nil)
                guard connection >= 0 else { return }
                AdminOrigin.serve(connection, seen, answer)
            }
        }.start()
    }

    func stop() {
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }

    /// The paths that were asked for, in order.
    var requests: [String] { seen.withLock { $0 } }

    /// One request, and the end.
    private static func serve(
        _ connection: Int32, _ seen: Lock<[String]>, _ answer: (String, String) -> String
    ) {
        defer { close(connection) }
        var head: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
            let count = recv(connection, &bytes, bytes.count, 0)
            guard count > 0 else { return }
            head += bytes[..<count]
        }
        let text = String(decoding: head, as: UTF8.self)
        let path = text.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        seen.withLock { $0.append(path) }
        let octets = Array(answer(path, text).utf8)
        _ = Glibc.send(connection, octets, octets.count, Int32(MSG_NOSIGNAL))
    }

    /// Fresh for a hundred seconds, with a tag that validates; other answers for some words in the path.
    static let standard: @Sendable (String, String) -> String = { path, head in
        if head.contains("If-None-Match: \"v1\"") { return response(304, ["ETag: \"v1\""]) }
        if path.contains("error") { return response(503, [], "no") }
        if path.contains("no-store") { return response(200, ["Cache-Control: no-store"]) }
        let vary = path.contains("vary") ? ["Vary: Accept-Language"] : []
        let cookie = path.contains("cookie") ? ["Set-Cookie: session=topsecret"] : []
        return response(200, ["Cache-Control: max-age=100", "ETag: \"v1\""] + vary + cookie, "hello from \(path)")
    }

    static func response(_ status: Int, _ fields: [String], _ content: String = "hello") -> String {
        let length = status == 304 ? [] : ["Content-Length: \(content.utf8.count)"]
        return "HTTP/1.1 \(status) X\r\n" + (fields + length + ["Connection: close"]).map { $0 + "\r\n" }.joined()
            + "\r\n"
            + (status == 304 ? "" : content)
    }
}
