// SPDX-License-Identifier: Apache-2.0

import Glibc
import Larder
import LarderHTTP
import LarderProxy
import Testing

@testable import LarderAdmin

@Suite("Lanes for every user of this machine")
struct AdminLaneTests {
    /// A request over the socket for lanes.
    private static func ask(
        _ daemon: AdminFixture, _ method: LarderHTTP.Method, _ path: String, user: UInt32?,
        _ parameters: [(name: String, value: String)] = []
    ) async -> (status: Int, json: JSONValue?) {
        var request = OwnRequest(
            method: method, path: path, parameters: parameters, fields: ["Host": "localhost"], isLoopback: true)
        request.isForLanes = true
        request.user = user
        let answer = await AdminPages().answer(request, of: daemon.daemon.proxy)
        return (Int(answer.status.rawValue), try? JSONValue(parsing: answer.content))
    }

    @Test func `a lane is ended by the user who opened it, and by no other`() async throws {
        try await AdminFixture.run { daemon in
            let opened = await Self.ask(daemon, .post, "/-/lanes", user: 1_000, [("tunnel", "true")])
            #expect(opened.status == 200)
            let path = "/-/lanes/" + (try #require(opened.json?["id"]?.string))
            #expect(await Self.ask(daemon, .delete, path, user: 1_001).status == 404)
            #expect(await Self.ask(daemon, .delete, path, user: nil).status == 404)
            #expect(await Self.ask(daemon, .delete, path, user: 1_000).status == 200)
            #expect(daemon.daemon.proxy.lanes.all.isEmpty)
        }
    }

    @Test(arguments: [nil, 65_534] as [UInt32?])
    func `who cannot be told apart from others opens none`(user: UInt32?) async throws {
        try await AdminFixture.run { daemon in
            #expect(await Self.ask(daemon, .post, "/-/lanes", user: user, [("tunnel", "true")]).status == 403)
            #expect(daemon.daemon.proxy.lanes.all.isEmpty)
        }
    }

    @Test(arguments: ["record", "replay"])
    func `recordings are for those who may make changes`(use: String) async throws {
        try await AdminFixture.run { daemon in
            #expect(await Self.ask(daemon, .post, "/-/lanes", user: 1_000, [(use, "one")]).status == 403)
        }
    }

    @Test func `an empty recording replaces none that has requests, and a dropped one replaces nothing`() async throws {
        try await AdminFixture.run { daemon in
            let recordings = daemon.daemon.proxy.recordings
            func record(_ name: String, _ parameters: [(name: String, value: String)] = []) async throws -> JSONValue? {
                let pages = AdminPages()
                var request = OwnRequest(
                    method: .post, path: "/-/lanes", parameters: [("tunnel", "true"), ("record", name)],
                    fields: ["Host": "localhost"], isOverSocket: true)
                let opened = try JSONValue(
                    parsing: await pages.answer(request, of: daemon.daemon.proxy).content)
                request.method = .delete
                request.path = "/-/lanes/" + (try #require(opened["id"]?.string))
                request.parameters = parameters
                let answer = await pages.answer(request, of: daemon.daemon.proxy)
                #expect(answer.status == 200)
                return try JSONValue(parsing: answer.content)["recording"]?["keptRequests"]
            }
            try recordings.save(
                Recording(name: "full", [RecordedExchange(method: "GET", url: "http://a.test/", status: 200)]))
            #expect(try await record("full") == 1)
            #expect(try recordings.recording("full")?.count == 1)
            #expect(try await record("new", [("recording", "drop")]) == .null)
            #expect(try recordings.recording("new") == nil)
            #expect(try await record("new") == .null)
            #expect(try recordings.recording("new")?.count == 0)
        }
    }

    @Test func `nothing else is changed there, and reading is allowed`() async throws {
        try await AdminFixture.run { daemon in
            for path in ["/-/wipe", "/-/reload", "/-/resource/load", "/-/ca", "/-/lanesx"] {
                #expect(await Self.ask(daemon, .post, path, user: 1_000).status == 403, "\(path)")
            }
            #expect(await Self.ask(daemon, .get, "/-/recordings/one", user: 1_000).status == 403)
            #expect(await Self.ask(daemon, .get, "/-/status", user: 1_000).status == 200)
        }
    }

    @Test func `the socket for lanes lets its users do this alone`() async throws {
        try await AdminFixture.run { daemon in
            let path = daemon.directory + "/lanes.sock"
            try await daemon.daemon.proxy.listenForLanes(onSocketAt: path)
            var status = stat()
            #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o666)
            func answer(_ request: String) throws -> String {
                let head = "\(request) HTTP/1.1\r\nConnection: close\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
                return try AdminWire.unix(path, head)
            }
            #expect(try answer("POST /-/lanes?tunnel=true").hasPrefix("HTTP/1.1 200"))
            #expect(daemon.daemon.proxy.lanes.all.first?.options.owner == getuid())
            #expect(try answer("POST /-/wipe?match=**").hasPrefix("HTTP/1.1 403"))
            #expect(try answer("GET /-/status").hasPrefix("HTTP/1.1 200"))
        }
    }
}
