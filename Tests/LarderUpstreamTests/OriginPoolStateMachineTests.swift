// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import LarderUpstream

@Suite("Which request gets which connection")
struct OriginPoolStateMachineTests {
    typealias Machine = OriginPoolStateMachine
    typealias Action = Machine.Action

    /// A machine with its limits, every connection fit unless told otherwise.
    struct Pool {
        var machine = Machine()
        var limits = Machine.Limits(connections: 2, idle: 2, waiters: 2, idleTime: 100)
        var broken: Set<Int> = []
        /// Pairs of connection and request that do not go together.
        var forbidden: Set<[Int]> = []

        func fitness(_ connection: Int, _ request: Int) -> Machine.Fitness {
            broken.contains(connection) ? .broken : forbidden.contains([connection, request]) ? .forbidden : .fit
        }

        mutating func request(_ request: Int, freshOnly: Bool = false, now: Int64 = 0) -> [Action] {
            let this = self
            return checked(
                machine.requested(
                    request, freshOnly: freshOnly, now: now, limits: limits, fitness: { this.fitness($0, request) }))
        }

        mutating func connected(_ connection: Int, for request: Int, now: Int64 = 0) -> [Action] {
            let this = self
            return checked(
                machine.connected(connection, for: request, now: now, limits: limits, fitness: { this.fitness($0, $1) })
            )
        }

        mutating func failed(_ request: Int) -> [Action] {
            checked(machine.connectFailed(for: request, limits: limits))
        }

        mutating func released(_ connection: Int, now: Int64 = 0, until: Int64 = .max) -> [Action] {
            let this = self
            var short = machine
            let isParked = short.parked(connection, now: now, until: until, limits: limits)
            let actions = checked(
                machine.released(
                    connection, now: now, until: until, limits: limits, fitness: { this.fitness($0, $1) }))
            // The short way leads to the same wherever it is open.
            #expect(!isParked || actions == [.park(connection)])
            #expect(!isParked || short.idleCount == machine.idleCount && short.activeCount == machine.activeCount)
            return actions
        }

        mutating func ended(_ connection: Int) -> [Action] { checked(machine.ended(connection, limits: limits)) }
        mutating func withdrawn(_ request: Int) -> Bool {
            let result = machine.withdrawn(request)
            #expect(machine.checkInvariants(limits))
            return result
        }
        mutating func idleEnded(_ connection: Int) -> [Action] { checked(machine.idleEnded(connection)) }
        mutating func distrusted(now: Int64) -> [Action] { checked(machine.distrusted(now: now, limits: limits)) }
        mutating func drained() -> [Action] { checked(machine.drained()) }
        mutating func swept(now: Int64) -> [Action] {
            let broken = broken
            return checked(machine.swept(now: now) { broken.contains($0) ? .broken : .fit })
        }

        mutating func trimmed(through instant: Int64) -> [Action] { checked(machine.trimmed(through: instant)) }

        private func checked(_ actions: [Action]) -> [Action] {
            #expect(machine.checkInvariants(limits))
            return actions
        }
    }

    @Test func `a greater limit lets those in line connect`() {
        var pool = Pool()
        for request in 0..<4 { _ = pool.request(request) }
        #expect(pool.machine.waitingCount == 4)
        pool.limits.connections = 3
        #expect(pool.machine.limited(pool.limits) == [.connect(for: 2)])
        #expect(pool.machine.checkInvariants(pool.limits))
    }

    @Test func `a connection that nobody waits for is kept without further ado`() {
        var pool = busy()
        var isParked = pool.machine.parked(101, now: 0, limits: pool.limits)
        #expect(isParked)
        #expect(pool.machine.idleCount == 1 && pool.machine.activeCount == 1)
        #expect(pool.request(3) == [.lease(101, to: 3)])
        #expect(pool.request(4) == [.wait(4)])
        isParked = pool.machine.parked(101, now: 0, limits: pool.limits)
        #expect(!isParked)
        #expect(pool.released(101) == [.lease(101, to: 4)])
    }

    /// Connections 101 and 102 carry requests 1 and 2: the limit.
    private func busy() -> Pool {
        var pool = Pool()
        #expect(pool.request(1) == [.connect(for: 1)])
        #expect(pool.request(2) == [.connect(for: 2)])
        #expect(pool.connected(101, for: 1) == [.lease(101, to: 1)])
        #expect(pool.connected(102, for: 2) == [.lease(102, to: 2)])
        return pool
    }

    @Test func `the connection used last is used again first`() {
        var pool = busy()
        #expect(pool.released(101) == [.park(101)])
        #expect(pool.released(102) == [.park(102)])
        #expect(pool.request(3) == [.lease(102, to: 3)])
        #expect(pool.request(4) == [.lease(101, to: 4)])
        #expect(pool.machine.activeCount == 2 && pool.machine.idleCount == 0)
    }

    @Test func `at the limit requests wait in line and are served in order`() {
        var pool = busy()
        #expect(pool.request(3) == [.wait(3)])
        #expect(pool.request(4) == [.wait(4)])
        #expect(pool.request(5) == [.refuse(5)])
        #expect(pool.released(102) == [.lease(102, to: 3)])
        #expect(pool.ended(101) == [.connect(for: 4)])
        #expect(pool.connected(103, for: 4) == [.lease(103, to: 4)])
        #expect(pool.machine.waitingCount == 0)
    }

    @Test func `a request that was withdrawn is passed over`() {
        var pool = busy()
        #expect(pool.request(3) == [.wait(3)])
        #expect(pool.request(4) == [.wait(4)])
        #expect(pool.withdrawn(3) == true)
        #expect(pool.withdrawn(3) == false)
        #expect(pool.withdrawn(1) == false)
        #expect(pool.released(101) == [.lease(101, to: 4)])
    }

    @Test func `a freed connection serves a request whose own attempt is under way`() {
        var pool = Pool()
        #expect(pool.request(1) == [.connect(for: 1)])
        #expect(pool.connected(101, for: 1) == [.lease(101, to: 1)])
        #expect(pool.request(2) == [.connect(for: 2)])
        #expect(pool.released(101) == [.lease(101, to: 2)])
        #expect(pool.connected(102, for: 2) == [.park(102)])
    }

    @Test func `an attempt outlives its request and serves another`() {
        var pool = Pool()
        #expect(pool.request(1) == [.connect(for: 1)])
        #expect(pool.request(2) == [.connect(for: 2)])
        #expect(pool.request(3) == [.wait(3)])
        #expect(pool.withdrawn(1) == true)
        #expect(pool.connected(101, for: 1) == [.lease(101, to: 2)])
        #expect(pool.connected(102, for: 2) == [.lease(102, to: 3)])
    }

    @Test func `an attempt that fails fails its request and makes room for the next`() {
        var pool = Pool()
        _ = pool.request(1)
        _ = pool.request(2)
        #expect(pool.request(3) == [.wait(3)])
        #expect(pool.failed(1) == [.fail(1), .connect(for: 3)])
        #expect(pool.withdrawn(2) == true)
        #expect(pool.failed(2) == [])
        #expect(pool.failed(3) == [.fail(3)])
        #expect(pool.machine.isUnused)
    }

    @Test func `a failed attempt does not harm a request that was served meanwhile`() {
        var pool = Pool()
        _ = pool.request(1)
        _ = pool.connected(101, for: 1)
        _ = pool.request(2)
        #expect(pool.released(101) == [.lease(101, to: 2)])
        #expect(pool.failed(2) == [])
    }

    @Test func `a request that wants a fresh connection gets no other`() {
        var pool = busy()
        #expect(pool.released(101) == [.park(101)])
        #expect(pool.request(3, freshOnly: true) == [.close(101), .connect(for: 3)])
        #expect(pool.released(102) == [.park(102)])
        #expect(pool.connected(103, for: 3) == [.lease(103, to: 3)])
    }

    @Test func `a request that wants a fresh connection may take another's attempt`() {
        var pool = busy()
        #expect(pool.request(3, freshOnly: true) == [.wait(3)])
        #expect(pool.released(101) == [.close(101), .connect(for: 3)])
        #expect(pool.connected(103, for: 3) == [.lease(103, to: 3)])
    }

    @Test func `connections that turn out broken are closed on the way`() {
        var pool = busy()
        _ = pool.released(101)
        _ = pool.released(102)
        pool.broken = [102]
        #expect(pool.request(3) == [.close(102), .lease(101, to: 3)])
        pool.broken = [101]
        #expect(pool.request(4) == [.connect(for: 4)])
        #expect(pool.request(5) == [.wait(5)])
        #expect(pool.released(101) == [.close(101), .connect(for: 5)])
    }

    @Test func `a connection is not used for a request whose rules forbid its address`() {
        var pool = busy()
        pool.forbidden = [[101, 3], [102, 3]]
        _ = pool.released(101)
        _ = pool.released(102)
        #expect(pool.request(3) == [.close(101), .connect(for: 3)])
        #expect(pool.request(4) == [.lease(102, to: 4)])
    }

    @Test func `a freed connection passes over those it must not serve`() {
        var pool = busy()
        pool.forbidden = [[101, 3], [102, 3]]
        #expect(pool.request(3) == [.wait(3)])
        #expect(pool.request(4) == [.wait(4)])
        #expect(pool.released(101) == [.lease(101, to: 4)])
        // Nobody else is in line, and the one who is needs its place.
        #expect(pool.released(102) == [.close(102), .connect(for: 3)])
    }

    @Test func `idle connections age`() {
        var pool = busy()
        #expect(pool.released(101, now: 0) == [.park(101)])
        #expect(pool.released(102, now: 50) == [.park(102)])
        #expect(pool.swept(now: 99) == [])
        #expect(pool.swept(now: 100) == [.close(101)])
        #expect(pool.request(3, now: 150) == [.close(102), .connect(for: 3)])
    }

    @Test func `an origin may name a shorter time, but not a longer`() {
        var pool = busy()
        #expect(pool.released(101, now: 0, until: 10) == [.park(101)])
        #expect(pool.released(102, now: 0, until: 1000) == [.park(102)])
        #expect(pool.swept(now: 10) == [.close(101)])
        #expect(pool.swept(now: 100) == [.close(102)])
        #expect(pool.request(3) == [.connect(for: 3)])
        #expect(pool.connected(103, for: 3) == [.lease(103, to: 3)])
        #expect(pool.released(103, now: 10, until: 10) == [.close(103)])
    }

    @Test func `so many are kept idle and no more`() {
        var pool = Pool()
        pool.limits.idle = 1
        _ = pool.request(1)
        _ = pool.request(2)
        _ = pool.connected(101, for: 1)
        _ = pool.connected(102, for: 2)
        #expect(pool.released(101) == [.park(101)])
        #expect(pool.released(102) == [.close(102)])
    }

    @Test func `those that wait longest are the first to go`() {
        var pool = busy()
        _ = pool.released(101, now: 10)
        _ = pool.released(102, now: 20)
        #expect(pool.machine.idleSince == [10, 20])
        #expect(pool.trimmed(through: 9) == [])
        #expect(pool.trimmed(through: 10) == [.close(101)])
        #expect(pool.request(3, now: 20) == [.lease(102, to: 3)])
        #expect(pool.trimmed(through: 100) == [])
    }

    @Test func `what the peer closes is forgotten, once`() {
        var pool = busy()
        _ = pool.released(101)
        #expect(pool.idleEnded(101) == [.close(101)])
        #expect(pool.idleEnded(101) == [])
        #expect(pool.idleEnded(102) == [])
        #expect(pool.request(3) == [.connect(for: 3)])
    }

    @Test func `a drained pool still serves and keeps nothing`() {
        var pool = busy()
        _ = pool.released(101)
        #expect(pool.drained() == [.close(101)])
        #expect(pool.released(102) == [.close(102)])
        #expect(pool.request(3) == [.connect(for: 3)])
        #expect(pool.withdrawn(3) == true)
        #expect(pool.connected(103, for: 3) == [.close(103)])
        #expect(pool.machine.isUnused)
    }

    @Test func `an endless idle time does not overflow`() {
        var pool = busy()
        pool.limits.idleTime = .max
        #expect(pool.released(101, now: 5) == [.park(101)])
        #expect(pool.swept(now: .max - 1) == [])
    }

    /// The invariants hold and nobody is forgotten, whatever happens in whatever order.
    @Test(arguments: 0..<40)
    func `every request is answered whatever happens`(_ seed: UInt64) {
        var random = SystemlessNumbers(seed)
        var pool = Pool()
        pool.limits = Machine.Limits(
            connections: 1 + Int(random.next() % 4), idle: Int(random.next() % 3), waiters: Int(random.next() % 4),
            idleTime: 50)
        var waiting: Set<Int> = []
        var attempts: Set<Int> = []
        var leased: Set<Int> = []
        var parked: Set<Int> = []
        var next = 0
        func apply(_ actions: [Action]) {
            for action in actions {
                switch action {
                case .lease(let connection, let request):
                    #expect(waiting.remove(request) != nil)
                    #expect(leased.insert(connection).inserted)
                    #expect(pool.fitness(connection, request) == .fit)
                    parked.remove(connection)
                case .connect(let request): #expect(attempts.insert(request).inserted)
                case .wait(let request): #expect(waiting.contains(request))
                case .refuse(let request), .fail(let request): #expect(waiting.remove(request) != nil)
                case .park(let connection): #expect(parked.insert(connection).inserted)
                case .close(let connection): parked.remove(connection)
                }
            }
        }
        for now in 0..<400 {
            next += 1
            switch random.next() % 8 {
            case 0, 1, 2:
                waiting.insert(next)
                apply(pool.request(next, freshOnly: random.next() % 5 == 0, now: Int64(now)))
            case 3:
                guard let request = attempts.min() else { continue }
                attempts.remove(request)
                // A connection made under a request's rules goes with that request, and may not with others.
                for other in waiting where other != request && random.next() % 4 == 0 {
                    pool.forbidden.insert([next, other])
                }
                apply(pool.connected(next, for: request, now: Int64(now)))
            case 4:
                guard let request = attempts.max() else { continue }
                attempts.remove(request)
                apply(pool.failed(request))
            case 5:
                guard let connection = leased.min() else { continue }
                leased.remove(connection)
                apply(random.next() % 3 == 0 ? pool.ended(connection) : pool.released(connection, now: Int64(now)))
            case 6:
                guard let request = waiting.min() else { continue }
                waiting.remove(request)
                #expect(pool.withdrawn(request) == true)
            default:
                if let connection = parked.min() {
                    apply(random.next() % 2 == 0 ? pool.idleEnded(connection) : pool.swept(now: Int64(now)))
                }
            }
            #expect(pool.machine.idleCount == parked.count)
            #expect(pool.machine.waitingCount == waiting.count)
            #expect(pool.machine.activeCount == leased.count + attempts.count)
        }
        // With everything over, everybody has been answered.
        while !attempts.isEmpty || !leased.isEmpty {
            for request in attempts {
                attempts.remove(request)
                apply(pool.failed(request))
            }
            for connection in leased {
                leased.remove(connection)
                apply(pool.ended(connection))
            }
        }
        #expect(waiting.isEmpty)
    }

    @Test func `an origin that is not trusted gets no second request on a connection, up to a time`() {
        var pool = Pool()
        pool.limits.distrustTime = 100
        #expect(pool.request(1) == [.connect(for: 1)])
        #expect(pool.connected(101, for: 1) == [.lease(101, to: 1)])
        #expect(pool.request(2) == [.connect(for: 2)])
        #expect(pool.connected(102, for: 2) == [.lease(102, to: 2)])
        #expect(pool.request(3) == [.wait(3)])
        #expect(pool.released(101, now: 10) == [.lease(101, to: 3)])
        #expect(pool.released(102, now: 10) == [.park(102)])
        #expect(pool.distrusted(now: 20) == [.close(102)])
        #expect(pool.request(4, now: 30) == [.connect(for: 4)])
        #expect(pool.request(5, now: 30) == [.wait(5)])
        // The waiting request gets a new connection.
        #expect(pool.released(101, now: 40) == [.close(101), .connect(for: 5)])
        #expect(pool.connected(103, for: 4, now: 50) == [.lease(103, to: 4)])
        #expect(pool.released(103, now: 119) == [.close(103)])
        #expect(pool.connected(104, for: 5, now: 119) == [.lease(104, to: 5)])
        #expect(pool.released(104, now: 120) == [.park(104)])
    }
}

/// Numbers that are the same on every run.
struct SystemlessNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &+ 1 }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state >> 33
    }
}
