// SPDX-License-Identifier: Apache-2.0
import LarderIO
import Testing

@testable import LarderShared

@Suite("Connections to the engine", .timeLimit(.minutes(5)))
struct NodeConnectionTests {
    private static let get = Command("GET", "a", key: 1)

    @Test func `commands share a connection, and replies come in their order`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection()
            let first = connection.send([Self.get, Command("GET", "b")], until: test.deadline)
            let peer = await test.accept()
            let third = connection.send([Command("PING")], until: test.deadline)
            for name in ["GET a", "GET b", "PING"] {
                #expect(try await peer.next()?.joined(separator: " ") == name)
            }
            try await peer.send("$1\r\n1\r\n$-1\r\n+PONG\r\n")
            #expect(await first[0].outcome() == .success(.bulk([0x31])))
            #expect(await first[1].outcome() == .success(.null))
            #expect(await third[0].outcome() == .success(.status("PONG")))
            #expect(test.dials.count == 1)
        }
    }

    @Test func `nobody waits longer than its deadline, and a late reply is nobody else's`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection()
            let late = connection.send([Self.get], until: test.deadline)[0]
            let peer = await test.accept()
            _ = try await peer.next()
            await test.pass(.milliseconds(20))
            #expect(await late.outcome() == .failure(.timedOut))
            let next = connection.send([Command("GET", "b")], until: test.deadline)[0]
            _ = try await peer.next()
            try await peer.send("$1\r\n1\r\n$1\r\n2\r\n")
            #expect(await next.outcome() == .success(.bulk([0x32])))
        }
    }

    @Test func `who comes while the connection is made waits for it no longer than for a reply`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection { $0.password = "p" }
            let early = connection.send([Self.get], until: test.deadline)[0]
            let peer = await test.accept()
            await test.pass(.milliseconds(20))
            #expect(await early.outcome() == .failure(.timedOut))
            let later = connection.send([Command("GET", "b")], until: test.deadline)[0]
            try await peer.answer("+OK\r\n", to: "AUTH p")
            try await peer.answer("$1\r\n2\r\n", to: "GET b")
            #expect(await later.outcome() == .success(.bulk([0x32])))
        }
    }

    @Test func `it says who it is before anything else`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection {
                $0.username = "larder"
                $0.password = "p"
            }
            let reply = connection.send([Self.get], until: test.deadline)[0]
            let peer = await test.accept()
            try await peer.answer("+OK\r\n", to: "AUTH larder p")
            try await peer.answer("$-1\r\n", to: "GET a")
            #expect(await reply.outcome() == .success(.null))
        }
    }

    @Test func `a password that is refused is a failure with the engine's words`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection { $0.password = "p" }
            let reply = connection.send([Self.get], until: test.deadline)[0]
            let peer = await test.accept()
            try await peer.answer("-WRONGPASS invalid\r\n")
            #expect(await reply.outcome() == .failure(.unreachable("WRONGPASS invalid")))
            #expect(connection.lastFailure == "WRONGPASS invalid")
        }
    }

    @Test(arguments: ["", "junk\r\n", "+OK\r\n+OK\r\n"])
    func `a connection that breaks is made anew for the next command`(_ farewell: String) async throws {
        try await EngineFixture.run { test in
            let connection = test.connection()
            let reply = connection.send([Self.get], until: test.deadline)[0]
            let peer = await test.accept()
            _ = try await peer.next()
            if farewell.isEmpty { peer.close() } else { try await peer.send(farewell) }
            let isSuccess = await reply.outcome() == .success(.status("OK"))
            #expect(isSuccess == farewell.hasPrefix("+"))
            await test.settle()
            let next = connection.send([Self.get], until: test.deadline)[0]
            try await test.accept().answer("$-1\r\n")
            #expect(await next.outcome() == .success(.null))
            #expect(test.dials.count == 2)
        }
    }

    @Test func `a slow engine is left alone until it is fast again`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection()
            for _ in 0..<3 {
                let reply = connection.send([Self.get], until: test.deadline)[0]
                await test.pass(.milliseconds(20))
                #expect(await reply.outcome() == .failure(.timedOut))
            }
            #expect(test.changes == ["10.0.0.1:6379 off"])
            #expect(await connection.send([Self.get], until: test.deadline)[0].outcome() == .failure(.resting))
            _ = await test.accept()
            await test.pass(.milliseconds(250))
            let second = await test.accept()
            // Slow still: the answer to the second question comes too late.
            try await second.answer("+PONG\r\n", to: "PING")
            _ = try await second.next()
            await test.pass(.milliseconds(20))
            #expect(!connection.isUsable)
            await test.pass(.milliseconds(500))
            let third = await test.accept()
            try await third.answer("+PONG\r\n")
            try await third.answer("+PONG\r\n")
            await test.settle()
            #expect(connection.isUsable)
            #expect(test.changes == ["10.0.0.1:6379 off", "10.0.0.1:6379 on"])
            let reply = connection.send([Self.get], until: test.deadline)[0]
            try await third.answer("$-1\r\n", to: "GET a")
            #expect(await reply.outcome() == .success(.null))
        }
    }

    @Test func `an engine that is away is found again within five seconds`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection()
            test.refusal = IOError(.refused, operation: "connect")
            for _ in 0..<3 { _ = await connection.send([Self.get], until: test.deadline)[0].outcome() }
            #expect(!connection.isUsable)
            for _ in 0..<60 { await test.pass(.milliseconds(500)) }
            // Away for half a minute, asked every two seconds at most.
            #expect((16...22).contains(test.dials.count))
            test.refusal = nil
            for _ in 0..<9 where test.changes.count < 2 {
                let count = test.dials.count
                await test.pass(.milliseconds(500))
                guard test.dials.count > count else { continue }
                let peer = await test.accept()
                try await peer.answer("+PONG\r\n")
                try await peer.answer("+PONG\r\n")
                await test.settle()
            }
            #expect(connection.isUsable)
        }
    }

    @Test func `closing ends every wait`() async throws {
        try await EngineFixture.run { test in
            let connection = test.connection()
            let reply = connection.send([Self.get], until: .max)[0]
            _ = try await test.accept().next()
            connection.close()
            #expect(await reply.outcome() == .failure(.closed))
            #expect(await connection.send([Self.get], until: .max)[0].outcome() == .failure(.closed))
        }
    }
}

@Suite("Nodes of a cluster", .timeLimit(.minutes(5)))
struct EngineTests {
    private static let get = Command("GET", "foo", key: 1)

    /// The reply to `CLUSTER SLOTS` of a cluster with these nodes, by their ports, that have the slots up to a number.
    private static func slots(_ runs: (Int, Int)...) -> String {
        var first = 0
        var text = "*\(runs.count)\r\n"
        for (last, port) in runs {
            text += "*3\r\n:\(first)\r\n:\(last)\r\n*2\r\n$8\r\n10.0.0.1\r\n:\(port)\r\n"
            first = last + 1
        }
        return text
    }

    @Test func `a command goes to the node that has its slot`() async throws {
        try await EngineFixture.run { test in
            let engine = test.engine { $0.isCluster = true }
            // `foo` has slot 12182.
            let reply = test.begin(engine, Self.get)
            let seed = await test.accept()
            try await seed.answer(Self.slots((8191, 6379), (16383, 7001)), to: "CLUSTER SLOTS")
            try await seed.answer("-MOVED 12182 10.0.0.1:7001\r\n", to: "GET foo")
            let owner = await test.accept()
            #expect(owner.node == .tcp(host: "10.0.0.1", port: 7001))
            try await owner.answer("$1\r\n1\r\n", to: "GET foo")
            #expect(await reply.outcome() == .success(.bulk([0x31])))
            let next = test.begin(engine, Self.get)
            try await owner.answer("$1\r\n2\r\n", to: "GET foo")
            #expect(await next.outcome() == .success(.bulk([0x32])))
            #expect(test.dials.count == 2)
        }
    }

    @Test func `a slot on its way is asked for where it goes, for this once`() async throws {
        try await EngineFixture.run { test in
            let engine = test.engine { $0.isCluster = true }
            let reply = test.begin(engine, Self.get)
            let seed = await test.accept()
            try await seed.answer(Self.slots((16383, 6379)), to: "CLUSTER SLOTS")
            try await seed.answer("-ASK 12182 :7001\r\n")
            let target = await test.accept()
            #expect(target.node == .tcp(host: "10.0.0.1", port: 7001))
            try await target.answer("+OK\r\n", to: "ASKING")
            try await target.answer("$1\r\n1\r\n", to: "GET foo")
            #expect(await reply.outcome() == .success(.bulk([0x31])))
            let next = test.begin(engine, Self.get)
            try await seed.answer("$-1\r\n", to: "GET foo")
            #expect(await next.outcome() == .success(.null))
        }
    }

    @Test func `a node that nobody can follow is followed three times`() async throws {
        try await EngineFixture.run { test in
            let engine = test.engine { $0.isCluster = true }
            let reply = test.begin(engine, Self.get)
            let seed = await test.accept()
            try await seed.answer(Self.slots((16383, 6379)), to: "CLUSTER SLOTS")
            for _ in 0..<4 { try await seed.answer("-MOVED 12182 :6379\r\n", to: "GET foo") }
            let outcome = await reply.outcome()
            guard case .failure(.refused(let refusal)) = outcome, case .moved = refusal.kind else {
                Issue.record("\(outcome)")
                return
            }
        }
    }

    @Test func `one node does not send anybody elsewhere`() async throws {
        try await EngineFixture.run { test in
            let reply = test.begin(test.engine(), Self.get)
            try await test.accept().answer("-MOVED 12182 10.0.0.9:6379\r\n", to: "GET foo")
            #expect(await reply.outcome() == .failure(.refused(Refusal("MOVED 12182 10.0.0.9:6379"))))
            #expect(test.dials.count == 1)
        }
    }

    @Test func `when a node is left alone the others are asked who has its slots`() async throws {
        try await EngineFixture.run { test in
            let engine = test.engine { $0.isCluster = true }
            let first = test.begin(engine, Self.get)
            let seed = await test.accept()
            try await seed.answer(Self.slots((8191, 6379), (16383, 7001)), to: "CLUSTER SLOTS")
            try await seed.answer("-MOVED 12182 :7001\r\n")
            let owner = await test.accept()
            try await owner.answer("$-1\r\n")
            #expect(await first.outcome() == .success(.null))
            for _ in 0..<3 {
                let late = test.begin(engine, Self.get)
                await test.pass(.milliseconds(20))
                #expect(await late.outcome() == .failure(.timedOut))
            }
            let key = Array("foo".utf8)
            await test.pass(.milliseconds(1200))
            #expect(!engine.isUsable(for: key))
            // The first question was asked when the first command failed.
            var asked = try await seed.next()
            while asked == ["CLUSTER", "SLOTS"] {
                try await seed.send(Self.slots((16383, 6379)))
                await test.settle()
                if engine.isUsable(for: key) { break }
                asked = try await seed.next()
            }
            let next = test.begin(engine, Self.get)
            try await seed.answer("$1\r\n1\r\n", to: "GET foo")
            #expect(await next.outcome() == .success(.bulk([0x31])))
        }
    }

    @Test func `when a node is gone the others say who has its slots`() async throws {
        try await EngineFixture.run { test in
            let engine = test.engine { $0.isCluster = true }
            let first = test.begin(engine, Self.get)
            let seed = await test.accept()
            try await seed.answer(Self.slots((8191, 6379), (16383, 7001)), to: "CLUSTER SLOTS")
            try await seed.answer("-MOVED 12182 :7001\r\n")
            let owner = await test.accept()
            try await owner.answer("$-1\r\n")
            #expect(await first.outcome() == .success(.null))
            await test.pass(.seconds(2))
            owner.close()
            await test.settle()
            test.refusal = IOError(.refused, operation: "connect")
            let gone = await test.begin(engine, Self.get).outcome()
            #expect(gone != .success(.null))
            test.refusal = nil
            try await seed.answer(Self.slots((16383, 6379)), to: "CLUSTER SLOTS")
            await test.settle()
            let next = test.begin(engine, Self.get)
            try await seed.answer("$1\r\n1\r\n", to: "GET foo")
            #expect(await next.outcome() == .success(.bulk([0x31])))
        }
    }
}

@Suite("A reply that is awaited")
struct PendingReplyTests {
    @Test(arguments: [EngineOutcome.success(.null), .failure(.timedOut)])
    func `it comes once, and when it was taken it is known what it was`(_ outcome: EngineOutcome) async {
        let reply = PendingReply()
        #expect(!reply.isSettled && !reply.isAnswered)
        reply.settle(outcome)
        #expect(await reply.outcome() == outcome)
        #expect(reply.isSettled && reply.isAnswered == (outcome == .success(.null)))
        let isSettledAgain = reply.settle(.success(.null))
        #expect(!isSettledAgain)
    }
}
