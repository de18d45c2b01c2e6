// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import LarderIO

@Suite("Listeners", .timeLimit(.minutes(10)))
struct ListenerTests {
    /// A blocking client's connection.
    static func dial(_ address: SocketAddress) throws -> Peer {
        let descriptor = socket(address.family, SocketKind.stream, 0)
        let peer = Peer(descriptor)
        try #require(address.connect(descriptor) == 0)
        return peer
    }

    /// A path for a socket in a directory of its own.
    static func freshPath() throws -> String {
        var template = Array("/tmp/larder-io-XXXXXX".utf8CString)
        let directory = template.withUnsafeMutableBufferPointer { buffer in mkdtemp(buffer.baseAddress!) }
        return String(cString: try #require(directory)) + "/socket"
    }

    static func removeDirectory(of path: String) {
        unlink(path)
        rmdir(String(path.dropLast("/socket".count)))
    }

    @Test func `thousands of connections come and go and leave no descriptor`() async throws {
        let left = try await onLoop { loop in
            let socket = try ListeningSocket.tcp(.loopback(port: 0))[0]
            var sockets: [(Int32, ino_t)] = []
            var served = 0
            let listener = try Listener(socket, on: loop) { stream in
                sockets.append((stream.descriptor, Self.inode(stream.descriptor)))
                loop.spawnHere {
                    while let some = try? await stream.readSome(), !some.isEmpty { try? await stream.write(some) }
                    stream.close()
                    served += 1
                }
            }
            let address = listener.address
            for round in 0..<100 {
                let peers = try (0..<20).map { _ in try Self.dial(address) }
                for peer in peers { peer.send("hi") }
                while served < round * 20 + 20 {
                    for peer in peers { peer.shutdownWrite() }
                    await loop.yield()
                }
                for peer in peers { #expect(peer.receive().text == "hi") }
            }
            listener.close()
            return sockets.filter { Self.inode($0.0) == $0.1 }.count + (sockets.count - 2000)
        }
        #expect(left == 0)
    }

    /// The file that a descriptor stands for, so that one that was closed and used again is not taken for the old one.
    private static func inode(_ descriptor: Int32) -> ino_t {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_ino : 0
    }

    @Test func `several loops share a port, a second process does not`() async throws {
        let sockets = try ListeningSocket.tcp(.loopback(port: 0), count: 3)
        #expect(Set(sockets.map(\.address)).count == 1)
        let address = sockets[0].address
        #expect { try ListeningSocket.tcp(address, count: 2) } throws: { ($0 as? IOError)?.code == .addressInUse }
        let loops = try (0..<3).map { try EventLoop(name: "loop-\($0)") }
        for loop in loops { try loop.start() }
        let counts = Lock([0, 0, 0])
        for (index, loop) in loops.enumerated() {
            try await loop.run { loop in
                let listener = try Listener(sockets[index], on: loop) { stream in
                    stream.close()
                    counts.withLock { $0[index] += 1 }
                }
                loop.spawnHere {
                    while counts.withLock({ $0.reduce(0, +) }) < 90 { await loop.sleep(for: .milliseconds(1)) }
                    listener.close()
                }
            }
        }
        for _ in 0..<90 { #expect(try Self.dial(address).receive() == []) }
        for loop in loops {
            try await loop.run { loop in
                while sockets.contains(where: { $0.descriptor >= 0 }) { await loop.sleep(for: .milliseconds(1)) }
            }
            loop.stop()
        }
        let result = counts.withLock { $0 }
        #expect(result.reduce(0, +) == 90)
        #expect(result.allSatisfy { $0 > 0 }, "the kernel spreads connections: \(result)")
    }

    @Test func `all addresses of IPv6 are those of IPv4 too, unless somebody else has these`() throws {
        let ipv4 = try ListeningSocket.tcp(SocketAddress(ipv4: 0, port: 0))[0]
        let all = SocketAddress(ipv6: 0, 0, port: ipv4.address.port)
        #expect { try ListeningSocket.tcp(all) } throws: { ($0 as? IOError)?.code == .addressInUse }
        let ipv6 = try ListeningSocket.tcp(all, count: 2, isIPv6Only: true)
        #expect(ipv6.map(\.address) == [all, all])
    }

    @Test func `a Unix listener serves its owner and removes its file`() async throws {
        let path = try Self.freshPath()
        defer { Self.removeDirectory(of: path) }
        let text = try await onLoop { loop in
            let socket = try ListeningSocket.unix(path: path)
            var status = stat()
            #expect(lstat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600)
            var isServed = false
            let listener = try Listener(socket, on: loop) { stream in
                loop.spawnHere {
                    try? await stream.write(Array("welcome".utf8))
                    stream.close()
                    isServed = true
                }
            }
            let peer = try Self.dial(listener.address)
            while !isServed { await loop.yield() }
            defer { listener.close() }
            return peer.receive().text
        }
        #expect(text == "welcome")
        #expect(access(path, F_OK) != 0)
    }

    @Test func `a socket left behind is replaced, one in use is not, a file never`() throws {
        let path = try Self.freshPath()
        defer { Self.removeDirectory(of: path) }
        let stale = socket(AF_UNIX, SocketKind.stream, 0)
        #expect(SocketAddress(unixPath: path).bind(stale) == 0)
        close(stale)
        let first = try ListeningSocket.unix(path: path)
        #expect { try ListeningSocket.unix(path: path) } throws: { ($0 as? IOError)?.code == .addressInUse }
        first.close()
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        #expect { try ListeningSocket.unix(path: path) } throws: { error in
            (error as? IOError)?.code == .addressInUse && "\(error)".contains("not a socket")
        }
        #expect(access(path, F_OK) == 0)
    }

    @Test func `a path too long for a socket is refused`() {
        #expect { try ListeningSocket.unix(path: "/tmp/" + String(repeating: "x", count: 120)) } throws: { error in
            (error as? IOError)?.errno == ENAMETOOLONG
        }
    }

    @Test func `two loops accept from one Unix socket`() async throws {
        let path = try Self.freshPath()
        defer { Self.removeDirectory(of: path) }
        let socket = try ListeningSocket.unix(path: path)
        let copy = try socket.duplicate()
        let total = try await onLoop { loop in
            var total = 0
            let listeners = try [socket, copy].map { socket in
                try Listener(socket, on: loop) { stream in
                    stream.close()
                    total += 1
                }
            }
            for _ in 0..<10 { _ = try Self.dial(SocketAddress(unixPath: path)) }
            while total < 10 { await loop.yield() }
            for listener in listeners { listener.close() }
            return total
        }
        #expect(total == 10)
    }

    @Test func `an inherited socket is taken over, another descriptor is not`() async throws {
        let original = try ListeningSocket.tcp(.loopback(port: 0))[0]
        let inherited = try ListeningSocket.inherited(dup(original.descriptor))
        #expect(inherited.address == original.address)
        let pipe = try connectedPair()
        defer {
            close(pipe.0)
            close(pipe.1)
        }
        #expect { try ListeningSocket.inherited(pipe.0) } throws: { "\($0)".contains("does not listen") }
    }

    @Test func `without descriptors a listener turns one away, rests, and serves again`() async throws {
        let log = try await onLoop { loop in
            let socket = try ListeningSocket.tcp(.loopback(port: 0))[0]
            var log: [String] = []
            let listener = try Listener(socket, on: loop) { stream in
                log.append("accepted")
                stream.close()
            }
            let real = listener.acceptCall
            var failures = 1
            listener.acceptCall = { listener, address, length in
                // With its reserve given up the process could accept one: that is the one without an address.
                guard address != nil, failures > 0 else { return real(listener, address, length) }
                failures -= 1
                errno = EMFILE
                return -1
            }
            listener.onExhausted = { log.append("\($0.code)") }
            let turnedAway = try Self.dial(listener.address)
            while log.isEmpty { await loop.yield() }
            log.append("turned away: \(turnedAway.receive().isEmpty)")
            let next = try Self.dial(listener.address)
            while log.count < 3 { await loop.sleep(for: .milliseconds(5)) }
            log.append("served: \(next.receive().isEmpty)")
            listener.close()
            return log
        }
        #expect(log == ["descriptorsExhausted", "turned away: true", "accepted", "served: true"])
    }

    @Test func `who arrives as the listener closes is not served by one that has gone`() async throws {
        let outcome = try await onLoop { loop in
            let socket = try ListeningSocket.tcp(.loopback(port: 0))[0]
            var served = 0
            let listener = try Listener(socket, on: loop) { stream in
                stream.close()
                served += 1
            }
            let real = listener.acceptCall
            let closing = Confined { listener.close() }
            listener.acceptCall = { socket, address, length in
                let descriptor = real(socket, address, length)
                // Another thread's word arrives between the accepted connection and its service.
                loop.execute { _ in closing.value() }
                return descriptor
            }
            let client = try Self.dial(listener.address)
            while listener.isOpen { await loop.yield() }
            // The loop closes the connection after this: waiting for that here would be for ever.
            return (served, Confined(client))
        }
        #expect(outcome.0 == 0)
        #expect(outcome.1.value.receive().isEmpty)
    }
}
