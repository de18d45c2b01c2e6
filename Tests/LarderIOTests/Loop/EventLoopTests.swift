// SPDX-License-Identifier: Apache-2.0
import Glibc
import LarderTesting
import Synchronization
import Testing

@testable import LarderIO

@Suite("Event loops", .timeLimit(.minutes(10)))
struct EventLoopTests {
    @Test func `work given from another thread runs on the loop, in order`() async throws {
        let loop = try EventLoop(name: "worker")
        try loop.start()
        let seen = Lock<[Int]>([])
        for number in 0..<1000 {
            loop.execute { loop in
                loop.assertIsolated()
                seen.withLock { $0.append(number) }
            }
        }
        loop.stop()
        #expect(seen.withLock { $0 } == Array(0..<1000))
    }

    @Test func `what another thread has brought is done before what came over the network later`() async throws {
        let loop = try EventLoop(name: "busy")
        try loop.start()
        defer { loop.stop() }
        let socket = try ListeningSocket.tcp(.loopback(port: 0))[0]
        let log = Lock<[String]>([])
        let listener = try await loop.run { loop in
            Confined(
                try Listener(socket, on: loop) { stream in
                    log.withLock { $0.append("network") }
                    stream.close()
                })
        }
        let address = try await loop.run { _ in listener.value.address }
        var (gate, bell): ([Int32], [Int32]) = ([0, 0], [0, 0])
        #expect(pipe(&gate) == 0 && pipe(&bell) == 0)
        let (exit, entrance, ringing, hearing) = (gate[0], gate[1], bell[1], bell[0])
        defer { for descriptor in [exit, ringing, hearing] { close(descriptor) } }
        loop.execute { _ in
            var octet: UInt8 = 0
            _ = write(ringing, &octet, 1)
            _ = read(exit, &octet, 1)
        }
        var octet: UInt8 = 0
        #expect(read(hearing, &octet, 1) == 1)
        loop.execute { _ in log.withLock { $0.append("held up") } }
        let peer = try ListenerTests.dial(address)
        loop.execute { _ in log.withLock { $0.append("thread") } }
        close(entrance)
        #expect(peer.receive().isEmpty)
        #expect(log.withLock { $0 } == ["held up", "thread", "network"])
        _ = try await loop.run { _ in listener.value.close() }
    }

    @Test func `work given before the start runs after it`() async throws {
        let loop = try EventLoop(name: "late")
        let log = Lock<[String]>([])
        loop.execute { _ in log.withLock { $0.append("executed") } }
        loop.spawn { _ in log.withLock { $0.append("spawned") } }
        #expect(log.withLock { $0 } == [])
        try loop.start()
        loop.stop()
        #expect(log.withLock { $0 } == ["executed", "spawned"])
    }

    @Test func `a task of one loop visits another and comes back`() async throws {
        let here = try EventLoop(name: "here")
        let there = try EventLoop(name: "there")
        for loop in [here, there] { try loop.start() }
        defer { for loop in [here, there] { loop.stop() } }
        let places = try await here.run { here in
            var places = [here.inLoop, there.inLoop]
            let visited = try await there.run { there in [here.inLoop, there.inLoop] }
            places += visited
            places += [here.inLoop, there.inLoop]
            return places
        }
        #expect(places == [true, false, false, true, true, false])
    }

    @Test func `many loops and threads hand each other work and lose none`() async throws {
        let loops = try (0..<4).map { try EventLoop(name: "ring-\($0)") }
        for loop in loops { try loop.start() }
        let total = Lock(0)
        await withTaskGroup { group in
            for start in 0..<8 {
                group.addTask {
                    for step in 0..<200 {
                        let loop = loops[(start + step) % 4]
                        _ = try? await loop.run { loop in
                            #expect(loop.inLoop)
                            total.withLock { $0 += 1 }
                        }
                    }
                }
            }
        }
        for loop in loops { loop.stop() }
        #expect(total.withLock { $0 } == 1600)
    }

    @Test func `a task spawned on the loop itself runs before the loop sleeps`() async throws {
        let order = try await onLoop { loop in
            var order: [String] = []
            loop.spawnHere { order.append("alone") }
            loop.spawnHere {
                order.append("on the loop \(loop.inLoop)")
                await loop.yield()
                order.append("goes on")
            }
            await loop.yield()
            order.append("spawner goes on")
            while order.count < 4 { await loop.yield() }
            return order
        }
        #expect(order == ["alone", "on the loop true", "spawner goes on", "goes on"])
    }

    @Test func `a task that yields goes on after the loop has looked for what came from outside`() async throws {
        let isServed = try await onLoop { loop in
            let isServed = Lock(false)
            try Thread.start(name: "outside") { loop.execute { _ in isServed.withLock { $0 = true } } }.join()
            await loop.yield()
            return isServed.withLock { $0 }
        }
        #expect(isServed)
    }

    @Test func `tasks stay on their loop through suspensions`() async throws {
        let isAlwaysHome = try await onLoop { loop in
            var isAlwaysHome = true
            for _ in 0..<20 {
                await loop.sleep(for: .zero)
                isAlwaysHome = isAlwaysHome && loop.inLoop
                await loop.yield()
                isAlwaysHome = isAlwaysHome && loop.inLoop
            }
            return isAlwaysHome
        }
        #expect(isAlwaysHome)
    }

    @Test func `timers fire in the order they are due, cancelled ones not at all`() async throws {
        let time = ManualTime()
        let fired = try await onLoop(time: time) { loop in
            var fired: [String] = []
            loop.timer(after: .seconds(3)) { fired.append("three") }
            loop.timer(after: .seconds(1)) { fired.append("one") }
            let cancelled = loop.timer(after: .seconds(2)) { fired.append("two") }
            loop.timer(after: .seconds(1)) { fired.append("one again") }
            let moved = loop.timer(after: .seconds(1)) { fired.append("moved") }
            moved.arm(after: .seconds(9))
            cancelled.cancel()
            time.advance(by: .milliseconds(999))
            await loop.yield()
            fired.append("999 ms")
            time.advance(by: .milliseconds(2001))
            await loop.yield()
            #expect(moved.isArmed && !cancelled.isArmed)
            time.advance(by: .seconds(6))
            await loop.yield()
            return fired
        }
        #expect(fired == ["999 ms", "one", "one again", "three", "moved"])
    }

    @Test func `with the system's clock a timer fires by itself, no earlier than due`() async throws {
        let waited = try await onLoop { loop in
            let start = SystemTime().monotonic()
            await loop.sleep(for: .milliseconds(12))
            return SystemTime().monotonic() - start
        }
        #expect(waited >= 12_000_000)
        #expect(waited < 2_000_000_000)
    }

    @Test func `a timer that arms itself again leaves room for others`() async throws {
        let (count, others) = try await onLoop { loop in
            var count = 0
            var others = 0
            var again: Timer?
            again = loop.makeTimer {
                count += 1
                again?.arm(after: .zero)
            }
            again?.arm(after: .zero)
            while count < 50 {
                others += 1
                await loop.yield()
            }
            again?.cancel()
            again = nil
            return (count, others)
        }
        #expect(count >= 50)
        #expect(others > 0)
    }

    @Test func `stopping from the loop itself ends it`() async throws {
        let loop = try EventLoop(name: "suicidal")
        try loop.start()
        _ = try await loop.run { loop in loop.stop() }
        loop.stop()
        let isRun = Atomic<Bool>(false)
        loop.execute { _ in isRun.store(true, ordering: .relaxed) }
        let ran = isRun.load(ordering: .relaxed)
        #expect(!ran)
    }

    @Test func `starting and stopping twice does no harm`() throws {
        let loop = try EventLoop(name: "twice")
        try loop.start()
        try loop.start()
        loop.stop()
        loop.stop()
        let never = try EventLoop(name: "never")
        never.stop()
        try never.start()
        #expect(!never.inLoop)
    }

    @Test func `a turn that takes long shows while it lasts and afterwards`() async throws {
        let loop = try EventLoop(name: "stalled")
        try loop.start()
        defer { loop.stop() }
        let gate = Lock(0)
        let current = gate.withLock { (_: inout Int) -> Duration in
            loop.execute { _ in gate.withLock { $0 += 1 } }
            while loop.statistics.currentTurn < .milliseconds(5) { usleep(500) }
            return loop.statistics.currentTurn
        }
        _ = try await loop.run { _ in }
        let statistics = loop.statistics
        #expect(current >= .milliseconds(5))
        #expect(statistics.longestTurn >= current)
        #expect(statistics.turns > 0)
    }

    @Test func `the timer queue keeps its order through any insertions and removals`() async throws {
        let isSound = try await onLoop { loop in
            var queue = TimerQueue<Timer>()
            var generator = SplitMix(seed: 42)
            var timers: [Timer] = []
            var isSound = true
            for _ in 0..<3000 {
                if timers.count < 200 || Bool.random(using: &generator) {
                    let timer = loop.makeTimer {}
                    queue.insert(timer, due: Int64.random(in: 0..<500, using: &generator))
                    timers.append(timer)
                } else {
                    queue.remove(timers.remove(at: Int.random(in: 0..<timers.count, using: &generator)))
                }
            }
            isSound = queue.checkInvariants()
            var last: Int64 = -1
            while let timer = queue.popDue(at: 500) {
                isSound = isSound && timer.due >= last && timer.index == -1
                last = timer.due
            }
            return isSound && queue.count == 0
        }
        #expect(isSound)
    }

    @Test func `signals arrive as calls on the loop`() async throws {
        let seen = try await onLoop { loop in
            var seen: [ProcessSignal] = []
            let source = try SignalSource([.user1, .hangUp], on: loop) { seen.append($0) }
            kill(getpid(), SIGUSR1)
            while seen.count < 1 { await loop.sleep(for: .milliseconds(1)) }
            kill(getpid(), SIGHUP)
            while seen.count < 2 { await loop.sleep(for: .milliseconds(1)) }
            source.close()
            return seen
        }
        #expect(seen == [.user1, .hangUp])
    }
}

/// A generator whose numbers are the same in every run.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
