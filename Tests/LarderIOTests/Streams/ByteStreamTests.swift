// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderTesting
import Testing

@testable import LarderIO

@Suite("Byte streams", .timeLimit(.minutes(10)))
struct ByteStreamTests {
    @Test(arguments: [AF_UNIX, AF_INET])
    func `what one side writes the other reads`(family: Int32) async throws {
        let heard = try await onLoop { loop in
            let (a, b) = try connectedPair(family)
            let near = try ByteStream(adopting: a, on: loop)
            let far = try ByteStream(adopting: b, on: loop)
            loop.spawnHere {
                while let some = try? await far.readSome(), !some.isEmpty { try? await far.write(some) }
                far.close()
            }
            try await near.write(Array("hello ".utf8))
            try await near.write(Array("there".utf8))
            near.shutdownWrite()
            defer { near.close() }
            return try await near.readAll().text
        }
        #expect(heard == "hello there")
    }

    @Test(arguments: [AF_UNIX, AF_INET])
    func `data and end in one edge are both noticed`(family: Int32) async throws {
        let ends = try await onLoop { loop in
            var ends: [String] = []
            for _ in 0..<100 {
                let (stream, peer) = try streamAndPeer(on: loop, family)
                peer.send("last words")
                peer.close()
                ends.append(try await stream.readSome().text)
                ends.append(try await stream.readSome().text)
                stream.close()
            }
            return ends
        }
        #expect(ends == (0..<200).map { $0 % 2 == 0 ? "last words" : "" })
    }

    @Test(arguments: [AF_UNIX, AF_INET])
    func `data and a reset in one edge are both noticed`(family: Int32) async throws {
        let ends = try await onLoop { loop in
            var ends: [String] = []
            // A reset that goes unnoticed makes the first wait as long as its deadline.
            while ends.count < 40, ends.last != "timedOut" {
                let (stream, peer) = try streamAndPeer(on: loop, family)
                defer { stream.close() }
                stream.setDeadline(after: .seconds(10))
                // A Unix socket that is closed with something unread is a broken one.
                try await stream.write(Array("unread".utf8))
                peer.send("last words")
                peer.reset()
                ends.append(try await stream.readSome().text)
                do throws(IOError) {
                    ends.append("\(try await stream.readSome().count)")
                } catch {
                    ends.append("\(error.code)")
                }
            }
            return ends
        }
        #expect(ends == (0..<40).map { $0 % 2 == 0 ? "last words" : "connectionReset" })
    }

    @Test func `a stream that broke after its last octets has input`() async throws {
        let hasInput = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            defer { stream.close() }
            peer.send("whole answer")
            peer.reset()
            _ = try await stream.readSome()
            return stream.hasPendingInput
        }
        #expect(hasInput)
    }

    @Test func `parts of a write arrive in order, whatever their number`() async throws {
        for count in [0, 1, 2, 4, 5, 63, 64, 65, 257, 1025] {
            let heard = try await onLoop { loop in
                let (stream, peer) = try streamAndPeer(on: loop)
                defer { stream.close() }
                let texts = (0..<count).map { Array("part \($0);".utf8) }
                let copies = texts.map { text in
                    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
                    copy.copyBytes(from: text)
                    return copy
                }
                defer { for copy in copies { copy.deallocate() } }
                var parts = GatherList()
                for copy in copies { parts.append(UnsafeRawBufferPointer(copy)) }
                try await stream.write(parts)
                stream.shutdownWrite()
                return peer.receive().text
            }
            #expect(heard == (0..<count).map { "part \($0);" }.joined())
        }
    }

    @Test func `a write that fits lets nobody else run`() async throws {
        let (wasHeldUp, text) = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            // From here on the task's executor is settled; the first suspension of a task may go through the queue.
            await loop.yield()
            var wasHeldUp = false
            loop.executor.later { wasHeldUp = true }
            try await stream.write(Array("x".utf8))
            return (wasHeldUp, peer.receive().text)
        }
        #expect(!wasHeldUp)
        #expect(text == "x")
    }

    @Test(arguments: [AF_UNIX, AF_INET])
    func `a slow reader holds the writer back and gets everything`(family: Int32) async throws {
        let (wasHeldBack, received, isSame) = try await onLoop { loop in
            let (a, b) = try connectedPair(family)
            let near = try ByteStream(adopting: a, on: loop)
            let far = try ByteStream(adopting: b, on: loop)
            let octets = (0..<(UInt64(8) << 17)).map { $0 &* 0x9E37_79B9_7F4A_7C15 }.withUnsafeBytes { Array($0) }
            var isWritten = false
            loop.spawnHere {
                try? await near.write(octets)
                isWritten = true
                near.close()
            }
            let wasHeldBack = !isWritten
            var received: [UInt8] = []
            while true {
                let some = try await far.readSome(30_011)
                if some.isEmpty { break }
                received += some
                await loop.yield()
            }
            far.close()
            let isSame = received.count == octets.count && memcmp(received, octets, octets.count) == 0
            return (wasHeldBack, received.count, isSame)
        }
        #expect(wasHeldBack)
        #expect(received == 8 << 20)
        #expect(isSame)
    }

    @Test func `both directions at once, both held back, lose nothing`() async throws {
        let size = 3 << 20
        let counts = try await onLoop { loop in
            let (a, b) = try connectedPair(AF_INET)
            let streams = [try ByteStream(adopting: a, on: loop), try ByteStream(adopting: b, on: loop)]
            var counts = [0, 0]
            for stream in streams {
                loop.spawnHere {
                    try? await stream.write([UInt8](repeating: 7, count: size))
                    stream.shutdownWrite()
                }
            }
            for (index, stream) in streams.enumerated() {
                loop.spawnHere { counts[index] = (try? await stream.readAll().count) ?? -1 }
            }
            while streams.contains(where: { !$0.isPeerClosed }) || counts.contains(0) { await loop.yield() }
            for stream in streams { stream.close() }
            return counts
        }
        #expect(counts == [size, size])
    }

    @Test func `a closure may wait in place of a task`() async throws {
        let time = ManualTime()
        let heard = try await onLoop(time: time) { loop in
            var heard: [String] = []
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { peer.close() }
            for step in 0..<3 {
                await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                    let waits = stream.watch { hasInput in
                        heard.append(hasInput ? "input" : "no input")
                        continuation.resume()
                    }
                    if !waits { continuation.resume() }
                    switch step {
                    case 0: peer.send("hello")
                    case 1: stream.interruptWaits()
                    default: stream.close()
                    }
                }
                if step == 0 { heard.append(try await stream.readSome().text) }
            }
            heard.append("\(stream.watch { _ in })")
            return heard
        }
        #expect(heard == ["input", "hello", "no input", "no input", "false"])
    }

    @Test func `a read fails when its deadline passes`() async throws {
        let time = ManualTime()
        let error = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            stream.setDeadline(after: .seconds(5))
            loop.spawnHere { time.advance(by: .seconds(5)) }
            defer { peer.close() }
            do throws(IOError) { return "\(try await stream.readSome())" } catch { return "\(error.code)" }
        }
        #expect(error == "timedOut")
    }

    @Test func `a deadline that moves on lets the read wait on`() async throws {
        let time = ManualTime()
        let outcome = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            stream.setDeadline(after: .seconds(5))
            var outcomes: [String] = []
            loop.spawnHere {
                for _ in 0..<2 {
                    do throws(IOError) { outcomes.append(try await stream.readSome().text) } catch {
                        outcomes.append("\(error.code)")
                    }
                }
            }
            time.advance(by: .seconds(4))
            stream.setDeadline(after: .seconds(5))
            time.advance(by: .seconds(4))
            await loop.yield()
            await loop.yield()
            peer.send("in time")
            while outcomes.count < 1 { await loop.yield() }
            time.advance(by: .seconds(1))
            while outcomes.count < 2 { await loop.yield() }
            return outcomes
        }
        #expect(outcome == ["in time", "timedOut"])
    }

    @Test func `an earlier deadline takes the place of a later one`() async throws {
        let time = ManualTime()
        let outcome = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            stream.setDeadline(after: .seconds(60))
            stream.setDeadline(after: .seconds(1))
            loop.spawnHere { time.advance(by: .seconds(1)) }
            defer { peer.close() }
            do throws(IOError) { return "\(try await stream.readSome())" } catch { return "\(error.code)" }
        }
        #expect(outcome == "timedOut")
    }

    @Test func `a write to a reader that stopped fails when its deadline passes`() async throws {
        let time = ManualTime()
        let outcome = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            stream.setDeadline(after: .seconds(5))
            loop.spawnHere {
                await loop.yield()
                time.advance(by: .seconds(5))
            }
            defer { peer.close() }
            do throws(IOError) {
                try await stream.write([UInt8](repeating: 0, count: 4 << 20))
                return "written"
            } catch { return "\(error.code)" }
        }
        #expect(outcome == "timedOut")
    }

    @Test func `with real time a deadline passes by itself`() async throws {
        let outcome = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            stream.setDeadline(after: .milliseconds(10))
            defer { peer.close() }
            do throws(IOError) { return "\(try await stream.readSome())" } catch { return "\(error.code)" }
        }
        #expect(outcome == "timedOut")
    }

    @Test func `what arrived before a deadline passed can be read after it`() async throws {
        let time = ManualTime()
        let text = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            peer.send("early")
            try await stream.waitReadable()
            stream.setDeadline(after: .seconds(1))
            time.advance(by: .seconds(2))
            return try await stream.readSome().text
        }
        #expect(text == "early")
    }

    @Test func `closing ends the waits of both directions`() async throws {
        let outcomes = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            var outcomes: [String] = []
            loop.spawnHere {
                do throws(IOError) { _ = try await stream.readSome() } catch { outcomes.append("read \(error.code)") }
            }
            loop.spawnHere {
                do throws(IOError) { try await stream.write([UInt8](repeating: 0, count: 4 << 20)) } catch {
                    outcomes.append("write \(error.code)")
                }
            }
            stream.close()
            stream.close()
            while outcomes.count < 2 { await loop.yield() }
            peer.close()
            return outcomes
        }
        #expect(outcomes == ["read closed", "write closed"])
    }

    @Test func `of two that wait for the same the second gets an error, which is reported, and the first goes on`()
        async throws
    {
        let outcomes = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            var outcomes: [String] = []
            loop.executor.onFault = { outcomes.append("fault \($0.code) \($0.operation)") }
            loop.spawnHere { outcomes.append("first \((try? await stream.readSome().text) ?? "failed")") }
            await loop.yield()
            do throws(IOError) { _ = try await stream.readSome() } catch { outcomes.append("second \(error.code)") }
            #expect(!stream.watch { _ in })
            peer.send("input")
            while outcomes.count < 3 { await loop.yield() }
            loop.spawnHere {
                do throws(IOError) { try await stream.write([UInt8](repeating: 0, count: 4 << 20)) } catch {
                    outcomes.append("first \(error.code)")
                }
            }
            await loop.yield()
            do throws(IOError) { try await stream.write([1]) } catch { outcomes.append("second \(error.code)") }
            stream.close()
            while outcomes.count < 6 { await loop.yield() }
            loop.executor.onFault = nil
            return outcomes
        }
        #expect(
            outcomes == [
                "fault contended read", "second contended", "first input", "fault contended write", "second contended",
                "first closed",
            ])
    }

    @Test func `a reader beside one that is watched for gets an error`() async throws {
        let outcomes = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            var outcomes: [String] = []
            #expect(stream.watch { outcomes.append("watched \($0)") })
            do throws(IOError) { _ = try await stream.readSome() } catch { outcomes.append("read \(error.code)") }
            peer.send("input")
            while outcomes.count < 2 { await loop.yield() }
            return outcomes
        }
        #expect(outcomes == ["read contended", "watched true"])
    }

    @Test func `reads and writes have deadlines of their own`() async throws {
        let time = ManualTime()
        let outcomes = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { peer.close() }
            var outcomes: [String] = []
            stream.setWriteDeadline(after: .seconds(1))
            stream.setReadDeadline(after: .seconds(3))
            loop.spawnHere {
                do throws(IOError) { _ = try await stream.readSome() } catch { outcomes.append("read \(error.code)") }
            }
            loop.spawnHere {
                do throws(IOError) { try await stream.write([UInt8](repeating: 0, count: 4 << 20)) } catch {
                    outcomes.append("write \(error.code)")
                }
            }
            await loop.yield()
            for expected in 1...2 {
                time.advance(by: .seconds(2))
                while outcomes.count < expected { await loop.yield() }
            }
            stream.setReadDeadline(after: .seconds(1))
            stream.setWriteDeadline(after: nil)
            time.advance(by: .seconds(2))
            for _ in 0..<5 { await loop.yield() }
            do throws(IOError) { _ = try await stream.readSome() } catch { outcomes.append("read \(error.code)") }
            stream.close()
            return outcomes
        }
        #expect(outcomes == ["write timedOut", "read timedOut", "read timedOut"])
    }

    @Test func `a peer that takes some octets now and then may take as long as it likes`() async throws {
        let time = ManualTime()
        let outcome = try await onLoop(time: time) { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { peer.close() }
            var outcome: String?
            stream.setWriteDeadline(after: .seconds(10))
            loop.spawnHere {
                do throws(IOError) {
                    try await stream.write([UInt8](repeating: 0, count: 8 << 20))
                    outcome = "all"
                } catch {
                    outcome = "\(error.code)"
                }
                stream.close()
            }
            while outcome == nil {
                await loop.yield()
                // So little that the kernel does not tell the writer of it each time.
                if peer.receiveAtHand(limit: 40_000) > 0 { time.advance(by: .seconds(6)) }
            }
            return outcome
        }
        #expect(outcome == "all")
    }

    @Test func `interrupting reads leaves writes alone`() async throws {
        let outcomes = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            var outcomes: [String] = []
            loop.spawnHere {
                do throws(IOError) { _ = try await stream.readSome() } catch { outcomes.append("read \(error.code)") }
            }
            loop.spawnHere {
                do throws(IOError) { try await stream.write([UInt8](repeating: 0, count: 4 << 20)) } catch {
                    outcomes.append("write \(error.code)")
                }
            }
            await loop.yield()
            stream.interruptReading()
            while outcomes.isEmpty { await loop.yield() }
            for _ in 0..<5 { await loop.yield() }
            stream.close()
            while outcomes.count < 2 { await loop.yield() }
            peer.close()
            return outcomes
        }
        #expect(outcomes == ["read closed", "write closed"])
    }

    @Test func `interrupting ends a wait and leaves the stream open`() async throws {
        let outcomes = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop)
            defer { stream.close() }
            var outcomes: [String] = []
            loop.spawnHere {
                do throws(IOError) { try await stream.waitReadable() } catch { outcomes.append("\(error.code)") }
            }
            stream.interruptWaits()
            while outcomes.isEmpty { await loop.yield() }
            peer.send("still here")
            outcomes.append(try await stream.readSome().text)
            return outcomes
        }
        #expect(outcomes == ["closed", "still here"])
    }

    @Test(arguments: [AF_UNIX, AF_INET], [true, false])
    func `an end that comes with the last that a reader wants is told when it has that`(
        family: Int32, isReset: Bool
    ) async throws {
        let calls = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, family)
            defer { stream.close() }
            // A Unix socket that is closed with something unread is a broken one.
            try await stream.write(Array("unread".utf8))
            var calls = 0
            stream.onPeerClosed = { calls += 1 }
            loop.spawnHere {
                _ = try? await stream.readSome()
                stream.readingHasEnded()
            }
            await loop.sleep(for: .milliseconds(1))
            peer.send("last words")
            if isReset { peer.reset() } else { peer.close() }
            while calls == 0 { await loop.sleep(for: .milliseconds(1)) }
            return calls
        }
        #expect(calls == 1)
    }

    @Test(arguments: [AF_UNIX, AF_INET], [false, true])
    func `a peer that leaves while nobody reads is announced once`(family: Int32, breaking: Bool) async throws {
        let (calls, isPeerClosed) = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, family)
            defer { stream.close() }
            var calls = 0
            stream.onPeerClosed = { calls += 1 }
            if breaking { peer.reset() } else { peer.close() }
            while calls == 0 { await loop.yield() }
            for _ in 0..<5 { await loop.yield() }
            return (calls, stream.isPeerClosed)
        }
        #expect(calls == 1)
        #expect(isPeerClosed)
    }

    @Test(arguments: [false, true])
    func `a peer that breaks the connection together with its last octets is announced to who asks after them`(
        watchesBefore: Bool
    ) async throws {
        let (text, calls, isPeerClosed) = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            defer { stream.close() }
            var calls = 0
            // The kernel's first report is that of the octets and the break, or it has reported before.
            if watchesBefore { stream.onPeerClosed = {} }
            stream.onPeerClosed = nil
            peer.send("a request")
            peer.reset()
            let text = try await stream.readSome().text
            stream.onPeerClosed = { calls += 1 }
            for _ in 0..<20 { await loop.yield() }
            return (text, calls, stream.isPeerClosed)
        }
        #expect(text == "a request")
        #expect(calls == 1)
        #expect(isPeerClosed)
    }

    @Test func `a further request while one is answered is not taken for the end`() async throws {
        let (calls, text) = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            defer { stream.close() }
            var calls = 0
            stream.onPeerClosed = { calls += 1 }
            peer.send("pipelined")
            while !stream.isReadable { await loop.yield() }
            return (calls, try await stream.readSome().text)
        }
        #expect(calls == 0)
        #expect(text == "pipelined")
    }

    @Test func `a stream closed by its own callback calls nothing afterwards`() async throws {
        let calls = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            let (other, otherPeer) = try streamAndPeer(on: loop, AF_INET)
            var calls = 0
            // Both ends are reported in the same turn; whichever comes first closes both streams.
            let closeBoth = {
                calls += 1
                stream.close()
                other.close()
            }
            stream.onPeerClosed = closeBoth
            other.onPeerClosed = closeBoth
            peer.close()
            otherPeer.close()
            while calls == 0 { await loop.yield() }
            for _ in 0..<5 { await loop.yield() }
            return calls
        }
        #expect(calls == 1)
    }

    @Test func `a reset reads as a broken connection, after what could still be read`() async throws {
        let outcome = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            defer { stream.close() }
            peer.reset()
            do throws(IOError) { return "\(try await stream.readSome())" } catch { return "\(error.code)" }
        }
        #expect(outcome == "connectionReset")
    }

    @Test func `reset breaks the connection at the peer`() async throws {
        let number = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, AF_INET)
            stream.reset()
            var octet: UInt8 = 0
            return recv(peer.descriptor, &octet, 1, 0) < 0 ? errno : 0
        }
        #expect(number == ECONNRESET)
    }

    @Test func `closing gracefully lets the peer read the last answer although it had more to say`() async throws {
        let text = try await onLoop { loop in
            let (a, b) = try connectedPair(AF_INET)
            let near = try ByteStream(adopting: a, on: loop)
            let far = try ByteStream(adopting: b, on: loop)
            loop.spawnHere {
                try? await far.write([UInt8](repeating: 1, count: 300_000))
                far.shutdownWrite()
            }
            try await near.write(Array("too much".utf8))
            await near.closeGracefully(within: .seconds(10))
            defer { far.close() }
            return try await far.readAll().text
        }
        #expect(text == "too much")
    }

    /// A stream of that loop whose only reference is here.
    private func leakedStream(_ socket: Int32, on loop: EventLoop) async throws -> ByteStream {
        try await loop.run { loop in
            // Used on the loop only, which the closures do not say.
            nonisolated(unsafe) let stream = try ByteStream(adopting: socket, on: loop)
            return SendableBox(stream)
        }.value
    }

    @Test func `a stream nobody keeps closes its socket, on whichever thread it is let go`() async throws {
        let loop = try EventLoop(name: "owner")
        try loop.start()
        defer { loop.stop() }
        let (near, far) = try connectedPair()
        let peer = Peer(far)
        // Handing the last reference to another thread is what the compiler forbids and tasks of other loops can do.
        nonisolated(unsafe) var leaked: ByteStream? = try await leakedStream(near, on: loop)
        #expect(leaked != nil)
        leaked = nil
        #expect(peer.receive() == [])
    }

    @Test func `a stream may be let go on another thread just as its socket changes`() async throws {
        let loop = try EventLoop(name: "owner")
        try loop.start()
        defer { loop.stop() }
        for _ in 0..<500 {
            let (near, far) = try connectedPair()
            let peer = Peer(far)
            // As above.
            nonisolated(unsafe) var leaked: ByteStream? = try await leakedStream(near, on: loop)
            peer.send("1")
            #expect(leaked != nil)
            leaked = nil
        }
    }

    @Test(arguments: [AF_UNIX, AF_INET])
    func `pending input is told without reading it`(family: Int32) async throws {
        let log = try await onLoop { loop in
            let (stream, peer) = try streamAndPeer(on: loop, family)
            defer { stream.close() }
            var log = [stream.hasPendingInput]
            peer.send("12345")
            try await stream.waitReadable()
            log.append(stream.hasPendingInput)
            // A buffer just as large as what is there leaves it open whether there is more.
            _ = try await stream.readExactly(5)
            log.append(stream.hasPendingInput)
            peer.send("6")
            try await stream.waitReadable()
            _ = try await stream.readSome()
            log.append(stream.hasPendingInput)
            peer.close()
            try await stream.waitReadable()
            log.append(stream.hasPendingInput)
            return log
        }
        #expect(log == [false, true, false, false, true])
    }

    @Test func `the user at the other end of a Unix socket is known`() async throws {
        let users = try await onLoop { loop in
            let (unix, unixPeer) = try streamAndPeer(on: loop, AF_UNIX)
            let (tcp, tcpPeer) = try streamAndPeer(on: loop, AF_INET)
            defer {
                for stream in [unix, tcp] { stream.close() }
                for peer in [unixPeer, tcpPeer] { peer.close() }
            }
            return [unix.peerUser, tcp.peerUser]
        }
        #expect(users == [getuid(), nil])
    }

    @Test func `addresses of both ends are known`() async throws {
        let (near, far) = try await onLoop { loop in
            let (a, b) = try connectedPair(AF_INET)
            let near = try ByteStream(adopting: a, on: loop)
            let far = try ByteStream(adopting: b, on: loop)
            defer {
                near.close()
                far.close()
            }
            return ([near.localAddress, near.peerAddress], [far.peerAddress, far.localAddress])
        }
        #expect(near == far)
        #expect(near.allSatisfy { $0.isLoopback && $0.port != 0 })
    }
}

/// Carries what the test itself keeps from being used on two threads.
// @unchecked: see the only use.
struct SendableBox<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
