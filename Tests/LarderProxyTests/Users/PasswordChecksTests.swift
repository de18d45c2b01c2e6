// SPDX-License-Identifier: Apache-2.0

import Glibc
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

@Suite("Users who are remembered, and attempts that are limited")
struct UserMemoryTests {
    @Test func `what was right is remembered while it is used, for a while`() {
        var memory = RememberedUsers<Int>(limit: 4, idleLifetime: 100, lifetime: 250)
        func user(_ digest: Int, _ now: Int64) -> UserTable.User? { memory.user(of: digest, at: now) }
        memory.remember(TestUsers.anna, by: 1, at: 10)
        #expect(user(1, 109) == TestUsers.anna)
        #expect(user(1, 208) == TestUsers.anna)
        #expect(user(2, 208) == nil)
        // Not longer than the longest time.
        #expect(user(1, 259) == TestUsers.anna)
        #expect(user(1, 260) == nil)
        memory.remember(TestUsers.anna, by: 1, at: 300)
        #expect(user(1, 400) == nil)
    }

    @Test func `those who are users still are remembered among others`() {
        var memory = RememberedUsers<Int>(limit: 4, idleLifetime: 100, lifetime: 250)
        memory.remember(TestUsers.anna, by: 1, at: 10)
        memory.remember(TestUsers.ben, by: 2, at: 10)
        var kept = memory.keeping(UserTable([TestUsers.changedAnna, TestUsers.ben]))
        let (anna, ben) = (kept.user(of: 1, at: 20), kept.user(of: 2, at: 20))
        #expect(anna == nil && ben == TestUsers.ben)
    }

    @Test func `those who would be forgotten first make room`() {
        var memory = RememberedUsers<Int>(limit: 4, idleLifetime: 100, lifetime: 250)
        for number in 0..<20 {
            memory.remember(TestUsers.anna, by: number, at: Int64(number))
            #expect(memory.count <= 4)
            let user = memory.user(of: number, at: Int64(number))
            #expect(user != nil)
        }
        memory.remember(TestUsers.anna, by: 20, at: 1_000)
        let forgotten = memory.user(of: 19, at: 1_000)
        #expect(forgotten == nil)
    }

    @Test func `a client has some attempts, and another one after each interval`() {
        var limit = AttemptLimit<String>(burst: 3, interval: 10)
        for number in 1...3 {
            #expect(limit.wait(of: "a", at: 100) == nil)
            #expect(limit.charge("a", at: 100) == (number == 3))
        }
        #expect(limit.wait(of: "a", at: 100) == 10)
        #expect(limit.wait(of: "b", at: 100) == nil)
        #expect(limit.wait(of: "a", at: 109) == 1)
        #expect(limit.wait(of: "a", at: 110) == nil)
        let isLast = limit.charge("a", at: 110)
        #expect(isLast)
        // Later all of them are there again.
        let later = (0..<3).map { _ in limit.charge("a", at: 1_000) }
        #expect(later == [false, false, true])
    }

    @Test func `what was counted can be taken back`() {
        var limit = AttemptLimit<String>(burst: 2, interval: 10)
        for _ in 0..<2 { _ = limit.charge("a", at: 100) }
        limit.refund("a", at: 100)
        #expect(limit.wait(of: "a", at: 100) == nil && limit.clientCount == 1)
        limit.refund("a", at: 100)
        limit.refund("a", at: 100)
        #expect(limit.clientCount == 0)
    }

    @Test func `of too many clients those are forgotten that tried least`() {
        var limit = AttemptLimit<Int>(burst: 2, interval: 10, clients: 4)
        for _ in 0..<2 { _ = limit.charge(0, at: 100) }
        for client in 1...40 {
            _ = limit.charge(client, at: 100)
            #expect(limit.clientCount <= 4)
        }
        #expect(limit.wait(of: 0, at: 100) != nil)
    }

    @Test func `the client with most that waits gives way to one with nothing`() {
        var queue = CheckQueue<String, Int>(threads: 1, limit: 4, clientLimit: 3)
        for item in 1...3 { _ = queue.add(item, of: "a") }
        let none = queue.makeRoom(for: "b")
        #expect(none == nil, "there is room")
        _ = queue.add(4, of: "b")
        let given = [queue.makeRoom(for: "b"), queue.makeRoom(for: "c")]
        #expect(given == [nil, 3])
        let isAdded = queue.add(5, of: "c")
        #expect(isAdded)
        _ = queue.makeRoom(for: "d")
        _ = queue.add(6, of: "d")
        let last = queue.makeRoom(for: "e")
        #expect(last == nil && queue.count == 4, "each has one")
        var order: [Int] = []
        while let next = queue.next() {
            order.append(next.item)
            queue.ended()
        }
        #expect(order == [1, 4, 5, 6])
    }

    @Test func `clients take turns, however many one has that wait`() {
        var queue = CheckQueue<String, Int>(threads: 1, limit: 6, clientLimit: 4)
        let own = (1...5).map { queue.add($0, of: "a") }
        #expect(own == [true, true, true, true, false])
        let others = [queue.add(10, of: "b"), queue.add(20, of: "c"), queue.add(30, of: "d")]
        #expect(others == [true, true, false])
        var order: [Int] = []
        while let next = queue.next() {
            #expect(queue.running == 1)
            let second = queue.next()
            #expect(second == nil)
            order.append(next.item)
            queue.ended()
        }
        #expect(order == [1, 10, 20, 2, 3, 4])
        #expect(queue.count == 0 && queue.running == 0)
    }
}

@Suite("Passwords that are compared", .timeLimit(.minutes(10)))
struct PasswordChecksTests {
    typealias Checks = PasswordChecks<String, String, Int>

    /// Comparisons that wait until the test lets them go on.
    private final class Gate: Sendable {
        private let state = Lock((isOpen: false, begun: 0, atOnce: 0, most: 0))

        func compare(_ result: Bool) -> @Sendable () -> Bool {
            {
                self.state.withLock { state in
                    state.begun += 1
                    state.atOnce += 1
                    state.most = max(state.most, state.atOnce)
                }
                while !self.state.withLock({ $0.isOpen }) { sched_yield() }
                self.state.withLock { $0.atOnce -= 1 }
                return result
            }
        }

        func open() { state.withLock { $0.isOpen = true } }
        var begun: Int { state.withLock { $0.begun } }
        var most: Int { state.withLock { $0.most } }
    }

    private func attempt(_ credentials: Int, of client: String, name: String = "anna") -> Checks.Attempt {
        Checks.Attempt(client: client, name: name, credentials: credentials)
    }

    @Test func `equal credentials are compared once, for all who wait`() async {
        let checks = Checks(time: ManualTime())
        let gate = Gate()
        let outcomes = await withTaskGroup(of: Checks.Outcome.self, returning: [Checks.Outcome].self) { group in
            for number in 0..<20 {
                group.addTask { await checks.check(attempt(7, of: "\(number)"), gate.compare(true)) }
            }
            while gate.begun == 0 { await Task.yield() }
            gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes == Array(repeating: .right, count: 20))
        #expect(gate.begun >= 1 && gate.most == 1)
    }

    @Test func `few run at once, and one client cannot fill the queue`() async {
        let checks = Checks(threads: 2, limit: 8, time: ManualTime())
        let gate = Gate()
        let outcomes = await withTaskGroup(of: Checks.Outcome.self, returning: [Checks.Outcome].self) { group in
            for number in 0..<2 { group.addTask { await checks.check(attempt(number, of: "a"), gate.compare(false)) } }
            while gate.begun < 2 { await Task.yield() }
            for number in 2..<10 { group.addTask { await checks.check(attempt(number, of: "a"), gate.compare(false)) } }
            var refused: [Checks.Outcome] = []
            // Two run and two wait; the others are refused at once.
            while refused.count < 6, let outcome = await group.next() { refused.append(outcome) }
            group.addTask { await checks.check(attempt(100, of: "b"), gate.compare(true)) }
            gate.open()
            return await group.reduce(into: refused) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .busy } == 6)
        #expect(outcomes.count { $0 == .wrong || $0 == .lastWrong } == 4)
        #expect(outcomes.count { $0 == .right } == 1)
        #expect(gate.most <= 2)
    }

    @Test func `whoever was wrong too often has to wait, and nobody else`() async {
        let time = ManualTime()
        let checks = Checks(names: .init(burst: 3, interval: 6_000_000_000), time: time)
        #expect(!checks.isAnyoneLimited(at: time.monotonic()))
        var outcomes: [Checks.Outcome] = []
        for number in 0..<4 { outcomes.append(await checks.check(attempt(number, of: "a")) { false }) }
        #expect(outcomes == [.wrong, .wrong, .lastWrong, .tooOften(6_000_000_000)])
        #expect(checks.isAnyoneLimited(at: time.monotonic()))
        #expect(checks.wait(of: attempt(10, of: "a"), at: time.monotonic()) == 6_000_000_000)
        #expect(await checks.check(attempt(10, of: "a")) { true } == .tooOften(6_000_000_000))
        #expect(await checks.check(attempt(0, of: "a")) { true } == .tooOften(6_000_000_000))
        #expect(await checks.check(attempt(11, of: "b")) { true } == .right)
        #expect(await checks.check(attempt(12, of: "a", name: "ben")) { true } == .right)
        time.advance(by: .seconds(6))
        #expect(await checks.check(attempt(10, of: "a")) { true } == .right)
        // A right password costs no attempt.
        #expect(await checks.check(attempt(12, of: "a")) { false } == .lastWrong)
    }

    @Test func `those that waited when too many were wrong are not compared any more`() async {
        let checks = Checks(
            threads: 1, limit: 64, clients: .init(burst: 2, interval: 6_000_000_000), time: ManualTime())
        let gate = Gate()
        let outcomes = await withTaskGroup(of: Checks.Outcome.self, returning: [Checks.Outcome].self) { group in
            for number in 0..<10 {
                group.addTask { await checks.check(attempt(number, of: "a", name: "\(number)"), gate.compare(false)) }
            }
            while gate.begun == 0 { await Task.yield() }
            gate.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .wrong || $0 == .lastWrong } == 2)
        #expect(gate.begun == 2)
    }

    @Test func `the limit of one client is none of another's that sent the same`() async {
        let time = ManualTime()
        let once = Checks.Attempts.Rate(burst: 1, interval: 6_000_000_000)
        let checks = Checks(threads: 1, limit: 64, names: once, clients: once, time: time)
        let gate = Gate()
        let (wrong, same) = (attempt(1, of: "a", name: "x"), attempt(2, of: "a"))
        let others = ["b", "c"].map { attempt(2, of: $0) }
        // An attempt is counted when it begins to wait.
        func waits(_ attempt: Checks.Attempt) async {
            while checks.wait(of: attempt, at: time.monotonic()) == nil { await Task.yield() }
        }
        async let first = checks.check(wrong, gate.compare(false))
        await waits(wrong)
        async let second = checks.check(same, gate.compare(true))
        await waits(same)
        async let third = checks.check(others[0], gate.compare(true))
        await waits(others[0])
        async let fourth = checks.check(others[1], gate.compare(true))
        await waits(others[1])
        gate.open()
        #expect(await first == .lastWrong)
        #expect(await second == .tooOften(6_000_000_000))
        let outcomes = await [third, fourth]
        #expect(outcomes == [.right, .right])
    }

    @Test func `nobody waits any more once it is closed`() async {
        let checks = Checks(threads: 1, limit: 64, time: ManualTime())
        let gate = Gate()
        let outcomes = await withTaskGroup(of: Checks.Outcome.self, returning: [Checks.Outcome].self) { group in
            for number in 0..<4 { group.addTask { await checks.check(attempt(number, of: "a"), gate.compare(true)) } }
            while gate.begun == 0 { await Task.yield() }
            checks.close()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes == Array(repeating: .busy, count: 4))
        #expect(await checks.check(attempt(9, of: "a")) { true } == .busy)
        gate.open()
    }
}

@Suite("The users of a configuration")
struct UserGateTests {
    private let gate = UserGate(UserTable([TestUsers.anna, TestUsers.ben]))

    private func compare(_ name: String, _ password: String, _ gate: UserGate) -> Bool {
        gate.comparison(of: BasicCredentials(name: name, password: password))()
    }

    @Test func `a user's own password is right, and nothing else`() {
        #expect(compare("anna", "flour", gate) && compare("ben", "salt", gate))
        for (name, password) in [("anna", "salt"), ("anna", ""), ("Anna", "flour"), ("", ""), ("cleo", "flour")] {
            #expect(!compare(name, password, gate), "\(name)")
        }
        #expect(!compare("anna", "flour", UserGate(UserTable())))
    }

    @Test func `an unknown name is compared with somebody's hash, always the same`() {
        let table = UserTable([TestUsers.anna, TestUsers.ben])
        #expect(Set((0..<20).map { table.decoy(for: $0) }) == [TestUsers.anna.hash, TestUsers.ben.hash])
        #expect(table.decoy(for: 3) == table.decoy(for: 3))
        #expect(UserTable().decoy(for: 3)?.method == .yescrypt)
    }

    @Test func `credentials are the same at the next gate, and attempts with them others`() {
        let credentials = BasicCredentials(name: "anna", password: "flour")
        let next = UserGate(UserTable([TestUsers.anna]), after: gate)
        let digest = gate.digest(of: credentials)
        #expect(next.digest(of: credentials) == digest)
        let client = ClientAddress(SocketAddress(ipv4: 0x7F00_0001, port: 1))
        let (one, other) = (
            gate.attempt(credentials, digest, of: client), next.attempt(credentials, digest, of: client)
        )
        #expect(one.name == other.name && one.credentials != other.credentials)
        #expect(gate.digest(of: credentials) != gate.digest(of: BasicCredentials(name: "anna", password: "flou")))
    }

    @Test func `whoever is a user still is remembered by the next gate`() {
        gate.remember(TestUsers.anna, by: gate.digest(of: BasicCredentials(name: "anna", password: "flour")), at: 10)
        gate.remember(TestUsers.ben, by: gate.digest(of: BasicCredentials(name: "ben", password: "salt")), at: 10)
        let next = UserGate(UserTable([TestUsers.changedAnna, TestUsers.ben]), after: gate)
        #expect(next.user(of: next.digest(of: BasicCredentials(name: "anna", password: "flour")), at: 20) == nil)
        #expect(
            next.user(of: next.digest(of: BasicCredentials(name: "ben", password: "salt")), at: 20) == TestUsers.ben)
    }

    @Test func `all spellings of a name share its attempts`() {
        let gate = UserGate(UserTable([UserTable.User(name: "jos\u{E9}", hash: TestUsers.anna.hash)]))
        let client = ClientAddress(SocketAddress(ipv4: 0x7F00_0001, port: 1))
        let names = ["jos\u{E9}", "jose\u{301}"].map { name in
            let credentials = BasicCredentials(name: name, password: "x")
            return gate.attempt(credentials, gate.digest(of: credentials), of: client).name
        }
        #expect(names[0] == names[1])
    }

    @Test func `who had another password, or is gone, is admitted no more`() {
        #expect(gate.admits(.user(TestUsers.anna)) && gate.admits(.lane) && gate.admits(.certificate))
        #expect(!gate.admits(.user(TestUsers.changedAnna)) && !gate.admits(.anyone))
        #expect(!UserGate(UserTable([TestUsers.ben])).admits(.user(TestUsers.anna)))
    }
}
