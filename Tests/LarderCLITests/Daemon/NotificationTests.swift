// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LarderIO
import Testing

@testable import LarderCLI

@Suite("Telling the service manager")
struct NotificationTests {
    @Test func `messages are lines of one datagram`() throws {
        let manager = try DatagramSocket.inDirectory()
        let notifier = ServiceNotifier(socket: manager.name)
        #expect(notifier.send(.reloading(monotonicNanoseconds: 5_000_999), .status("two\nlines")))
        #expect(try manager.receive() == "RELOADING=1\nMONOTONIC_USEC=5000\nSTATUS=two lines")
        #expect(notifier.send(.ready))
        #expect(try manager.receive() == "READY=1")
        #expect(notifier.send(.stopping, .extendTimeout(.seconds(2)), .watchdog))
        #expect(try manager.receive() == "STOPPING=1\nEXTEND_TIMEOUT_USEC=2000000\nWATCHDOG=1")
    }

    @Test func `an abstract socket is reached by its name`() throws {
        let manager = try DatagramSocket(name: "@larder-\(UUID().uuidString)")
        #expect(ServiceNotifier(socket: manager.name).send(.ready))
        #expect(try manager.receive() == "READY=1")
    }

    @Test(arguments: [nil, "", "/", "@", "relative", String(repeating: "/a", count: 60)])
    func `what is no socket is not told anything`(name: String?) {
        #expect(!ServiceNotifier(socket: name).send(.ready))
    }

    @Test func `a manager that is gone does no harm`() {
        let isSent = ServiceNotifier(socket: "/nonexistent/notify").send(.ready)
        #expect(!isSent)
    }
}

@Suite("Watchdog")
struct WatchdogTests {
    @Test(
        arguments: [
            ([:], nil), (["WATCHDOG_USEC": "0"], nil), (["WATCHDOG_USEC": "-1"], nil), (["WATCHDOG_USEC": "soon"], nil),
            (["WATCHDOG_USEC": "30000000"], .seconds(30)),
            (["WATCHDOG_USEC": "1", "WATCHDOG_PID": "7"], .microseconds(1)),
            (["WATCHDOG_USEC": "1", "WATCHDOG_PID": "8"], nil),
        ] as [([String: String], Duration?)])
    func `it is there when the manager asks this process for it`(environment: [String: String], patience: Duration?) {
        #expect(Watchdog(environment: environment, process: 7)?.patience == patience)
    }

    @Test(
        arguments: [([], true), ([.zero, .zero], true), ([.seconds(4)], true), ([.zero, .seconds(5)], false)]
            as [([Duration], Bool)])
    func `one loop that is stuck is enough to be silent`(turns: [Duration], isSatisfied: Bool) throws {
        let watchdog = try #require(Watchdog(environment: ["WATCHDOG_USEC": "10000000"]))
        let loops = turns.map { LoopStatistics(turns: 1, longestTurn: .seconds(60), currentTurn: $0) }
        #expect(watchdog.isSatisfied(by: loops) == isSatisfied)
        #expect(watchdog.interval * 2 <= watchdog.patience)
    }
}

@Suite("Socket activation")
struct InheritedSocketsTests {
    @Test(
        arguments: [
            ([:], []), (["LISTEN_FDS": "2"], []), (["LISTEN_PID": "7", "LISTEN_FDS": "2"], [3, 4]),
            (["LISTEN_PID": "8", "LISTEN_FDS": "2"], []), (["LISTEN_PID": "7", "LISTEN_FDS": "0"], []),
            (["LISTEN_PID": "7", "LISTEN_FDS": "-3"], []), (["LISTEN_PID": "7", "LISTEN_FDS": "100000"], []),
            (["LISTEN_PID": "7", "LISTEN_FDS": "x"], []),
        ] as [([String: String], [Int32])])
    func `the descriptors from 3 on are this process's when the variables say so`(
        environment: [String: String], descriptors: [Int32]
    ) {
        #expect(InheritedSockets.descriptors(environment: environment, process: 7) == descriptors)
    }
}

/// The socket that a service manager listens on.
final class DatagramSocket {
    /// As in `NOTIFY_SOCKET`.
    let name: String
    private let descriptor: Int32

    struct Failure: Error {
        var code = errno
    }

    static func inDirectory(_ directory: String = NSTemporaryDirectory()) throws -> DatagramSocket {
        try DatagramSocket(name: "\(directory)/notify-\(UUID().uuidString.prefix(8))")
    }

    init(name: String) throws {
        self.name = name
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        // Long enough for a machine under load; a test that gets this far has failed.
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let octets = name.hasPrefix("@") ? [0] + Array(name.utf8.dropFirst()) : Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: octets) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(2 + octets.count))
            }
        }
        guard status == 0 else { throw Failure() }
    }

    deinit {
        close(descriptor)
        if !name.hasPrefix("@") { unlink(name) }
    }

    func receive() throws -> String {
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw Failure() }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    /// The next message that is more than a sign of life.
    func receiveNews() throws -> String {
        while true {
            let message = try receive()
            if message != "WATCHDOG=1" { return message }
        }
    }
}
