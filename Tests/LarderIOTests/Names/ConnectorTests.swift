// SPDX-License-Identifier: Apache-2.0
import Dispatch
import Glibc
import LarderTesting
import Testing

@testable import LarderIO

@Suite("Connector", .timeLimit(.minutes(10)))
struct ConnectorTests {
    /// An IPv6 address of the documentation prefix: no host, and usually no route.
    static let deadIPv6 = SocketAddress(ipv6: 0x2001_0DB8_0000_0000, 1, port: 80)

    @Test func `the first address that answers wins, a dead one before it costs nothing lasting`() async throws {
        let peer = try await onLoop { loop in
            let listener = try Listener(ListeningSocket.tcp(.loopback(port: 0))[0], on: loop) { _ in }
            defer { listener.close() }
            let connector = Connector(on: loop)
            let stream = try await connector.connect(
                addresses: [Self.deadIPv6, SocketAddress(ipv6: 0, 1, port: 1), listener.address], timeout: .seconds(5))
            defer { stream.close() }
            return (stream.peerAddress, listener.address)
        }
        #expect(peer.0 == peer.1)
    }

    @Test func `localhost falls back from IPv6 to IPv4`() async throws {
        let (text, address) = try await onLoop { loop in
            let listener = try Listener(ListeningSocket.tcp(.loopback(port: 0))[0], on: loop) { stream in
                loop.spawnHere {
                    try? await stream.write(Array("four".utf8))
                    stream.close()
                }
            }
            defer { listener.close() }
            let stream = try await Connector(on: loop).connect(
                to: "localhost", port: listener.address.port, timeout: .seconds(5))
            defer { stream.close() }
            return (try await stream.readAll().text, stream.peerAddress)
        }
        #expect(text == "four")
        #expect(address.isIPv4)
    }

    /// The address of one family is known, and refuses; that of the other becomes known only then.
    @Test func `addresses that become known late are connected to where the first fail`() async throws {
        let mayAnswer = DispatchSemaphore(value: 0)
        let server = try FakeNameServer(delay: { if $0.hasPrefix("A ") { mayAnswer.wait() } }) { _ in
            .addresses(ipv4: [0x7F00_0001], ipv6: [(0, 1)])
        }
        let files = server.files
        let (peer, asked) = try await onLoop { loop in
            let listener = try Listener(ListeningSocket.tcp(.loopback(port: 0))[0], on: loop) { _ in }
            defer { listener.close() }
            let connector = Connector(on: loop, resolver: Resolver(on: loop, files: files))
            var asked: [String] = []
            let stream = try await connector.connect(
                to: "half.example", port: listener.address.port, timeout: .seconds(60)
            ) { address in
                asked.append(address.host)
                mayAnswer.signal()
                return true
            }
            defer { stream.close() }
            return (stream.peerAddress.host, asked)
        }
        #expect(peer == "127.0.0.1")
        #expect(asked == ["::1", "127.0.0.1"])
    }

    @Test func `the time to connect includes the look-up`() async throws {
        let server = try FakeNameServer { _ in .silence }
        let files = server.files
        let error = try await onLoop { loop -> IOError? in
            var limits = Resolver.Limits()
            limits.timeout = .seconds(3_600)
            let connector = Connector(on: loop, resolver: Resolver(on: loop, files: files, limits: limits))
            do throws(IOError) {
                try await connector.connect(to: "silent.example", port: 80, timeout: .milliseconds(20)).close()
                return nil
            } catch { return error }
        }
        #expect(error?.code == .lookupTimedOut)
    }

    @Test func `the rule is asked about the address that is dialled`() async throws {
        let server = try FakeNameServer { _ in .addresses(ipv4: [0x7F00_0001, 0x7F00_0002], ipv6: []) }
        let files = server.files
        let (peer, asked) = try await onLoop { loop in
            let listeners = try [UInt32(0x7F00_0001), 0x7F00_0002].map { number in
                try Listener(ListeningSocket.tcp(SocketAddress(ipv4: number, port: 0))[0], on: loop) { _ in }
            }
            defer { for listener in listeners { listener.close() } }
            let connector = Connector(on: loop, resolver: Resolver(on: loop, files: files))
            var asked: [SocketAddress] = []
            let port = listeners[1].address.port
            let stream = try await connector.connect(to: "two.example", port: port, timeout: .seconds(5)) { address in
                asked.append(address)
                return address.host == "127.0.0.2"
            }
            defer { stream.close() }
            return (stream.peerAddress.host, asked.map(\.host))
        }
        #expect(peer == "127.0.0.2")
        #expect(asked == ["127.0.0.1", "127.0.0.2"])
    }

    @Test func `a host of forbidden addresses only is not dialled`() async throws {
        let error = try await onLoop { loop -> IOError? in
            let socket = try ListeningSocket.tcp(.loopback(port: 0))[0]
            do throws(IOError) {
                try await Connector(on: loop).connect(
                    to: "localhost", port: socket.address.port, timeout: .seconds(5), allow: { !$0.isLoopback }
                ).close()
                return nil
            } catch { return error }
        }
        #expect(error?.code == .permissionDenied)
        #expect(error?.description.contains("::1, 127.0.0.1") == true)
    }

    @Test func `refusal by all addresses is a refusal and names them`() async throws {
        let error = try await onLoop { loop -> IOError? in
            do throws(IOError) {
                try await Connector(on: loop).connect(to: "localhost", port: 1, timeout: .seconds(5)).close()
                return nil
            } catch { return error }
        }
        #expect(error?.code == .refused)
        #expect(error?.description.contains("127.0.0.1:1") == true)
    }

    @Test func `an address that says nothing is given up when the time is over`() async throws {
        let time = ManualTime()
        let code = try await onLoop(time: time) { loop in
            // A listener whose queue is full: further connections get no answer at all.
            let socket = try ListeningSocket.tcp(.loopback(port: 0), backlog: 0)[0]
            let first = try ListenerTests.dial(socket.address)
            loop.spawnHere {
                while true {
                    await loop.sleep(for: .zero)
                    time.advance(by: .milliseconds(100))
                    if time.monotonic() > 10_000_000_000 { break }
                }
            }
            defer { first.close() }
            do throws(IOError) {
                try await Connector(on: loop).connect(addresses: [socket.address], timeout: .seconds(5)).close()
                return "connected"
            } catch { return "\(error.code)" }
        }
        #expect(code == "timedOut")
    }

    @Test func `a Unix socket is connected to by its path`() async throws {
        let path = try ListenerTests.freshPath()
        defer { ListenerTests.removeDirectory(of: path) }
        let text = try await onLoop { loop in
            let listener = try Listener(ListeningSocket.unix(path: path), on: loop) { stream in
                loop.spawnHere {
                    try? await stream.write(Array("hello".utf8))
                    stream.close()
                }
            }
            defer { listener.close() }
            let stream = try await Connector(on: loop).connect(unixPath: path, timeout: .seconds(5))
            defer { stream.close() }
            return try await stream.readAll().text
        }
        #expect(text == "hello")
    }
}

@Suite("Connection race (RFC 8305 §5)")
struct ConnectRaceTests {
    static let v6 = (1...3).map { SocketAddress(ipv6: 0x2001_0DB8_0000_0000, UInt64($0), port: 80) }
    static let v4 = (1...3).map { SocketAddress(ipv4: 0xC000_0200 + UInt32($0), port: 80) }
    static let refused = IOError(.refused, operation: "dial")
    static let unreachable = IOError(.unreachable, operation: "dial")

    @Test(arguments: [
        (v6 + v4, [v6[0], v4[0], v6[1], v4[1], v6[2], v4[2]]),
        ([v4[0], v6[0], v6[1]], [v4[0], v6[0], v6[1]]),
        ([v6[0], v6[1], v4[0]], [v6[0], v4[0], v6[1]]),
        (v4, v4),
    ])
    func `families alternate, the first keeps its lead`(given: [SocketAddress], expected: [SocketAddress]) {
        #expect(ConnectRace.interleaved(given) == expected)
    }

    @Test func `the next address is dialled after the pause, the last without another`() {
        var race = ConnectRace(Array(Self.v4.prefix(2)))
        #expect(race.start() == [.dial(0), .pause])
        #expect(race.pauseEnded() == [.dial(1)])
        #expect(race.pauseEnded() == [])
        #expect(race.connected(1) == [.win(1)])
    }

    @Test func `a failure brings the next address at once and a new pause`() {
        var race = ConnectRace(Self.v4)
        #expect(race.start() == [.dial(0), .pause])
        #expect(race.failed(0, with: Self.refused) == [.dial(1), .pause])
        #expect(race.failed(1, with: Self.refused) == [.dial(2)])
        #expect(race.connected(2) == [.win(2)])
    }

    @Test func `an early address may still win after a later one was dialled`() {
        var race = ConnectRace(Array(Self.v4.prefix(2)))
        _ = race.start()
        _ = race.pauseEnded()
        #expect(race.connected(0) == [.win(0)])
        #expect(race.connected(1) == [])
        #expect(race.failed(1, with: Self.refused) == [])
    }

    @Test func `when all have failed, an answer counts for more than no way`() {
        var race = ConnectRace(Array(Self.v4.prefix(2)))
        _ = race.start()
        #expect(race.failed(0, with: Self.unreachable) == [.dial(1)])
        guard case .fail(let error)? = race.failed(1, with: Self.refused).first else {
            Issue.record("the race goes on")
            return
        }
        #expect(error.code == .refused)
        #expect(error.detail.contains("unreachable"))
    }
}
