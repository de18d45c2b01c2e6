// SPDX-License-Identifier: Apache-2.0

import Foundation
import LarderHTTP
import LarderIO
import LarderSettings
import LarderTesting
import Testing

@testable import LarderProxy

/// Commands whose requests are told apart, and whose https is opened for all hosts.
@Suite("Lanes", .timeLimit(.minutes(10)))
struct LaneScenarios {
    private static func run(_ body: (Scenario) async throws -> Void) async throws {
        try await InterceptionScenarios.run { settings, _ in
            settings.intercept.hosts = []
        } _: { scenario in
            try scenario.proxy.interception.makeAuthority(now: scenario.proxy.now)
            scenario.origin.answer(InterceptionScenarios.fresh)
            try await body(scenario)
        }
    }

    private static func open(
        _ scenario: Scenario, _ configure: (inout Lane.Options) -> Void = { _ in }
    ) -> Lane {
        var options = Lane.Options()
        configure(&options)
        return scenario.proxy.lanes.open(options, at: scenario.proxy.now)
    }

    private static func credentials(_ lane: Lane) -> String {
        "Proxy-Authorization: Basic " + Data("lane-\(lane.token):x".utf8).base64EncodedString()
    }

    @Test func `a lane opens hosts that are listed nowhere, for its clients alone`() async throws {
        try await Self.run { scenario in
            let lane = Self.open(scenario)
            let trust = try InterceptionScenarios.trust(scenario)
            for _ in 0..<2 {
                let client = try await scenario.tunnel(trusting: trust, Self.credentials(lane))
                #expect(try await InterceptionScenarios.get(client, scenario, "/a").text == "/a")
                await client.close()
            }
            #expect(scenario.origin.count(of: "/a") == 1)
            try await eventually("both are counted") { lane.counts.requests == 2 }
            #expect(lane.counts.hits == 1)
            #expect(lane.counts.missed == 1)
            #expect(lane.counts.saved == 2)
            // A client in no lane goes there unseen.
            await #expect(throws: IOError.self) { try await scenario.tunnel(trusting: trust) }
            #expect(lane.counts.requests == 2)
        }
    }

    @Test func `a lane that is over lets nothing through: it may have been one that asks nobody`() async throws {
        try await Self.run { scenario in
            let lane = Self.open(scenario) { $0.isOffline = true }
            let client = try await scenario.client()
            try await client.get(scenario.url("/a"), Self.credentials(lane))
            #expect(try await client.response().status == 504)
            #expect(scenario.proxy.lanes.close(lane.id) != nil)
            for request in [
                "GET \(scenario.url("/a"))", "PUT \(scenario.url("/a"))", "CONNECT \(scenario.origin.authority)",
            ] {
                let method = String(request.prefix { $0 != " " })
                let client = try await scenario.client()
                try await client.send(
                    "\(request) HTTP/1.1", "Host: a.test", "Content-Length: 0", Self.credentials(lane))
                let response = try await client.response(to: method)
                #expect(response.status == 407, "\(request)")
                #expect(response["proxy-authenticate"] != nil)
                #expect(response.text.contains("larder run"))
            }
            #expect(scenario.origin.wires.isEmpty)
        }
    }

    @Test func `a connection that was opened in a lane ends with it`() async throws {
        try await Self.run { scenario in
            let lane = Self.open(scenario)
            let trust = try InterceptionScenarios.trust(scenario)
            let client = try await scenario.tunnel(trusting: trust, Self.credentials(lane))
            #expect(try await InterceptionScenarios.get(client, scenario, "/a").status == 200)
            #expect(scenario.proxy.lanes.close(lane.id) != nil)
            #expect(try await InterceptionScenarios.get(client, scenario, "/b").status == 407)
            #expect(scenario.origin.count(of: "/b") == 0)
        }
    }

    @Test func `credentials that two programs could read as two users open no lane, and let nothing through`()
        async throws
    {
        try await Self.run { scenario in
            let lane = Self.open(scenario)
            let own = Self.credentials(lane)
            let other = "Proxy-Authorization: Basic " + Data("a:b".utf8).base64EncodedString()
            let spellings = [
                [own, other], [other, own], [own.replacing("=", with: "")], [own.replacing("Basic ", with: "Basic\t")],
                [own + ", " + other.dropFirst(21)], [own + "!"],
                [own.replacing("Basic ", with: "Basic " + String(repeating: "A", count: 2_000))],
            ]
            for lines in spellings where lines != [own] {
                let client = try await scenario.client()
                try await client.get(scenario.url("/a"), lines.joined(separator: "\r\n"))
                #expect(try await client.response().status == 407)
            }
            #expect(lane.counts.requests == 0 && scenario.origin.wires.isEmpty)
        }
    }

    @Test func `what is excepted stays unseen in every lane, and is counted there`() async throws {
        try await Self.run { scenario in
            try await scenario.reload { $0.intercept.except = [HostPattern(host: "127.0.0.1")] }
            let lane = Self.open(scenario)
            let trust = try InterceptionScenarios.trust(scenario)
            await #expect(throws: IOError.self) {
                try await scenario.tunnel(trusting: trust, Self.credentials(lane))
            }
            #expect(lane.counts.tunnels.lines.map(\.reason) == [.excluded])
            #expect(lane.counts.missed == 1)
        }
    }

    @Test func `a lane may open nothing`() async throws {
        try await Self.run { scenario in
            let lane = Self.open(scenario) { $0.opensAll = false }
            let trust = try InterceptionScenarios.trust(scenario)
            await #expect(throws: IOError.self) {
                try await scenario.tunnel(trusting: trust, Self.credentials(lane))
            }
            #expect(lane.counts.tunnels.lines.map(\.reason) == [.notListed])
        }
    }

    @Test func `a lane has a port for programs that cannot say whose they are, of one user alone`() async throws {
        try await Self.run { scenario in
            let lane = Self.open(scenario)
            let trust = try InterceptionScenarios.trust(scenario)
            let authority = scenario.origin.authority
            let door = try await scenario.proxy.openDoor(of: lane, for: geteuid())
            func come(to door: SocketAddress) async throws -> Wire {
                try await scenario.connect(to: door, "the client at the door") { stream in
                    let head = "CONNECT \(authority) HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
                    try await stream.write(Array(head.utf8))
                    let octet = UnsafeMutableRawBufferPointer.allocate(byteCount: 1, alignment: 1)
                    defer { octet.deallocate() }
                    var answer: [UInt8] = []
                    while !answer.suffix(4).elementsEqual("\r\n\r\n".utf8) {
                        guard try await stream.read(into: octet) == 1 else { throw ScenarioFailure("turned away") }
                        answer.append(octet[0])
                    }
                    try await stream.startTLS(client: trust, serverName: "127.0.0.1")
                }
            }
            let client = try await come(to: door)
            #expect(try await InterceptionScenarios.get(client, scenario, "/a").text == "/a")
            try await eventually("it is counted") { lane.counts.requests == 1 }
            let other = try await scenario.proxy.openDoor(of: lane, for: geteuid() + 1)
            await #expect(throws: (any Error).self) { try await come(to: other) }
            #expect(lane.counts.requests == 1)
            // It ends with the lane.
            _ = scenario.proxy.lanes.close(lane.id)
            await #expect(throws: (any Error).self) { try await come(to: door) }
        }
    }

    /// The kernel names user 0 for a socket that was closed. As root, the client would be the lane's user while it holds
    /// its socket: the next test has another user then.
    @Test(.enabled(if: geteuid() != 0))
    func `a client that sends and leaves at once is not in the lane of root`() async throws {
        try await Self.run { scenario in
            let lane = Self.open(scenario)
            let door = try await scenario.proxy.openDoor(of: lane, for: 0)
            let request = Array("GET http://\(scenario.origin.authority)/a HTTP/1.1\r\nHost: x\r\n\r\n".utf8)
            let before = scenario.count(.connectionsClosed)
            for _ in 0..<40 {
                let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
                try #require(door.connect(client) == 0)
                _ = send(client, request, request.count, Int32(MSG_NOSIGNAL))
                close(client)
            }
            try await eventually("all have ended") { scenario.count(.connectionsClosed) == before + 40 }
            #expect(lane.counts.requests == 0)
        }
    }

    @Test(.enabled(if: geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0))
    func `another user's requests never reach the lane of root`() async throws {
        try await Self.run { scenario in
            let lane = Self.open(scenario)
            let door = try await scenario.proxy.openDoor(of: lane, for: 0)
            let before = scenario.count(.connectionsClosed)
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
            process.arguments = [
                "--reuid=12345", "--regid=12345", "--clear-groups", "bash", "-c",
                """
                for i in {1..100}; do
                    exec 3<>/dev/tcp/127.0.0.1/\(door.port)
                    printf 'GET http://\(scenario.origin.authority)/a HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3
                    exec 3>&-
                done
                """,
            ]
            try await withCheckedThrowingContinuation { continuation in
                process.terminationHandler = { _ in continuation.resume() }
                do { try process.run() } catch { continuation.resume(throwing: error) }
            }
            #expect(process.terminationStatus == 0)
            try await eventually("all have ended") { scenario.count(.connectionsClosed) == before + 100 }
            #expect(lane.counts.requests == 0)
        }
    }

    @Test func `a client elsewhere that knows the name of a lane is not in it`() async throws {
        try await Self.run { scenario in
            try await scenario.reload { settings in
                settings.access.allow = [try! AddressRange.read("192.0.2.0/24").get()]  // A literal.
                settings.tunnels.ports = [PortRange("1-65535")!]
            }
            let lane = Self.open(scenario)
            let client = try await scenario.client(from: SocketAddress(host: "192.0.2.7", port: 4711)!)
            try await client.send(
                "CONNECT \(scenario.origin.authority) HTTP/1.1", "Host: \(scenario.origin.authority)",
                Self.credentials(lane))
            #expect(try await client.response(to: "CONNECT").status == 407)
            #expect(lane.counts.requests == 0)
            #expect(scenario.proxy.interception.tunnels.isEmpty)
        }
    }

    @Test func `an offline lane gets what is stored, whatever its age, and nothing else`() async throws {
        try await Self.run { scenario in
            let (online, offline) = (Self.open(scenario), Self.open(scenario) { $0.isOffline = true })
            let trust = try InterceptionScenarios.trust(scenario)
            let first = try await scenario.tunnel(trusting: trust, Self.credentials(online))
            _ = try await InterceptionScenarios.get(first, scenario, "/a")
            scenario.advance(.seconds(3_000))
            let second = try await scenario.tunnel(trusting: trust, Self.credentials(offline))
            let stale = try await InterceptionScenarios.get(second, scenario, "/a")
            #expect(stale.status == 200)
            #expect(stale.text == "/a")
            #expect(try await InterceptionScenarios.get(second, scenario, "/b").status == 504)
            #expect(scenario.origin.seen.count == 1)
            try await eventually("both are counted") { offline.counts.requests == 2 }
            #expect(offline.counts.hits == 1)
            #expect(offline.counts.missed == 1)
        }
    }

    @Test func `plain http is counted too, however often the same octets come`() async throws {
        try await Scenario.run { scenario in
            scenario.origin.answer(InterceptionScenarios.fresh)
            let lane = Self.open(scenario)
            let client = try await scenario.client()
            for _ in 0..<5 {
                try await client.get(scenario.url("/a"), Self.credentials(lane))
                #expect(try await client.response().text == "/a")
            }
            // The last is counted after its answer has gone out.
            try await eventually("all are counted") { lane.counts.requests == 5 }
            #expect(lane.counts.hits == 4)
            #expect(scenario.origin.seen.allSatisfy { $0["proxy-authorization"] == nil })
        }
    }

    @Test func `what was not kept is told with its reason`() async throws {
        try await Scenario.run { scenario in
            scenario.origin.answer { _ in "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 1\r\n\r\nx" }
            let lane = Self.open(scenario)
            let client = try await scenario.client()
            for _ in 0..<2 {
                try await client.get(scenario.url("/a"), Self.credentials(lane))
                _ = try await client.response()
            }
            try await eventually("both are counted") { lane.counts.requests == 2 }
            let line = try #require(lane.counts.uncacheable.first)
            #expect(line.value.requests == 2)
            #expect(line.value.example == scenario.origin.authority)
            #expect(lane.counts.stored == 0)
            #expect(lane.counts.missing.requests == 2)
            #expect(lane.counts.missing.first == ["GET \(scenario.url("/a"))"])
            #expect(lane.counts.otherHosts == ["127.0.0.1": 2])
        }
    }

    @Test func `there are not more lanes than may be`() {
        let table = LaneTable()
        let lanes = (0..<LaneTable.limit + 10).map { number in
            table.open(Lane.Options(), at: Timestamp(nanoseconds: Int64(number)))
        }
        #expect(table.all.count == LaneTable.limit)
        #expect(table.lane(lanes[0].id) == nil)
        #expect(table.lane(lanes.last!.id) === lanes.last)
    }

    @Test func `a user has only so many lanes with a listener`() {
        let table = LaneTable()
        func open(_ owner: UInt32, hasDoor: Bool) -> Lane {
            var options = Lane.Options()
            (options.owner, options.hasDoor) = (owner, hasDoor)
            return table.open(options, at: Timestamp(nanoseconds: 0))
        }
        for _ in 0..<LaneTable.doorLimit { _ = open(1, hasDoor: false) }
        let lanes = (0..<LaneTable.doorLimit).map { _ in
            #expect(!table.isFull(for: 1))
            return open(1, hasDoor: true)
        }
        #expect(table.isFull(for: 1) && !table.isFull(for: 2))
        _ = table.close(lanes[0].id)
        #expect(!table.isFull(for: 1))
    }

    @Test func `a lane that records stays when others are opened`() {
        let table = LaneTable()
        var options = Lane.Options()
        options.recordingUse = .record(Recording(name: "one"))
        let lane = table.open(options, at: Timestamp(nanoseconds: 0))
        for number in 1...LaneTable.limit + 10 {
            _ = table.open(Lane.Options(), at: Timestamp(nanoseconds: Int64(number)))
        }
        #expect(table.all.count == LaneTable.limit)
        #expect(table.lane(lane.id) === lane)
    }

    @Test func `a new lane is open, though all others record`() {
        let table = LaneTable()
        for number in 0..<LaneTable.limit {
            var options = Lane.Options()
            options.recordingUse = .record(Recording(name: "one"))
            _ = table.open(options, at: Timestamp(nanoseconds: Int64(number)))
        }
        let lane = table.open(Lane.Options(), at: Timestamp(nanoseconds: 1_000))
        #expect(table.all.count == LaneTable.limit)
        #expect(table.lane(lane.id) === lane && !lane.isOver)
    }

    @Test func `a new lane of a user who has as many as others replaces one of the same user's`() {
        let table = LaneTable()
        func open(_ owner: UInt32, _ number: Int) -> Lane {
            var options = Lane.Options()
            options.owner = owner
            return table.open(options, at: Timestamp(nanoseconds: Int64(number)))
        }
        let lanes = (0..<LaneTable.limit).map { open(UInt32($0 % 2), $0) }
        let lane = open(1, LaneTable.limit)
        #expect(table.lane(lane.id) === lane)
        #expect(lanes.filter { $0.isOver }.map(\.id) == [lanes[1].id])
    }

    @Test func `a user who opens many lanes closes none of another's`() {
        let table = LaneTable()
        func open(_ owner: UInt32, _ number: Int) -> Lane {
            var options = Lane.Options()
            options.owner = owner
            return table.open(options, at: Timestamp(nanoseconds: Int64(number)))
        }
        let lane = open(1_000, 0)
        for number in 1...LaneTable.limit + 10 { _ = open(1_001, number) }
        #expect(table.all.count == LaneTable.limit)
        #expect(table.lane(lane.id) === lane)
    }

    @Test(
        arguments: [
            ("", nil), ("QQ==", "A"), ("QUI=", "AB"), ("QUJD", "ABC"), ("QUJDRA==", "ABCD"), ("QQ=", nil),
            ("Q===", nil),
            ("Q=Q=", nil), ("QQ==QQ==", nil), ("Q Q=", nil), ("-_-_", nil),
        ] as [(String, String?)])
    func `credentials are read strictly`(text: String, expected: String?) {
        #expect(Base64Text.decoded(text).map { String(decoding: $0, as: UTF8.self) } == expected)
    }
}
